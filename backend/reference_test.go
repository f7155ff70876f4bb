package backend

import (
	"flag"
	"os"
	"testing"

	"rockpool/shared/settings"
)

var update = flag.Bool("update", false, "write the reference of the settings anew")

// TestReferenceIsCurrent keeps docs/server-settings.md as the struct has it.
func TestReferenceIsCurrent(t *testing.T) {
	cfg := DefaultConfig()
	cfg.DataDir = "/var/lib/rockpool, or the user's own data folder"
	page := settings.Markdown("Settings of the server",
		"Defaults, then the file (`--config` or `ROCKPOOL_CONFIG`), then the environment, then flags. Written from the configuration struct: `go test ./backend -run Reference -update`.",
		settings.Reference(&cfg, EnvPrefix))
	const path = "../docs/server-settings.md"
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(path)
	if err != nil || string(kept) != page {
		t.Errorf("%s is not current (%v): run this test with -update", path, err)
	}
}
