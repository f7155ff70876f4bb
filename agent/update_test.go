package agent

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The agent never replaces its own program: whoever can change what a server or a
// mirror hands out has changed no node. Nothing but runners starts a program, and
// neither command line nor settings have a word for updates.
func TestAttack_A84_TheAgentDoesNotUpdateItself(t *testing.T) {
	help, err := os.ReadFile("../docs/agent-cli.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"update", "upgrade"} {
		if strings.Contains(strings.ToLower(string(help)), word) {
			t.Errorf("the command line speaks of %q", word)
		}
	}
	for _, s := range Settings() {
		if strings.Contains(s.Name, "update") || strings.Contains(s.Name, "upgrade") {
			t.Errorf("the setting %s speaks of it", s.Name)
		}
	}
	starts := regexp.MustCompile(`exec\.Command|syscall\.Exec\(|StartProcess|[fF]orkExec`)
	err = filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if starts.Match(source) && filepath.Dir(path) != filepath.Join("internal", "runner") {
			t.Errorf("%s starts a program: runners alone do", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../docs/runners.md")
	if err != nil || !strings.Contains(string(doc), "does not update itself") {
		t.Errorf("docs/runners.md says nothing of it: %v", err)
	}
}
