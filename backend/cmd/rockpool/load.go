package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rockpool/backend/internal/load"
)

// loadCommand measures the server on this machine. It starts one of its own on a
// throw-away folder, so that no fleet is filled with what means nothing.
type loadCommand struct {
	Latency bool          `help:"What one job takes at low load, to its start and to its result, beside one HTTP request that makes one commit."`
	Rounds  int           `default:"5" placeholder:"N" help:"Pairs of jobs and probe; figures are the medians."`
	Jobs    int           `default:"300" placeholder:"N" help:"Jobs of a round."`
	Gap     time.Duration `default:"3ms" placeholder:"TIME" help:"Pause between two jobs."`
}

// Run measures and prints.
func (c *loadCommand) Run(ctx context.Context, d *desk) error {
	switch {
	case !c.Latency:
		return usageError{errors.New("say what to measure: --latency")}
	case c.Rounds < 1 || c.Jobs < 1 || c.Gap < 0:
		return usageError{errors.New("--rounds and --jobs must be at least 1, --gap at least 0s")}
	}
	report, err := load.Latency(ctx, load.LatencyOptions{Rounds: c.Rounds, Jobs: c.Jobs, Gap: c.Gap})
	if err != nil {
		return err
	}
	g := columns("WHAT", "P50", "P99", "P50 / PROBE", "P99 / PROBE")
	row := func(what string, q, ratio load.Quantiles) {
		g.row(what, fmt.Sprintf("%.2f ms", q.P50), fmt.Sprintf("%.2f ms", q.P99), fmt.Sprintf("%.2f", ratio.P50), fmt.Sprintf("%.2f", ratio.P99))
	}
	row("submit to start", report.Start, report.StartRatio)
	row("submit to result", report.Result, report.ResultRatio)
	row("probe: request and commit", report.Probe, load.Quantiles{P50: 1, P99: 1})
	return d.show(report, g)
}
