package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"rockpool/backend/internal/access"
	"rockpool/backend/internal/artifact"
	"rockpool/backend/internal/limit"
	"rockpool/backend/internal/rest"
	"rockpool/backend/internal/view"
)

// Readiness says whether the server can do its work now: an error is why not.
// A *fleet.Error with code standby or unavailable keeps its code.
type Readiness interface {
	Ready(ctx context.Context) error
	// Database ends, with a *fleet.Error as its cause, once the database is known to
	// be away; when it is back another one counts.
	Database() context.Context
}

// Histories knows how pools were; of one that there is not it knows nothing.
type Histories interface {
	PoolHistory(ctx context.Context, pool string) []view.PoolPoint
}

// Config is what the API is wired with. Every field but Fleet and Log is required.
type Config struct {
	Store     Store
	Dispatch  Dispatcher
	Artifacts *artifact.Store
	Gate      *access.Gate
	Policy    *access.Policy
	Consoles  Consoles
	Histories Histories
	Logs      Logs
	Channel   http.Handler // GET /v1/channel; it tells credentials apart itself
	Ready     Readiness
	Version   rest.Version
	Fleet     string        // its name, for people; empty: it has none
	Heartbeat time.Duration // how often a node says that it lives
	Now       func() time.Time
	Log       *slog.Logger // nil: the default
}

// API serves REST. It is an http.Handler.
type API struct {
	store     Store
	dispatch  Dispatcher
	artifacts *artifact.Store
	gate      *access.Gate
	policy    *access.Policy
	hasher    *access.Hasher
	signIns   *access.SignIns
	consoles  Consoles
	histories Histories
	logs      Logs
	channel   http.Handler
	ready     Readiness
	version   rest.Version
	fleet     string
	heartbeat time.Duration
	now       clock
	log       *slog.Logger

	jobIDs *jobIDs
	// A retry that overtakes its first try waits for it instead of working beside
	// it; the database guards the same across processes.
	keys *keyLocks[idempotencyKey]
	// A pool's changes are told to the loop in the order in which they were stored:
	// one that is made anew begins with version 1 again.
	pools   *keyLocks[string]
	follows follows
	roles   knownRoles
	apps    knownApps
	setups  *limit.Limiter
	openAPI func() ([]byte, error) // made when it is first asked for
	echo    *echo.Echo
}

// Bounds of /v1/setup, per address prefix: each try is counted.
const (
	setupBurst    = 10
	setupRefill   = 6 * time.Second
	setupPrefixes = 1 << 14
)

// New makes the API and its router. An error names what is missing or wrong.
func New(cfg Config) (*API, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	a := &API{
		store: cfg.Store, dispatch: cfg.Dispatch, artifacts: cfg.Artifacts, gate: cfg.Gate, policy: cfg.Policy,
		consoles: cfg.Consoles, histories: cfg.Histories, logs: cfg.Logs, hasher: access.NewHasher(),
		channel: cfg.Channel, ready: cfg.Ready, version: cfg.Version, fleet: cfg.Fleet, heartbeat: cfg.Heartbeat, now: cfg.Now, log: cfg.Log,
		jobIDs: newJobIDs(cfg.Now), keys: newKeyLocks[idempotencyKey](), pools: newKeyLocks[string](),
		setups: limit.New(setupBurst, setupRefill, setupPrefixes, cfg.Now),
	}
	a.signIns = access.NewSignIns(cfg.Store, a.hasher, cfg.Now)
	a.openAPI = sync.OnceValues(func() ([]byte, error) {
		doc, err := OpenAPI(cfg.Version.Version)
		if err != nil {
			return nil, err
		}
		return doc.MarshalJSON()
	})
	a.echo = a.router()
	return a, nil
}

func (cfg *Config) check() error {
	for _, need := range []struct {
		missing bool
		name    string
	}{
		{cfg.Store == nil, "Store"}, {cfg.Dispatch == nil, "Dispatch"}, {cfg.Artifacts == nil, "Artifacts"},
		{cfg.Gate == nil, "Gate"}, {cfg.Policy == nil, "Policy"}, {cfg.Channel == nil, "Channel"},
		{cfg.Consoles == nil, "Consoles"}, {cfg.Histories == nil, "Histories"}, {cfg.Logs == nil, "Logs"},
		{cfg.Ready == nil, "Ready"}, {cfg.Heartbeat <= 0, "Heartbeat"}, {cfg.Now == nil, "Now"},
	} {
		if need.missing {
			return errors.New("api: Config." + need.name + " is missing")
		}
	}
	return nil
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.echo.ServeHTTP(w, r) }

func (a *API) router() *echo.Echo {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.IPExtractor = echo.ExtractIPDirect() // no header names the client
	e.HTTPErrorHandler = a.answerError
	e.Use(a.frame)
	for i := range table {
		e.Add(table[i].Method, table[i].Path, a.guard(&table[i]))
	}
	return e
}
