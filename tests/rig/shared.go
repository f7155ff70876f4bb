package rig

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
)

// shared is the server that the tests of one process share: making a database
// costs seconds.
var shared struct {
	once   sync.Once
	server *Server // nil: it did not start
	dir    string
}

// SharedServer is the one server of this test process, started with env for the
// first test that asks. Each test has its own users, apps and nodes on it. Main
// stops it.
func SharedServer(t testing.TB, env ...string) *Server {
	t.Helper()
	shared.once.Do(func() {
		shared.dir = makePublicDir(t)
		s := newServer(t, shared.dir, env)
		s.Launch(t)
		shared.server = s
		s.AwaitReady(t, startLimit)
		s.Claim(t)
	})
	if shared.server == nil || shared.server.Admin == nil {
		t.Fatal("the shared server did not start; the first test that asked for it says why")
	}
	return shared.server
}

// stopShared stops the shared server and gives 1 when it did not end well.
func stopShared() int {
	defer os.RemoveAll(shared.dir)
	s := shared.server
	if s == nil {
		return 0
	}
	s.Signal(syscall.SIGTERM)
	ended, race := s.endsWithin(stopLimit), s.races()
	if ended && s.ExitCode() == 0 && race == "" {
		return 0
	}
	fmt.Fprintf(os.Stderr, "the shared server did not end well (ended %v, data race: %q); it printed:\n%s\n", ended, race, tail(s.Output(), 200))
	return 1
}
