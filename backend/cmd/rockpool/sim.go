package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"rockpool/backend/internal/sim"
	"rockpool/backend/internal/sim/scenario"
	"rockpool/tests/scenarios"
)

type simCommand struct {
	Run  simRun  `cmd:"" help:"Play a scenario over a virtual fleet, and check what comes of it."`
	List simList `cmd:"" help:"List the scenarios that ship with this program."`
}

type simRun struct {
	Scenario string  `arg:"" help:"Name of a scenario (see: rockpool sim list), or a file that ends in .toml."`
	Seed     *uint64 `placeholder:"N" help:"Seed of all chance, instead of the scenario's."`
	Seeds    uint64  `default:"1" placeholder:"N" help:"Play so many seeds, one after the other, until one fails."`
	Report   string  `enum:"text,json" default:"text" placeholder:"text|json" help:"How to print what came of it."`
}

// simReport is a report with what it took here.
type simReport struct {
	*sim.Report
	Speed int64 `json:"speed"` // virtual time by real time
}

// Run plays the scenario. A rule or an expectation that does not hold ends it with
// the seed, the event and the shortest list of steps that was found to do.
func (c *simRun) Run(ctx context.Context, d *desk) error {
	sc, err := c.load()
	if err != nil {
		return usageError{err}
	}
	if c.Seeds < 1 {
		return usageError{errors.New("--seeds must be at least 1")}
	}
	first := sc.Seed
	if c.Seed != nil {
		first = *c.Seed
	}
	debug.SetGCPercent(400) // a run keeps little for long
	start, virtual := time.Now(), int64(0)
	var r simReport
	for seed := first; seed < first+c.Seeds && ctx.Err() == nil; seed++ {
		r.Report = sim.Run(sc, seed)
		virtual += r.Duration
		if !r.OK() {
			break
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.Speed = virtual / max(1, time.Since(start).Milliseconds())
	if err := c.print(d, r); err != nil {
		return err
	}
	if !r.OK() {
		return &outcome{exitError, fmt.Sprintf("scenario %s, seed %d: %s", sc.Name, r.Seed, r.Failure.Error())}
	}
	return nil
}

func (c *simRun) load() (*sim.Scenario, error) {
	if !strings.HasSuffix(c.Scenario, ".toml") {
		return scenario.Load(scenarios.FS, c.Scenario)
	}
	content, err := os.ReadFile(c.Scenario)
	if err != nil {
		return nil, fmt.Errorf("read the scenario: %w", err)
	}
	return scenario.Parse(scenarios.FS, strings.TrimSuffix(filepath.Base(c.Scenario), ".toml"), content)
}

func (c *simRun) print(d *desk, r simReport) error {
	if d.json || c.Report == "json" {
		return d.showJSON(r)
	}
	if err := r.Text(d.out); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	said := fmt.Sprintf("%d x real time", r.Speed)
	if c.Seeds > 1 {
		said += fmt.Sprintf(", up to seed %d", r.Seed)
	}
	return d.say(said)
}

type simList struct{}

// simItem is a scenario in the list.
type simItem struct {
	Name     string `json:"name"`
	Title    string `json:"title"`
	Seed     uint64 `json:"seed"`
	Duration string `json:"duration"`
}

// Run lists the scenarios; -o name prints their names alone.
func (c *simList) Run(d *desk) error {
	items, err := simItems(scenarios.FS)
	if err != nil {
		return err
	}
	if d.names {
		for _, i := range items {
			if err := d.say(i.Name); err != nil {
				return err
			}
		}
		return nil
	}
	g := columns("NAME", "SEED", "DURATION", "WHAT")
	for _, i := range items {
		g.row(i.Name, i.Seed, i.Duration, i.Title)
	}
	return d.show(items, g)
}

func simItems(files fs.FS) (items []simItem, err error) {
	names, err := scenario.Names(files)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		sc, err := scenario.Load(files, name)
		if err != nil {
			return nil, err
		}
		items = append(items, simItem{Name: name, Title: sc.Title, Seed: sc.Seed, Duration: sc.Duration.String()})
	}
	return items, nil
}
