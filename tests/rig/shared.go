package rig

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// shared are the servers that the tests of one process share, by their settings:
// making a database costs seconds.
var shared struct {
	mu      sync.Mutex
	servers map[string]*sharedServer
}

type sharedServer struct {
	once   sync.Once
	server *Server // nil: it did not start
	dir    string
}

// SharedServer is this test process's server with these settings, started for the
// first test that asks. Each test has its own users, apps and nodes on it. Main
// stops it.
func SharedServer(t testing.TB, env ...string) *Server {
	t.Helper()
	at := sharedWith(strings.Join(env, "\n"))
	at.once.Do(func() {
		at.dir = makePublicDir(t)
		s := newServer(t, at.dir, env)
		s.Launch(t)
		at.server = s
		s.AwaitReady(t, startLimit)
		s.Claim(t)
	})
	if at.server == nil || at.server.Admin == nil {
		t.Fatal("the shared server did not start; the first test that asked for it says why")
	}
	return at.server
}

func sharedWith(settings string) *sharedServer {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.servers == nil {
		shared.servers = map[string]*sharedServer{}
	}
	at := shared.servers[settings]
	if at == nil {
		at = &sharedServer{}
		shared.servers[settings] = at
	}
	return at
}

// stopShared stops the shared servers and gives 1 when one did not end well.
func stopShared() (code int) {
	for _, at := range shared.servers {
		if at.server != nil && !at.server.endsWell() {
			code = 1
		}
		os.RemoveAll(at.dir)
	}
	return code
}

func (s *Server) endsWell() bool {
	s.Signal(syscall.SIGTERM)
	ended, race := s.endsWithin(stopLimit), s.races()
	if ended && s.ExitCode() == 0 && race == "" {
		return true
	}
	fmt.Fprintf(os.Stderr, "the shared server did not end well (ended %v, data race: %q); it printed:\n%s\n", ended, race, tail(s.Output(), 200))
	return false
}
