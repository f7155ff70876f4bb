package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
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
			return fmt.Errorf("there is no table %q: agents, pools, queue, database", name)
		}
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
			g, err := b.grow(path, commit, s)
			if err != nil {
				failed = append(failed, fmt.Errorf("%s %s: %w", s.table, s.name, err))
				continue
			}
			at, known = len(known), append(known, g)
		}
		fmt.Fprintln(out, known[at].row())
	}
	if b.write != "" {
		failed = append(failed, growthMarks.write(b.write, "```text\n"+text.String()+"```"))
	}
	return errors.Join(append(failed, b.ctx.Err())...)
}

// grow measures a step and keeps it.
func (b *bench) grow(path, commit string, s step) (g grown, err error) {
	args := append([]string{"load"}, s.args...)
	if b.quick {
		args = append(args, "--rounds=2", "--jobs=3000")
	}
	command := exec.CommandContext(b.ctx, b.program("rockpool"), append(args, "--output=json")...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return g, err
	}
	g = grown{Commit: commit, Table: s.table, Step: s.name}
	if err := json.Unmarshal(out, &g.Report); err != nil {
		return g, err
	}
	if b.quick {
		return g, nil // it says too little to be kept
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return g, err
	}
	return g, errors.Join(json.NewEncoder(file).Encode(g), file.Close())
}

func readGrown(path string) (list []grown, err error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var g grown
		if err := json.Unmarshal(lines.Bytes(), &g); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		list = append(list, g)
	}
	return list, nil
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
