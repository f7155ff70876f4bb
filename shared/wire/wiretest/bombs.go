// Package wiretest gives the tests of both sides of the channel the same recorded and
// hostile bytes: the golden frames, and the seeds of the pre-scan's fuzz target.
package wiretest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// leastBombs keeps a test from passing because the seeds were not found.
const leastBombs = 20

// Bombs are frames, by name, that must be refused before anything decodes them.
func Bombs(t testing.TB) map[string][]byte {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(root(t), "shared/wire/prescan/testdata/fuzz/FuzzScan/*"))
	if len(files) < leastBombs {
		t.Fatalf("only %d bombs found", len(files))
	}
	all := map[string][]byte{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = seed(t, file, string(content))
	}
	return all
}

// root is the module's folder, above the one in which a test runs.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	t.Fatal("no go.mod stands above the test's folder")
	return ""
}

// seed reads the one []byte of a file in Go's corpus format.
func seed(t testing.TB, name, content string) []byte {
	t.Helper()
	for line := range strings.Lines(content) {
		quoted, ok := strings.CutPrefix(strings.TrimSpace(line), "[]byte(")
		if !ok {
			continue
		}
		bomb, err := strconv.Unquote(strings.TrimSuffix(quoted, ")"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return []byte(bomb)
	}
	t.Fatalf("%s holds no bytes", name)
	return nil
}
