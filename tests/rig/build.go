// Package rig runs the real programs as processes for tests: a server with its
// private PostgreSQL, agents, and a client that is superadmin. Processes can be
// killed at any moment and started again on the same data.
package rig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

var build struct {
	once sync.Once
	dir  string
	err  error
}

// binary is the path of a program of this tree, built once a test process and
// with the race detector when the tests have it.
func binary(t testing.TB, name string) string {
	t.Helper()
	build.once.Do(func() { build.dir, build.err = compile() })
	if build.err != nil {
		t.Fatalf("build the programs: %v", build.err)
	}
	return filepath.Join(build.dir, name)
}

func compile() (string, error) {
	dir, err := os.MkdirTemp("", "rockpool-rig-")
	if err != nil {
		return "", err
	}
	args := []string{"build", "-o", dir + "/"}
	if raceEnabled {
		args = append(args, "-race")
	}
	command := exec.Command("go", append(args, "./backend/cmd/rockpool", "./agent/cmd/rockpool-agent")...)
	command.Dir = Root()
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return dir, nil
}

// Root is the top of the tree.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// Main runs a package's tests and removes the programs that they built.
func Main(m *testing.M) int {
	defer func() {
		if build.dir != "" {
			os.RemoveAll(build.dir)
		}
	}()
	return m.Run()
}
