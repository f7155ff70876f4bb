// Package rig runs the real programs as processes for tests: a server with its
// private PostgreSQL, agents, and a client that is superadmin. Processes can be
// killed at any moment and started again on the same data.
package rig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	path, err := build(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// programsVariable names the folder of programs that are built already: by Prebuild,
// or for several packages by scripts/test.
const programsVariable = "ROCKPOOL_TEST_PROGRAMS"

// ownFolder begins the names of folders that a test process made.
const ownFolder = "rockpool-rig-"

// Prebuild builds programs for this process and for what it executes in its place:
// where that runs, nothing may be there to build from.
func Prebuild(names ...string) error {
	for _, name := range names {
		if _, err := build(name); err != nil {
			return err
		}
	}
	return os.Setenv(programsVariable, built.dir)
}

func build(name string) (path string, err error) {
	built.mu.Lock()
	defer built.mu.Unlock()
	if built.dir == "" {
		built.dir = os.Getenv(programsVariable)
	}
	if built.dir == "" {
		if built.dir, err = os.MkdirTemp("", ownFolder); err != nil {
			return "", err
		}
	}
	path = filepath.Join(built.dir, name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	args := []string{"build", "-o", path}
	if raceEnabled {
		args = append(args, "-race")
	}
	command := exec.Command("go", append(args, programs[name])...)
	command.Dir = Root()
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return path, nil
}

// Root is the top of the tree: the folder above a test's own that has go.mod.
func Root() string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			panic("tests of this tree run within it")
		}
		dir = filepath.Dir(dir)
	}
}

// Main runs a package's tests, stops what they shared, and removes the programs
// that they built.
func Main(m *testing.M) int {
	defer func() {
		for _, dir := range []string{built.dir, os.Getenv(programsVariable)} {
			if strings.HasPrefix(filepath.Base(dir), ownFolder) {
				os.RemoveAll(dir)
			}
		}
	}()
	return max(m.Run(), stopShared())
}
