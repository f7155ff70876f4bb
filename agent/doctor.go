package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"rockpool/agent/internal/doctor"
)

// Finding is one line of what Doctor found.
type Finding = doctor.Finding

// Ill reports a finding with which the agent does not work.
func Ill(f Finding) bool { return f.Verdict == doctor.Fail }

// Doctor looks at the configuration, at the agent that runs, and at the way to the
// control plane. Idle is how long it leaves a connection silent; 0: it does not.
func Doctor(ctx context.Context, cfg Config, idle time.Duration) ([]Finding, error) {
	if cfg.Standalone() {
		return nil, fmt.Errorf("server_url: is missing: there is no control plane to look for")
	}
	if err := cfg.validateServer(); err != nil {
		return nil, err
	}
	server, err := url.Parse(cfg.ServerURL)
	if err != nil {
		return nil, fmt.Errorf("server_url: %w", err)
	}
	config, err := cfg.tls()
	if err != nil {
		return nil, err
	}
	running, finding := cfg.lookAtAgent(ctx)
	found := []Finding{cfg.lookAtSettings(ctx, running), finding}
	way := doctor.Way{Server: server, TLS: config, Proxy: http.ProxyFromEnvironment, Wait: time.Duration(cfg.RPCTimeout), Idle: idle, Now: time.Now}
	return append(found, way.Look(ctx)...), nil
}

// lookAtSettings does not touch the state of an agent that runs, maybe as another
// user: that one has been through it.
func (c Config) lookAtSettings(ctx context.Context, running bool) Finding {
	if c.refused != nil {
		return Finding{Check: "settings", Verdict: doctor.Fail, Text: c.refused.Error()}
	}
	check := New(c, slog.New(slog.DiscardHandler)).Check
	if running {
		check = c.selfTest
	}
	if err := check(ctx); err != nil {
		return Finding{Check: "settings", Verdict: doctor.Fail, Text: err.Error()}
	}
	return Finding{Check: "settings", Verdict: doctor.OK, Text: "configuration, state directory and runners are good"}
}

func (c Config) lookAtAgent(ctx context.Context) (running bool, f Finding) {
	status, err := AskStatus(ctx, c)
	switch {
	case errors.Is(err, ErrNotRunning):
		return false, Finding{Check: "agent", Verdict: doctor.Warn, Text: "none runs on " + c.StateDir + ": start it with rockpool-agent run, or as a service"}
	case err != nil:
		return false, Finding{Check: "agent", Verdict: doctor.Fail, Text: err.Error()}
	case status.Session != SessionOpen && status.Refusal != nil:
		return true, Finding{Check: "agent", Verdict: doctor.Warn, Text: "it runs and is refused: " + status.Refusal.Code + ": " + cmp.Or(status.Refusal.Advice, status.Refusal.Detail)}
	case status.Session != SessionOpen:
		return true, Finding{Check: "agent", Verdict: doctor.Warn, Text: "it runs and has no session: its log says why"}
	}
	return true, Finding{Check: "agent", Verdict: doctor.OK, Text: fmt.Sprintf("node %s has a session in pool %s", status.Node, status.Pool)}
}
