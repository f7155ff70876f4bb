package agent

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rockpool/agent/internal/runner"
	"rockpool/shared/ids"
	"rockpool/shared/settings"
)

// node is the agent under test.
type node struct {
	*Agent
	t      *testing.T
	cancel context.CancelFunc
	ended  chan error
	log    *logBuffer
}

// logBuffer is what the agent has logged so far.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (n *node) snapshot() string {
	n.log.mu.Lock()
	defer n.log.mu.Unlock()
	return n.log.text.String()
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

const licenseCode = "RPL-AAAA-BBBB-CCCC-DDDD-EEEE-FFFF-GGGG-HHHH"

func testConfig(t *testing.T, server string) Config {
	t.Helper()
	cfg := DefaultConfig()
	cfg.ServerURL, cfg.license, cfg.environ = server, licenseCode, os.Environ()
	cfg.StateDir = filepath.Join(t.TempDir(), "state")
	cfg.Slots, cfg.Builtins, cfg.NodeID = 2, []string{"checksum"}, "edge-1"
	cfg.RPCTimeout, cfg.StopGrace = settings.Duration(10*time.Second), settings.Duration(200*time.Millisecond)
	cfg.Runners = []runner.Spec{{Name: "tool", Argv: []string{os.Args[0], "helper", "{{param.mode}}", "{{param.dir}}"}, Params: map[string]runner.Param{
		"mode": {Type: "enum", Values: []string{"stubborn", "until", "chatter"}}, "dir": {Type: "string", MaxLength: 1000},
	}}}
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// begin runs an agent; the test's end stops it.
func begin(t *testing.T, cfg Config) *node {
	t.Helper()
	log := &logBuffer{}
	n := &node{t: t, ended: make(chan error, 1), log: log}
	n.Agent = New(cfg, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	over := make(chan struct{})
	go func() {
		defer close(over)
		n.ended <- n.Run(ctx)
	}()
	t.Cleanup(func() {
		n.cancel()
		n.Hurry()
		<-over
		if t.Failed() {
			t.Logf("the agent's log:\n%s", n.snapshot())
		}
		if strings.Contains(n.snapshot(), licenseCode) {
			t.Error("the license code stands in the log")
		}
	})
	return n
}

// wait returns once the agent has ended.
func (n *node) wait() {
	n.t.Helper()
	select {
	case err := <-n.ended:
		if err != nil {
			n.t.Errorf("the agent ended with %v", err)
		}
	case <-time.After(patience):
		n.t.Fatal("the agent did not end")
	}
}

func (n *node) stop() {
	n.t.Helper()
	n.cancel()
	n.wait()
}

func jobID(n byte) string { return ids.JobID{15: n}.String() }
