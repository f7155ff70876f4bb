package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// step is one row of a table of growth: a load of its own.
type step struct {
	table, name string
	args        []string
}

// growthSteps grow one thing each; everything else stays as it is by default.
var growthSteps = []step{
	{"agents", "1", []string{"batch", "--agents=1"}},
	{"agents", "10", []string{"batch", "--agents=10"}},
	{"agents", "100", []string{"batch", "--agents=100"}},
	{"agents", "1000", []string{"batch", "--agents=1000"}},
	{"agents", "10000", []string{"batch", "--agents=10000"}},
	{"pools", "1", []string{"batch", "--agents=100", "--pools=1"}},
	{"pools", "100", []string{"batch", "--agents=100", "--pools=100"}},
	{"queue", "0", []string{"batch", "--agents=10"}},
	{"queue", "10000", []string{"batch", "--agents=10", "--waiting=10000"}},
	{"queue", "1000000", []string{"batch", "--agents=10", "--waiting=1000000"}},
	{"database", "10000000", []string{"batch", "--agents=10", "--rounds=10", "--jobs=1000000", "--forget"}},
}

// grown is a step that was measured, as the file of results keeps it.
type grown struct {
	Commit, Table, Step string
	Report              loadReport
}

// loadReport is what `rockpool load batch` prints of itself.
type loadReport struct {
	JobsPerSecond   float64
	CPUMicrosPerJob struct{ Server, Postgres float64 }
	MemoryBytes     struct{ Server, Postgres, Database int64 }
	Rounds          []turn
	Books           struct{ Ended int64 }
	Forgotten       *struct {
		Seconds  float64
		Database int64
	}
}

// growth measures the steps of the tables that are named, all of them without a
// name, and prints the tables. What this commit's file of results has is not measured
// again: a run that was interrupted goes on where it was.
func (b *bench) growth(tables []string) error {
	for _, name := range tables {
		if !slices.ContainsFunc(growthSteps, func(s step) bool { return s.table == name }) {
			return usageError{fmt.Errorf("there is no table %q: agents, pools, queue, database", name)}
		}
	}
	if err := growthMarks.check(b.write, b.quick, tables); err != nil {
		return err
	}
	path := filepath.Join(b.bin, "growth.jsonl")
	known, err := readGrown(path)
	if err != nil {
		return err
	}
	commit := commitName()
	var text strings.Builder
	out := io.MultiWriter(b.out, &text)
	fmt.Fprintln(out, strings.Join(b.facts(), "\n"))
	var table string
	var failed []error
	for _, s := range growthSteps {
		if len(tables) > 0 && !slices.Contains(tables, s.table) || b.ctx.Err() != nil {
			continue
		}
		if s.table != table {
			table = s.table
			fmt.Fprintf(out, "\n%-10s %10s %14s %14s %12s %12s %12s  %s\n", strings.ToUpper(table), "JOBS/S", "SERVER µs/JOB", "POSTGR µs/JOB", "SERVER MiB", "POSTGR MiB", "ON DISK MiB", "JOBS/S OF ROUNDS")
		}
		at := slices.IndexFunc(known, func(g grown) bool { return g.Commit == commit && g.Table == s.table && g.Step == s.name })
		if at < 0 {
			g, err := b.grow(commit, s)
			if err == nil {
				at, known = len(known), append(known, g)
				err = b.keepGrown(path, known)
			}
			if err != nil {
				failed = append(failed, fmt.Errorf("%s %s: %w", s.table, s.name, err))
				continue
			}
		}
		fmt.Fprintln(out, known[at].row())
	}
	if b.ctx.Err() == nil && failed == nil && b.write != "" {
		return growthMarks.write(b.write, "```text\n"+text.String()+"```")
	}
	return errors.Join(append(failed, b.ctx.Err())...)
}

// grow measures a step.
func (b *bench) grow(commit string, s step) (grown, error) {
	args := append([]string{"load"}, s.args...)
	if b.quick {
		args = append(args, "--rounds=2", "--jobs=3000")
	}
	g := grown{Commit: commit, Table: s.table, Step: s.name}
	out, err := b.command(b.program("rockpool"), append(args, "--output=json")...).Output()
	if err != nil {
		return g, err
	}
	return g, json.Unmarshal(out, &g.Report)
}

// keepGrown keeps what was measured, unless that was quick: then it says too little.
func (b *bench) keepGrown(path string, known []grown) error {
	if b.quick {
		return nil
	}
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	for _, g := range known {
		if err := lines.Encode(g); err != nil {
			return err
		}
	}
	if err := os.WriteFile(path+".new", text.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// readGrown reads what was kept; of a last line that is not whole nothing is known.
func readGrown(path string) (list []grown, err error) {
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for lines := json.NewDecoder(bytes.NewReader(content)); ; {
		var g grown
		switch err := lines.Decode(&g); {
		case err == nil:
			list = append(list, g)
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return list, nil
		default:
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
}

func (g grown) row() string {
	const mib = 1 << 20
	r, rounds := g.Report, make([]string, len(g.Report.Rounds))
	for i, t := range g.Report.Rounds {
		rounds[i] = fmt.Sprintf("%.0f", t.rate())
	}
	if f := r.Forgotten; f != nil {
		rounds = append(rounds, fmt.Sprintf("; %d MiB once retention has dropped them, in %.1f s", f.Database/mib, f.Seconds))
	}
	return fmt.Sprintf("%-10s %10.0f %14.1f %14.1f %12d %12d %12d  %s", g.Step, r.JobsPerSecond, r.CPUMicrosPerJob.Server, r.CPUMicrosPerJob.Postgres,
		r.MemoryBytes.Server/mib, r.MemoryBytes.Postgres/mib, r.MemoryBytes.Database/mib, strings.Join(rounds, " "))
}
