package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// bench is one run of it.
type bench struct {
	ctx   context.Context
	out   io.Writer
	bin   string
	quick bool
	write string
}

// line is one gate of a goal: what was measured, beside what, and whether it is met.
type line struct {
	goal, what   string
	ours, beside string
	ratio        float64
	gate         string // empty: nothing must be met
	met          bool
	cpu          float64 // microseconds an operation; 0: not told
}

func (l line) verdict() string {
	switch {
	case l.gate == "":
		return ""
	case l.met:
		return "met"
	}
	return "NOT MET"
}

func (l line) cells() []string {
	number := func(f float64, form string) string {
		if f == 0 {
			return ""
		}
		return fmt.Sprintf(form, f)
	}
	return []string{l.goal, l.what, l.ours, l.beside, number(l.ratio, "%.2f"), l.gate, number(l.cpu, "%.1f"), l.verdict()}
}

var (
	head   = []string{"GOAL", "WHAT", "ROCKPOOL", "BESIDE", "RATIO", "GATE", "CPU-µs/OP", ""}
	widths = []int{4, 54, 16, 48, 6, 10, 9, 7}
)

func (b *bench) print(lines []line) {
	for _, l := range lines {
		fmt.Fprintln(b.out, row(l.cells()))
	}
}

func row(cells []string) string {
	var s strings.Builder
	for i, cell := range cells {
		fmt.Fprintf(&s, "%-*s  ", widths[i], cell)
	}
	return strings.TrimRight(s.String(), " ")
}

// facts say on what this was measured.
func (b *bench) facts() []string {
	return []string{
		fmt.Sprintf("commit %s, %s, %s", commitName(), time.Now().UTC().Format("2006-01-02 15:04 MST"), runtime.Version()),
		fmt.Sprintf("%s, %d cores, %s, Linux %s, load before: %s", field("/proc/cpuinfo", "model name"), runtime.NumCPU(), memoryFact(), firstWord("/proc/sys/kernel/osrelease"), firstWord("/proc/loadavg")),
	}
}

func commitName() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// field is the value of the first "name : value" line of a file.
func field(path, name string) string {
	content, _ := os.ReadFile(path)
	for line := range strings.Lines(string(content)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func memoryFact() string {
	var kib int64
	if _, err := fmt.Sscanf(field("/proc/meminfo", "MemTotal"), "%d kB", &kib); err != nil {
		return "unknown memory"
	}
	return fmt.Sprintf("%.0f GiB", float64(kib)/(1<<20))
}

func firstWord(path string) string {
	content, err := os.ReadFile(path)
	if err != nil || len(content) == 0 {
		return "unknown"
	}
	return strings.Fields(string(content))[0]
}

// marks stand around a part of a document that the bench writes.
type marks struct{ begin, end string }

var (
	tableMarks  = marks{"<!-- table: written by scripts/bench --write -->", "<!-- end of the table -->"}
	growthMarks = marks{"<!-- growth: written by scripts/bench growth --write -->", "<!-- end of growth -->"}
)

// write replaces what stands between the marks of a document.
func (m marks) write(path, text string) error {
	before, after, err := m.around(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(before+m.begin+"\n\n"+strings.TrimSpace(text)+"\n\n"+m.end+after), 0o644)
}

// around is what stands before and behind the marks.
func (m marks) around(path string) (before, after string, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", "", fmt.Errorf("read the document: %w", err)
	}
	before, rest, begins := strings.Cut(string(content), m.begin)
	_, after, ends := strings.Cut(rest, m.end)
	if !begins || !ends {
		return "", "", fmt.Errorf("%s has no line %s with a line %s after it", path, m.begin, m.end)
	}
	return before, after, nil
}

// check refuses, before anything is measured, to write what must stay as it is: a
// document without the marks, and whatever is not the whole of it.
func (m marks) check(path string, quick bool, names []string) error {
	switch {
	case path == "":
		return nil
	case quick || len(names) > 0:
		return usageError{errors.New("--write keeps a full run: it goes with neither --quick nor names")}
	}
	_, _, err := m.around(path)
	if err == nil {
		var file *os.File
		if file, err = os.OpenFile(path, os.O_WRONLY, 0); err == nil {
			err = file.Close()
		}
	}
	if err != nil {
		return usageError{err}
	}
	return nil
}

// tableText is the table as it stands in a document.
func tableText(facts []string, table []line) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s.\n\n| %s |\n|%s\n", strings.Join(facts, "; "), strings.ToLower(strings.Join(head, " | ")), strings.Repeat("---|", len(head)))
	for _, l := range table {
		fmt.Fprintf(&s, "| %s |\n", strings.Join(l.cells(), " | "))
	}
	return s.String()
}
