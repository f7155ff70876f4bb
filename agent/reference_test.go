package agent

import (
	"flag"
	"os"
	"testing"

	"rockpool/shared/settings"
)

var update = flag.Bool("update", false, "write the reference of the settings anew")

// TestReferenceIsCurrent keeps docs/agent-settings.md as the struct has it.
func TestReferenceIsCurrent(t *testing.T) {
	all := Settings()
	for i := range all {
		switch all[i].Name { // differ by machine and user
		case "slots":
			all[i].Default = "the number of CPUs"
		case "state_dir":
			all[i].Default = "/var/lib/rockpool-agent, or the user's own state folder"
		}
	}
	page := settings.Markdown("Settings of the agent",
		"Defaults, then the file (`--config`), then the environment, then flags. Written from the configuration struct: `go test ./agent -run Reference -update`.", all)
	const path = "../docs/agent-settings.md"
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
