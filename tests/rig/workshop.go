package rig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Workshop is where agents' runners leave traces that no program can deny: a line
// for each start. They run while the file hold is there.
type Workshop struct {
	t   testing.TB
	dir string
}

// NewWorkshop makes one that holds what runs in it.
func NewWorkshop(t testing.TB) *Workshop {
	t.Helper()
	w := &Workshop{t: t, dir: t.TempDir()}
	writeFile(t, w.Path("hold"), "")
	return w
}

// Path of a file in it.
func (w *Workshop) Path(name string) string { return filepath.Join(w.dir, name) }

// Release lets the runners end. Once is enough.
func (w *Workshop) Release() {
	w.t.Helper()
	if err := os.Remove(w.Path("hold")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
}

// Lines of a trace; one that nobody wrote has none.
func (w *Workshop) Lines(name string) []string {
	w.t.Helper()
	content, err := os.ReadFile(w.Path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
	return strings.Fields(string(content))
}

// Runners are the agent's runners: wait runs until it is released, brief ends at
// once.
func (w *Workshop) Runners() string {
	return fmt.Sprintf(`
[[runner]]
name = "wait"
argv = ["/bin/sh", "-c", "echo $ROCKPOOL_JOB/$ROCKPOOL_ATTEMPT >> %[1]s/starts; while [ -e %[1]s/hold ]; do sleep 0.05; done"]
[[runner]]
name = "brief"
argv = ["/bin/sh", "-c", "echo $ROCKPOOL_JOB/$ROCKPOOL_ATTEMPT >> %[1]s/starts"]
`, w.dir)
}

// Script puts a program of the test's own into it and gives its path.
func (w *Workshop) Script(name, content string) string {
	w.t.Helper()
	if err := os.WriteFile(w.Path(name), []byte(content), 0o700); err != nil {
		w.t.Fatal(err)
	}
	return w.Path(name)
}

// AwaitStart waits until the attempt's program runs.
func (w *Workshop) AwaitStart(job string, attempt int) {
	w.t.Helper()
	want := fmt.Sprintf("%s/%d", job, attempt)
	Await(w.t, patience, func() (bool, string) {
		starts := w.Lines("starts")
		return slices.Contains(starts, want), fmt.Sprintf("starts %v, want %s", starts, want)
	})
}
