package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun_GivesTheCommandAClusterAndReturnsItsCode(t *testing.T) {
	note := filepath.Join(t.TempDir(), "note")
	t.Setenv("NOTE", note)
	code, err := run([]string{"sh", "-c", `echo "$ROCKPOOL_TEST_DATABASE_ADMIN_URL" >"$NOTE"; exit 7`})
	if code != 7 || err != nil {
		t.Fatalf("code %d (%v), want 7", code, err)
	}
	text, err := os.ReadFile(note)
	if err != nil || !strings.Contains(string(text), "user=rockpool_admin dbname=rockpool") {
		t.Errorf("the command saw %q (%v)", text, err)
	}
	host, _, _ := strings.Cut(strings.TrimPrefix(string(text), "host="), " ")
	if _, err := os.Stat(host); !os.IsNotExist(err) {
		t.Errorf("%s is still there (%v)", host, err)
	}
}

func TestRunCommand_Codes(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 3": 3, "kill -9 $$": 137} {
		if code, err := runCommand(t.Context(), []string{"sh", "-c", script}, ""); code != want || err != nil {
			t.Errorf("%s: code %d (%v), want %d", script, code, err, want)
		}
	}
	if code, err := runCommand(t.Context(), []string{"/no/such/command"}, ""); code != 127 || err == nil {
		t.Errorf("missing command: code %d (%v), want 127", code, err)
	}
}
