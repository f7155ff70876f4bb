package rig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rockpool/backend/backendtest"
)

// Agent is a node's state and configuration, and its process while it runs.
type Agent struct {
	*Process
	Name   string
	Dir    string // state
	config string
	within []string
}

// AgentOptions of NewAgent.
type AgentOptions struct {
	Name    string
	License string
	Slots   int
	More    string   // TOML: further settings, then [[runner]] tables
	Within  []string // command that starts it somewhere else, in its own place; nil: here
}

// NewAgent starts an agent on fresh state and waits until its node is ready.
func NewAgent(t testing.TB, s *Server, o AgentOptions) *Agent {
	t.Helper()
	a := &Agent{Name: o.Name, Dir: filepath.Join(publicDir(t), "state"), within: o.Within}
	if err := os.Mkdir(a.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	license := filepath.Join(filepath.Dir(a.Dir), "license")
	a.config = filepath.Join(filepath.Dir(a.Dir), "agent.toml")
	writeFile(t, license, o.License)
	writeFile(t, a.config, fmt.Sprintf("server_url = %q\nallow_plain_http = true\nstate_dir = %q\nlicense_file = %q\nnode_id = %q\nslots = %d\n%s",
		s.URL, a.Dir, license, o.Name, o.Slots, o.More))
	a.Start(t)
	t.Cleanup(func() { a.finish(t) })
	a.AwaitLease(t, s, "ready")
	return a
}

func (a *Agent) finish(t testing.TB) {
	if a.running() {
		a.Kill(t)
	}
	if race := a.races(); race != "" {
		t.Errorf("agent %s has a data race:%s", a.Name, race)
	}
	if t.Failed() {
		t.Logf("agent %s printed:\n%s", a.Name, tail(a.Output(), 100))
	}
}

// copyState copies the state of an agent that lives: its socket is no state, and a
// file may be gone before it is read.
func copyState(from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(from, path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || relErr != nil:
			return errors.Join(err, relErr)
		case e.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		case !e.Type().IsRegular():
			return nil
		}
		content, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), content, 0o600)
	})
}

// Copy starts another agent on a copy of this one's state, once that has what its
// first welcome brought, and does not wait. It is the same node to the server, until
// that finds out. Its lease is ready a moment before it has stored its welcome, and who
// shows nothing in its hello can't be told apart.
func (a *Agent) Copy(t testing.TB) *Agent {
	t.Helper()
	Await(t, patience, func() (bool, string) {
		record, err := os.ReadFile(filepath.Join(a.Dir, "node.json"))
		return strings.Contains(string(record), `"chain":`), fmt.Sprintf("its record is %s, %v", record, err)
	})
	b := &Agent{Name: a.Name, Dir: filepath.Join(publicDir(t), "state"), within: a.within}
	if err := copyState(a.Dir, b.Dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(b.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(a.config)
	if err != nil {
		t.Fatal(err)
	}
	b.config = filepath.Join(filepath.Dir(b.Dir), "agent.toml")
	writeFile(t, b.config, strings.ReplaceAll(string(config), a.Dir, b.Dir))
	b.Start(t)
	t.Cleanup(func() { b.finish(t) })
	return b
}

// Start runs the program and does not wait.
func (a *Agent) Start(t testing.TB) {
	t.Helper()
	command := append(slices.Clone(a.within), Binary(t, "rockpool-agent"), "--config", a.config)
	a.Process = start(t, "rockpool-agent "+a.Name, command[0], command[1:], nil)
}

// Secret is the node's own, from its state.
func (a *Agent) Secret(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(a.Dir, "secret"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// AwaitLease waits until the server sees the node's lease so.
func (a *Agent) AwaitLease(t testing.TB, s *Server, lease string) backendtest.Node {
	t.Helper()
	var node backendtest.Node
	Await(t, 60*time.Second, func() (bool, string) {
		if !a.running() && lease == "ready" {
			t.Fatalf("agent %s ended; it printed:\n%s", a.Name, a.Output())
		}
		var err error
		if node, err = s.Admin.Node(context.Background(), a.Name); err != nil {
			return false, err.Error()
		}
		return node.Lease == lease, fmt.Sprintf("%+v", node)
	})
	return node
}

func writeFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
