package sim_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"rockpool/backend/internal/sim"
)

var update = flag.Bool("update", false, "write the tables of docs/simulator.md anew")

const manual = "../../../docs/simulator.md"

// TestReference_IsCurrent: the manual's tables are what the program knows.
func TestReference_IsCurrent(t *testing.T) {
	content, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(content), "\n### Actions\n")
	if !found {
		t.Fatal("the manual has no section of actions")
	}
	var b strings.Builder
	b.WriteString(head + "\n### Actions\n\n")
	table(&b, "action", "what it does", sim.Actions())
	b.WriteString("\n### Counters\n\n`<x>` stands for a name of the scenario or a word of the fleet.\n\n")
	table(&b, "counter", "what it counts", sim.Counters())
	if *update {
		if err := os.WriteFile(manual, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if b.String() != string(content) {
		t.Error("docs/simulator.md is not current: go test ./backend/internal/sim -run Reference -update")
	}
}

func table(b *strings.Builder, name, what string, rows [][2]string) {
	b.WriteString("| " + name + " | " + what + " |\n|---|---|\n")
	for _, r := range rows {
		b.WriteString("| `" + r[0] + "` | " + r[1] + " |\n")
	}
}
