package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rockpool/shared/wire"
)

func TestStatus_SaysWhatTheAgentDoes(t *testing.T) {
	c := newControl(t, nil)
	cfg := testConfig(t, c.server.URL)
	if _, err := AskStatus(t.Context(), cfg); !errors.Is(err, ErrNotRunning) {
		t.Errorf("without an agent: %v", err)
	}
	n := begin(t, cfg)
	s := c.welcome()
	info, err := os.Stat(filepath.Join(cfg.StateDir, "agent.sock"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the socket: %v, %v", info, err)
	}
	dir := t.TempDir()
	s.run(offerOf(1, "tool", toolPayload("until", dir)))
	var got Status
	await(t, "a status with the running job and an acknowledged heartbeat", func() bool {
		got, err = AskStatus(t.Context(), cfg)
		return err == nil && got.LastAck != nil && len(got.Running) == 1 && got.Running[0].Phase == "running"
	})
	if got.Session != SessionOpen || got.Node != "edge-1" || got.Pool != "pool-1" || got.Epoch != 1 || got.Slots != 2 || got.Used != 1 ||
		!got.Accepting || got.Server != cfg.ServerURL || got.Process != s.hello.BootID || got.Machine != s.hello.MachineID || got.Refusal != nil || got.Running[0].Job != jobID(1) || strings.Join(got.Runners, " ") != "checksum tool" {
		t.Errorf("status %+v", got)
	}
	release(t, dir)
	s.ackResult(expect[wire.Result](s), wire.VerdictStored)
	n.stop()
	if _, err := AskStatus(t.Context(), cfg); !errors.Is(err, ErrNotRunning) {
		t.Errorf("after its end: %v", err)
	}
}

func TestLeave_ByTheAgentThatRuns(t *testing.T) {
	c := newControl(t, nil)
	cfg := testConfig(t, c.server.URL)
	n := begin(t, cfg)
	s := c.welcome()
	s.run(offerOf(1, "tool", toolPayload("until", t.TempDir())))
	await(t, "the job's start", func() bool { return strings.Contains(n.snapshot(), "job started") })
	left := make(chan error, 1)
	go func() { left <- Leave(t.Context(), cfg, true) }()
	r := expect[wire.Result](s)
	if r.Status != wire.ResultFailed || r.Reason != causeShuttingDown {
		t.Errorf("result %+v", r)
	}
	s.ackResult(r, wire.VerdictStored)
	if g := expect[wire.Goodbye](s); g.Kind != wire.GoodbyeLeft {
		t.Errorf("goodbye %+v", g)
	}
	n.wait()
	if err := <-left; err != nil {
		t.Error(err)
	}
	if err := New(cfg, discard()).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "has left its fleet") {
		t.Errorf("the next start: %v", err)
	}
}

// Whatever else of the settings is refused, who asks the agent that runs gets an
// answer, and hears what is refused.
func TestLook_NoRefusedSettingKeepsFromTheAgentThatRuns(t *testing.T) {
	c := newControl(t, nil)
	cfg := testConfig(t, c.server.URL)
	n := begin(t, cfg)
	s := c.welcome()
	way := fmt.Sprintf("server_url = %q\nstate_dir = %q\n", cfg.ServerURL, cfg.StateDir)
	runner := "[[runner]]\nname = \"x\"\nargv = [\"%s\"]\n"
	var last Config
	for lines, want := range map[string]string{
		"builtins = [\"checksum\"]":          "",
		"":                                   "runner",
		"slots = 65":                         "slots",
		"slots = \"two\"":                    "slots",
		"slot = 2":                           "slot",
		"rpc_timeout = 5":                    "rpc_timeout",
		"license_file = \"/nowhere\"":        "license_file",
		fmt.Sprintf(runner, "/nowhere/tool"): "argv",
		fmt.Sprintf(runner, "{{param.x}}"):   "argv",
		fmt.Sprintf(runner, "/bin/true") + "timeout = \"0s\"": "timeout",
	} {
		path := filepath.Join(t.TempDir(), "agent.toml")
		put(t, path, way+lines)
		looked, err := LookConfig(path, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", lines, err)
			continue
		}
		if refused := looked.Refused(); (refused == nil) != (want == "") || refused != nil && !strings.Contains(refused.Error(), want) {
			t.Errorf("%s: refused for %v, want %q", lines, refused, want)
		}
		if got, err := AskStatus(t.Context(), looked); err != nil || got.Process != s.hello.BootID {
			t.Errorf("%s: %+v, %v", lines, got, err)
		}
		found, err := Doctor(t.Context(), looked, 0)
		if err != nil || Ill(found[0]) != (want != "") || !strings.Contains(found[0].Text, want) || Ill(found[1]) {
			t.Errorf("%s: the doctor found %+v, %v", lines, found, err)
		}
		if want != "" {
			last = looked
		}
	}
	if _, err := LookConfig("", []string{EnvPrefix + "_STATE_DIR=" + cfg.StateDir, EnvPrefix + "_SLOT=2"}, map[string]string{"slots": "two"}); err != nil {
		t.Errorf("from the environment and flags: %v", err)
	}
	left := make(chan error, 1)
	go func() { left <- Leave(t.Context(), last, true) }()
	n.wait()
	if err := <-left; err != nil {
		t.Error(err)
	}
	if err := Leave(t.Context(), last, true); err == nil || err.Error() != last.Refused().Error() {
		t.Errorf("without an agent: %v, want %v", err, last.Refused())
	}
}

func TestLeave_WithoutASessionStopsNothing(t *testing.T) {
	c := newControl(t, nil)
	c.refuse = 503
	cfg := testConfig(t, c.server.URL)
	n := begin(t, cfg)
	await(t, "a dial", func() bool { return len(c.dials()) > 0 })
	if err := Leave(t.Context(), cfg, false); err == nil || !strings.Contains(err.Error(), "no session") {
		t.Errorf("leave: %v", err)
	}
	if _, err := AskStatus(t.Context(), cfg); err != nil {
		t.Errorf("the agent went on as %v", err)
	}
	n.stop()
}

func TestLeave_WhereNoAgentRuns(t *testing.T) {
	c := newControl(t, nil)
	j := joining(t, c)
	c.joins(j)
	cfg, err := LoadConfig(j.File, j.Environ, nil)
	if err != nil {
		t.Fatal(err)
	}
	left := make(chan error, 1)
	go func() { left <- Leave(t.Context(), cfg, false) }()
	if g := expect[wire.Goodbye](c.welcome()); g.Kind != wire.GoodbyeLeft {
		t.Errorf("goodbye %+v", g)
	}
	if err := <-left; err != nil {
		t.Fatal(err)
	}
	c.joins(j) // back, by license
	if h := c.dials()[2]; h.Get("Authorization") != "License "+licenseCode || h.Get(wire.NodeSecretHeader) == "" {
		t.Errorf("came back with %q", h.Get("Authorization"))
	}
}
