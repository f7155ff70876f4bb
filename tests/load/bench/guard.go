package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"rockpool/tests/load"
)

// guarded is the file of what a job's CPU time was to the probe's when it was last
// recorded.
const guarded = "tests/load/bench/recorded.json"

// slack is how much worse it may be: it differs by a tenth from run to run.
const slack = 1.5

// Work of the guard: short, for it runs with every change.
const (
	guardRounds = 5
	guardJobs   = 4_000
)

// record is what the file says.
type record struct {
	Commit string  `json:"commit"`
	Ratio  float64 `json:"cpuRatioToProbe"` // CPU time of a job to that of one insert and one update
	Micros float64 `json:"cpuMicrosPerJob"` // on the machine that it was recorded on, for people
}

// guard measures the CPU time of jobs beside the probe's, and fails when their ratio
// has become worse than slack times the recorded one; or it records the ratio.
func (b *bench) guard(write bool) error {
	now, err := b.cpuRatio()
	if err != nil {
		return err
	}
	if write {
		content, err := json.MarshalIndent(now, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(b.out, "recorded: a job takes %.2f times the CPU time of the probe\n", now.Ratio)
		return os.WriteFile(guarded, append(content, '\n'), 0o644)
	}
	content, err := os.ReadFile(guarded)
	if err != nil {
		return err
	}
	var before record
	if err := json.Unmarshal(content, &before); err != nil {
		return fmt.Errorf("%s: %w", guarded, err)
	}
	fmt.Fprintf(b.out, "a job takes %.2f times the CPU time of the probe (%.1f µs); recorded: %.2f times\n", now.Ratio, now.Micros, before.Ratio)
	if now.Ratio > slack*before.Ratio {
		return fmt.Errorf("jobs have become more than %.1f times as expensive as when commit %s was recorded: profile what changed; if it must be so, record it with 'scripts/bench guard --record'", slack, before.Commit)
	}
	return nil
}

// cpuRatio sums the rounds up: the clock of process times is coarse.
func (b *bench) cpuRatio() (r record, err error) {
	ours, err := b.rockpool("batch", "--agents=10")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, ours.close()) }()
	probe, err := b.probe(load.ProbeInsertUpdate, ours)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, probe.close()) }()
	turns, err := b.inTurns(guardRounds, entry{ours, guardJobs}, entry{probe, guardJobs})
	if err != nil {
		return r, err
	}
	sum := func(turns []turn) (micros float64) {
		for _, t := range turns {
			micros += t.micros / float64(len(turns))
		}
		return micros
	}
	job, least := sum(turns[0]), sum(turns[1])
	return record{Commit: commitName(), Ratio: job / least, Micros: job}, nil
}
