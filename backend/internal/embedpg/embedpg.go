// Package embedpg runs Rockpool's private PostgreSQL: a cluster of its own from
// binaries found on the machine, reachable through a unix socket in a 0700
// directory and nothing else, run by an unprivileged user when root starts it.
//
// A data folder looks like this; as root only cluster/ and run/ belong to the
// unprivileged user, so root never writes where that user could plant a link.
//
//	lock              held (flock) by the server that uses the folder
//	postgresql.conf   ours, rewritten at every start (ALTER SYSTEM still applies)
//	pg_hba.conf       ours: the socket only
//	postgres.log      PostgreSQL's own words, bounded; postgres.log.1 before it
//	run/              the socket, mode 0700
//	cluster/          PostgreSQL's data directory
package embedpg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

// The names every private cluster has from its first start on.
const (
	// AdminRole is the superuser: migrations, and the owner of every table.
	AdminRole = "rockpool_admin"
	// ServerRole is the role of the running server: LOGIN and nothing more.
	ServerRole = "rockpool_server"
	// Database is the database that Start leaves ready.
	Database = "rockpool"
)

const (
	defaultMaxConnections = 60
	// stopLimit bounds a clean stop whose context has no earlier deadline.
	stopLimit = 60 * time.Second
)

// Config says where a private cluster lives and how it is run.
type Config struct {
	// DataDir is the cluster's own folder; it is created when missing. As root
	// every parent must be traversable by the unprivileged user.
	DataDir string
	// BinDir is the folder with initdb and postgres; empty means: search.
	BinDir string
	// MaxConnections of PostgreSQL; 0 means 60.
	MaxConnections int
	// Logger receives what happens; nil means slog.Default().
	Logger *slog.Logger
	// UnsafeTestSpeed turns fsync off: a power cut then loses the cluster. Only
	// pgtest sets it.
	UnsafeTestSpeed bool
}

// Server is a running private PostgreSQL. It restarts PostgreSQL when that dies,
// until Close.
type Server struct {
	config   Config
	logger   *slog.Logger
	folder   folder
	identity identity
	binaries Binaries
	lock     *os.File
	log      *logFile

	mu         sync.Mutex
	postmaster *child // nil while PostgreSQL is down

	stopSupervising context.CancelFunc
	supervised      chan struct{} // closed when the supervisor has returned
	closeOnce       sync.Once
	closeErr        error
}

// Start brings up the cluster in config.DataDir, creating it at the first call,
// and returns when a real connection to the database answers. The context bounds
// the start only; the server then lives until Close.
//
// Errors: ErrInUse, ErrNoBinaries, ErrVersionMismatch, or PostgreSQL's own reason
// in one line.
func Start(ctx context.Context, config Config) (*Server, error) {
	s, err := prepare(config)
	if err != nil {
		return nil, err
	}
	pm, err := s.firstLaunch(ctx)
	if err != nil {
		s.release()
		return nil, err
	}
	s.setPostmaster(pm)
	supervision, cancel := context.WithCancel(context.Background())
	s.stopSupervising = cancel
	go s.supervise(supervision, pm)
	return s, nil
}

// prepare takes the folder's lock and finds user and binaries; it starts nothing.
func prepare(config Config) (*Server, error) {
	if config.DataDir == "" {
		return nil, errors.New("the private PostgreSQL needs a data folder")
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	if config.MaxConnections == 0 {
		config.MaxConnections = defaultMaxConnections
	}
	s := &Server{config: config, logger: config.Logger, supervised: make(chan struct{})}
	var err error
	if s.folder, err = openFolder(config.DataDir); err != nil {
		return nil, err
	}
	if s.lock, err = lockFolder(s.folder); err != nil {
		return nil, err
	}
	if err := s.equip(); err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

// equip finds what the start needs, under the folder's lock.
func (s *Server) equip() (err error) {
	if s.identity, err = chooseIdentity(s.folder.cluster); err != nil {
		return err
	}
	major, err := clusterMajor(s.folder.cluster)
	if err != nil {
		return err
	}
	if s.binaries, err = newSearch(s.config.BinDir, s.identity).find(major, s.folder.cluster); err != nil {
		return err
	}
	if err = s.identity.checkReach(s.binaries, s.folder.root); err != nil {
		return err
	}
	if s.folder.socket, err = makeSocketDir(s.folder.root, s.identity); err != nil {
		return err
	}
	s.log = newLogFile(s.folder.log)
	return nil
}

// firstLaunch creates the cluster if there is none and starts PostgreSQL on it.
func (s *Server) firstLaunch(ctx context.Context) (*child, error) {
	if err := s.ensureCluster(ctx); err != nil {
		return nil, err
	}
	return s.launch(ctx)
}

// AdminURL is the connection string of the superuser, as pgx and libpq read it.
func (s *Server) AdminURL() string { return s.URL(AdminRole) }

// URL is the connection string of a role to the cluster's database.
func (s *Server) URL(role string) string {
	return fmt.Sprintf("host=%s port=%s user=%s dbname=%s sslmode=disable",
		quoteValue(s.folder.socket), socketPort, quoteValue(role), Database)
}

// quoteValue quotes a value of a keyword/value connection string when needed.
func quoteValue(v string) string {
	if v != "" && !strings.ContainsAny(v, ` '\`) {
		return v
	}
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(v) + "'"
}

// PID is the process id of the running postmaster, 0 while PostgreSQL is down.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.postmaster == nil {
		return 0
	}
	return s.postmaster.pid
}

// Binaries says which PostgreSQL runs.
func (s *Server) Binaries() Binaries { return s.binaries }

func (s *Server) setPostmaster(pm *child) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.postmaster = pm
}

// Close stops PostgreSQL: a fast shutdown, and at the context's deadline (or after
// a minute) an immediate one, which the next start recovers from and which the
// error tells. Close is idempotent; every call returns the first one's result.
func (s *Server) Close(ctx context.Context) error {
	s.closeOnce.Do(func() { s.closeErr = s.shutDown(ctx) })
	return s.closeErr
}

func (s *Server) shutDown(ctx context.Context) error {
	s.stopSupervising()
	<-s.supervised
	defer s.release()
	s.mu.Lock()
	pm := s.postmaster
	s.postmaster = nil
	s.mu.Unlock()
	if pm == nil {
		return nil
	}
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	if err := pm.stop(ctx); err != nil {
		return fmt.Errorf("stop postgres: %w", err)
	}
	s.logger.Info("postgres stopped", keyPID, pm.pid, keyTook, time.Since(begin))
	return nil
}

// release gives back what a server holds besides its process.
func (s *Server) release() {
	removeSocketDir(s.folder)
	s.lock.Close() // closing ends the flock
}
