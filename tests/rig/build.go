// Package rig runs the real programs as processes for tests: a server with its
// private PostgreSQL, agents, and a client that is superadmin. Processes can be
// killed at any moment and started again on the same data.
package rig

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// programs are the binaries of this tree by name.
var programs = map[string]string{
	"rockpool":       "./backend/cmd/rockpool",
	"rockpool-agent": "./agent/cmd/rockpool-agent",
	"testcluster":    "./backend/internal/embedpg/cmd/testcluster",
}

var built struct {
	mu  sync.Mutex
	dir string // empty: nothing is built yet
}

// Binary is the path of a program of this tree, built once a test process and
// with the race detector when the tests have it.
func Binary(t testing.TB, name string) string {
	t.Helper()
	built.mu.Lock()
	defer built.mu.Unlock()
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "rockpool-rig-")
		if err != nil {
			t.Fatal(err)
		}
		built.dir = dir
	}
	path := filepath.Join(built.dir, name)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	args := []string{"build", "-o", path}
	if raceEnabled {
		args = append(args, "-race")
	}
	command := exec.Command("go", append(args, programs[name])...)
	command.Dir = Root()
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return path
}

// Root is the top of the tree.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// Main runs a package's tests, stops what they shared, and removes the programs
// that they built.
func Main(m *testing.M) int {
	defer func() {
		if built.dir != "" {
			os.RemoveAll(built.dir)
		}
	}()
	return max(m.Run(), stopShared())
}
