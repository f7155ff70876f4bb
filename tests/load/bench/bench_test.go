package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMetrics_AreReadByNameAndUnit(t *testing.T) {
	got := metricsOf([]byte("goos: linux\nBenchmarkDecide/nodes=10000-2 \t 100 \t 81.5 ns/op \t 0 allocs/op \t 190.0 x-scan\nPASS\n"))
	m := got["BenchmarkDecide/nodes=10000"]
	if len(got) != 1 || m["ns/op"] != 81.5 || m["x-scan"] != 190 || m["allocs/op"] != 0 {
		t.Errorf("read %v", got)
	}
}

func TestRatio_IsTheMedianOfTheRounds(t *testing.T) {
	ours := []turn{{Jobs: 10, Seconds: 1}, {Jobs: 10, Seconds: 10}, {Jobs: 10, Seconds: 1}}
	theirs := []turn{{Jobs: 10, Seconds: 2}, {Jobs: 10, Seconds: 30}, {Jobs: 10, Seconds: 1}} // the second round was a slow one
	if got := ratio(ours, theirs); got != 2 {
		t.Errorf("ratio %v, want 2", got)
	}
}

func TestChoose_KnowsEachGoalAndNoOther(t *testing.T) {
	for _, name := range goalNames() {
		if got, err := choose([]string{name}); err != nil || len(got) != 1 || got[0].name != name {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := choose([]string{"V1", "V11"}); err == nil {
		t.Error("V11 is no goal of the bench")
	}
}

// The table of docs/SPEED.md can be written, and what stands around it stays.
func TestWriteTable_ReplacesWhatStandsBetweenTheMarks(t *testing.T) {
	document, err := os.ReadFile("../../../docs/SPEED.md")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "SPEED.md")
	if err := os.WriteFile(path, document, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"the old table", "the new table"} {
		if err := writeTable(path, []string{"facts"}, []line{{goal: "V1", what: what, ours: "1/s", gate: "≥ 2 ×", ratio: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(written)
	if strings.Contains(text, "the old table") || !strings.Contains(text, "| V1 | the new table | 1/s |  | 1.00 | ≥ 2 × |  | NOT MET |") {
		t.Errorf("wrote %s", text)
	}
	before, _, _ := strings.Cut(string(document), tableBegins)
	if !strings.HasPrefix(text, before) {
		t.Error("what stands before the table has changed")
	}
}
