// Package wiretest gives the tests of both sides of the channel the same hostile
// bytes: the seeds of the pre-scan's fuzz target.
package wiretest

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// leastBombs keeps a test from passing because the seeds were not found.
const leastBombs = 20

// Bombs are frames, by name, that must be refused before anything decodes them.
func Bombs(t testing.TB) map[string][]byte {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(here), "../prescan/testdata/fuzz/FuzzScan/*"))
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
