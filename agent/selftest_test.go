package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rockpool/agent/internal/runner"
	"rockpool/shared/wire"
)

// tried offers a job that can't be started, and waits until the node has told so.
func (s *session) tried(n byte) {
	s.t.Helper()
	s.run(offerOf(n, "gone", wire.Payload{}))
	r := expect[wire.Result](s)
	if r.Status != wire.ResultFailed || r.Reason != "start_failed" || !strings.Contains(r.Detail, "no such file") {
		s.t.Errorf("result %+v", r)
	}
	s.ackResult(r, wire.VerdictStored)
}

func TestSelfHold_ThreeFailedStartsHoldTheNodeUntilASelfTestPasses(t *testing.T) {
	c := newControl(t, nil)
	cfg := testConfig(t, c.server.URL)
	program := filepath.Join(t.TempDir(), "program")
	put(t, program, "#!/bin/sh\n")
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	cfg.Runners = append(cfg.Runners, runner.Spec{Name: "gone", Argv: []string{program}})
	cfg.selfTestWait = 50 * time.Millisecond
	begin(t, cfg)
	s := c.welcome()
	away := program + ".away"
	if err := os.Rename(program, away); err != nil {
		t.Fatal(err)
	}
	s.tried(1)
	s.tried(2)
	s.beat("two failures", func(b wire.Heartbeat) bool { return b.Accepting && b.Spooled == 0 && len(b.Running) == 0 })
	s.tried(3)
	s.beat("the self-hold with its reason", func(b wire.Heartbeat) bool {
		return !b.Accepting && strings.HasPrefix(b.Reason, "starts_failing: ") && strings.Contains(b.Reason, program)
	})
	s.send(offerOf(4, "checksum", wire.Payload{}))
	if d := expect[wire.Decline](s); d.Reason != "starts_failing" {
		t.Errorf("declined %+v", d)
	}
	if status, err := AskStatus(t.Context(), cfg); err != nil || status.Accepting || !strings.Contains(status.Reason, program) {
		t.Errorf("status %+v, %v", status, err)
	}
	if err := os.Rename(away, program); err != nil {
		t.Fatal(err)
	}
	s.beat("the end of the self-hold", func(b wire.Heartbeat) bool { return b.Accepting })
	s.run(offerOf(5, "gone", wire.Payload{}))
	r := expect[wire.Result](s)
	if r.Status != wire.ResultSucceeded {
		t.Errorf("result %+v", r)
	}
	s.ackResult(r, wire.VerdictStored)
}
