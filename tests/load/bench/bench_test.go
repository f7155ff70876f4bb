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
	if got := ratio(ours, theirs, turn.rate); got != 2 {
		t.Errorf("ratio %v, want 2", got)
	}
}

func TestChoose_KnowsEachGoalAndNoOther(t *testing.T) {
	if got, err := choose([]string{"V7", "V7"}); err != nil || len(got) != 1 {
		t.Errorf("V7 named twice: %v, %v", got, err)
	}
	for _, name := range goalNames() {
		if got, err := choose([]string{name}); err != nil || len(got) != 1 || got[0].name != name {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := choose([]string{"V1", "V11"}); err == nil {
		t.Error("V11 is no goal of the bench")
	}
}

// Both parts of docs/SPEED.md can be written, and what stands around them stays.
func TestMarks_ReplaceWhatStandsBetweenThem(t *testing.T) {
	document, err := os.ReadFile("../../../docs/SPEED.md")
	if err != nil {
		t.Fatal(err)
	}
	table := func(what string) string {
		return tableText([]string{"facts"}, []line{{goal: "V1", what: what, ours: "1/s", gate: "≥ 2 ×", ratio: 1}})
	}
	for _, m := range []marks{tableMarks, growthMarks} {
		path := filepath.Join(t.TempDir(), "SPEED.md")
		if err := os.WriteFile(path, document, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, what := range []string{"the old table", "the new table"} {
			if err := m.write(path, table(what)); err != nil {
				t.Fatal(err)
			}
		}
		written, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, _ := strings.Cut(string(document), m.begin)
		_, after, _ := strings.Cut(rest, m.end)
		if want := before + m.begin + "\n\n" + table("the new table") + "\n" + m.end + after; string(written) != want {
			t.Errorf("%s: wrote %s", m.begin, written)
		}
	}
	if err := (marks{"no such", "marks"}).write(filepath.Join(t.TempDir(), "none"), ""); err == nil {
		t.Error("a document that is not there was written")
	}
}

func TestTable_HasARowForEachLine(t *testing.T) {
	text := tableText([]string{"facts"}, []line{{goal: "V1", what: "jobs", ours: "1/s", gate: "≥ 2 ×", ratio: 1}})
	if !strings.HasPrefix(text, "facts.\n") || !strings.Contains(text, "| V1 | jobs | 1/s |  | 1.00 | ≥ 2 × |  | NOT MET |") {
		t.Errorf("wrote %s", text)
	}
}

func TestGrown_ALastLineThatIsNotWholeIsMeasuredAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "growth.jsonl")
	whole := grown{Commit: "c", Table: "agents", Step: "1"}
	b := &bench{}
	if err := b.keepGrown(path, []grown{whole, whole}); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut, want := range map[int]int{0: 2, 1: 2, 2: 1, 40: 1, len(content)/2 + 1: 1, len(content): 0} {
		if err := os.WriteFile(path, content[:len(content)-cut], 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := readGrown(path)
		if err != nil || len(list) != want {
			t.Errorf("without the last %d bytes: read %v, %v", cut, list, err)
		}
	}
	if err := os.WriteFile(path, append([]byte("no line\n"), content...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readGrown(path); err == nil {
		t.Error("a file of something else was read")
	}
}
