package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"time"

	"rockpool/agent/internal/identity"
	"rockpool/agent/internal/local"
	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

// Joining is what a join goes by. Flags are settings by name that shall stand in
// the file.
type Joining struct {
	ServerURL string
	File      string // of settings; empty: the default
	Environ   []string
	Flags     map[string]string
	// Credential gives a license code, or the secret of a node that an operator has
	// made. It is asked for only when the node needs one.
	Credential func() (string, error)
	Warn       func(string)
}

// Joined is what came of it.
type Joined struct {
	NodeID, Pool string
	File         string   // where the settings stand now
	Builtins     []string // enabled because no runner was
}

// WriteError says that the node is registered and its settings could not be written.
type WriteError struct {
	File, StateDir string
	Lines          []string // what should stand in the file
	Err            error
}

func (e *WriteError) Error() string {
	text := fmt.Sprintf("the node is registered and its secret lies in %s, but %s can't be written (%v): put there", e.StateDir, e.File, e.Err)
	for _, line := range e.Lines {
		text += " " + line + ";"
	}
	return text + " then start the agent"
}

func (e *WriteError) Unwrap() error { return e.Err }

// nodeSecretShape is that of the secret of a node that an operator has made.
var nodeSecretShape = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// Join registers this machine's node and writes its settings. The node's secret is
// on the disk before the control plane hears of it, so that a join which is
// interrupted at any point goes on as the same node when it is done again.
func Join(ctx context.Context, j Joining) (Joined, error) {
	j.Flags["server_url"] = j.ServerURL
	cfg, joined, err := j.config()
	if err != nil {
		return Joined{}, err
	}
	for _, w := range cfg.warnings() {
		j.Warn(w)
	}
	welcome, err := j.register(ctx, cfg)
	if err != nil {
		return Joined{}, err
	}
	joined.NodeID, joined.Pool = welcome.NodeID, welcome.Pool
	if err := writeSettings(joined.File, j.Flags); err != nil {
		return joined, &WriteError{File: joined.File, StateDir: cfg.StateDir, Lines: settingLines(j.Flags), Err: err}
	}
	return joined, nil
}

// config is what the agent would start with after the join. Where no runner is
// declared yet, checksum is enabled, which reads and harms nothing.
func (j *Joining) config() (Config, Joined, error) {
	file := findConfig(j.File, j.Environ)
	joined := Joined{File: file}
	if file == "" {
		joined.File = ownConfigFile()
	} else if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		file = "" // the join makes it
	}
	cfg, err := readConfig(file, j.Environ, j.Flags)
	if err != nil {
		return Config{}, Joined{}, SettingError{err}
	}
	if cfg.LicenseFile == "" {
		cfg.license = "" // it is the credential of this join
	}
	if len(cfg.Runners)+len(cfg.Builtins) == 0 {
		cfg.Builtins, joined.Builtins = []string{"checksum"}, []string{"checksum"}
		j.Flags["builtins"] = "checksum"
	}
	if err := cfg.Validate(); err != nil {
		return Config{}, Joined{}, SettingError{err}
	}
	return cfg, joined, nil
}

// register opens the node's first session, or its next one.
func (j *Joining) register(ctx context.Context, cfg Config) (wire.Welcome, error) {
	id, err := cfg.openState()
	if errors.Is(err, identity.ErrInUse) {
		return wire.Welcome{}, fmt.Errorf("an agent runs on %s already: stop it first", cfg.StateDir)
	}
	if err != nil {
		return wire.Welcome{}, err
	}
	a := New(cfg, slog.New(slog.DiscardHandler))
	welcome, err := j.registerAs(ctx, a, id)
	return welcome, errors.Join(err, id.Close())
}

func (j *Joining) registerAs(ctx context.Context, a *Agent, id *identity.Identity) (wire.Welcome, error) {
	book, err := a.cfg.book()
	if err != nil {
		return wire.Welcome{}, err
	}
	if !id.Record().Registered() {
		if err := j.takeCredential(a, id); err != nil {
			return wire.Welcome{}, err
		}
	}
	if err := book.SelfTest(ctx); err != nil {
		return wire.Welcome{}, err
	}
	for {
		welcome, err := a.visit(ctx, id, book, a.credential(id), wire.GoodbyeStop)
		if err == nil || !passing(err) {
			return welcome, j.explained(err, id)
		}
		j.Warn("no connection yet, it is tried again: " + err.Error())
		select {
		case <-time.After(joinRetry):
		case <-ctx.Done():
			return welcome, j.explained(err, id)
		}
	}
}

// joinRetry is the wait before a join dials again.
const joinRetry = 2 * time.Second

// takeCredential asks for what lets this node in.
func (j *Joining) takeCredential(a *Agent, id *identity.Identity) error {
	if code, err := a.cfg.licenseCode(); err != nil || code != "" {
		return err
	}
	credential, err := j.Credential()
	switch {
	case err != nil:
		return err
	case licenseShape.MatchString(credential):
		a.cfg.license = credential
		return nil
	case nodeSecretShape.MatchString(credential):
		return id.Adopt(credential)
	}
	return SettingError{errors.New("the credential is neither a license code (RPL-XXXX-… with eight groups) nor a node's secret")}
}

// passing reports what another try may change: the way, or a control plane that is
// busy. What is wrong on this machine stays wrong.
func passing(err error) bool {
	var refusal *wsconn.Refusal
	if errors.As(err, &refusal) {
		return refusal.Status == http.StatusTooManyRequests || refusal.Status >= 500
	}
	return errors.As(err, new(wayError))
}

// explained says what of the command line is at fault, where the control plane, or
// who else answers there, does not take it.
func (j *Joining) explained(err error, id *identity.Identity) error {
	var refusal *wsconn.Refusal
	switch {
	case !errors.As(err, &refusal) || passing(err):
		return err
	case refusal.Status == http.StatusUnauthorized && id.Record().Registered() && id.Record().NodeID == "":
		return fmt.Errorf("the node's secret is not taken: %w; it lies in %s: to join with another credential set state_dir to another directory, or remove it", err, id.Dir())
	case refusal.Status == http.StatusUnauthorized && id.Record().Registered():
		return fmt.Errorf("%w; %s is of node %q: to register a new node set state_dir to another directory, or remove it", err, id.Dir(), id.Record().NodeID)
	case refusal.Status == http.StatusUnauthorized || refusal.Status == http.StatusForbidden:
		return fmt.Errorf("the license code is not taken: %w", err)
	}
	return fmt.Errorf("no control plane takes nodes at %s, whose address is mostly one without a path: %w", j.ServerURL, err)
}

// Leave takes this machine's node out of its fleet: the agent that runs does it,
// and where none runs a short session. Now: running jobs are ended first.
func Leave(ctx context.Context, cfg Config, now bool) error {
	err := local.AskLeave(ctx, cfg.StateDir, now)
	if !errors.Is(err, ErrNotRunning) {
		return err
	}
	if cfg.refused != nil { // without an agent that runs it takes the whole
		return cfg.refused
	}
	id, err := cfg.openState()
	if err != nil {
		return err
	}
	return errors.Join(New(cfg, slog.New(slog.DiscardHandler)).leaveAs(ctx, id), id.Close())
}

func (a *Agent) leaveAs(ctx context.Context, id *identity.Identity) error {
	if !id.Record().Registered() {
		return fmt.Errorf("%s holds no registered node: there is nothing to leave", id.Dir())
	}
	book, err := a.cfg.book()
	if err != nil {
		return err
	}
	if _, err := a.visit(ctx, id, book, a.credential(id), wire.GoodbyeLeft); err != nil {
		return err
	}
	return id.Leave()
}
