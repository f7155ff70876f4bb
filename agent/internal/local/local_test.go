package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestListen_RefusesAPathThatNoSocketCanHave(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep", 25))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(dir, nil); err == nil || !strings.Contains(err.Error(), "state_dir") {
		t.Errorf("error %v", err)
	}
}

func TestListen_TakesThePlaceOfASocketThatWasLeft(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(socket(dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Listen(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}
