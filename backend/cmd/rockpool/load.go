package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/load"
)

// loadCommand measures the server on this machine. It starts one of its own on a
// throw-away folder, so that no fleet is filled with what means nothing.
type loadCommand struct {
	Batch   loadBatch   `cmd:"" help:"Jobs a second, submitted in batches."`
	Single  loadSingle  `cmd:"" help:"Jobs a second, each of a request that waits for its result."`
	Process loadProcess `cmd:"" help:"Jobs a second of real agents that run a process for each."`
	Latency loadLatency `cmd:"" default:"withargs" help:"What one job takes at low load, to its start and to its result, beside one HTTP request that makes one commit."`
	Fleet   loadFleet   `cmd:"" hidden:"" help:"Be the agents' process of the others."`
}

// Help is what stands below a load's flags.
func (*loadCommand) Help() string {
	return "It measures a throw-away server of its own: --server, --token-file and --allow-plain-http mean nothing here and are refused."
}

// AfterApply refuses flags that would be ignored.
func (*loadCommand) AfterApply(line *kong.Context) error {
	given := map[string]bool{}
	for _, part := range line.Path {
		if part.Flag != nil {
			given[part.Flag.Name] = true
		}
	}
	for _, name := range []string{"server", "token-file", "allow-plain-http"} {
		if given[name] {
			return fmt.Errorf("--%s: rockpool load measures a throw-away server of its own", name)
		}
	}
	for _, name := range []string{"rounds", "jobs", "forget", "output"} {
		if given["on-demand"] && given[name] {
			return fmt.Errorf("--%s means nothing with --on-demand: standard input says what is done, and answers are lines of JSON", name)
		}
	}
	return nil
}

// untilHangup gives a context that a hangup ends too, and makes a closed output an
// error: what the load has started must be ended before it.
func untilHangup(ctx context.Context) (context.Context, context.CancelFunc) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // to write fails then, instead of ending the process
	if signal.Ignored(syscall.SIGHUP) {
		return ctx, func() {}
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

// rounds are the flags of every load that takes jobs through agents.
type rounds struct {
	Rounds   int    `default:"5" placeholder:"N" help:"Rounds; figures are the medians."`
	Pools    int    `default:"1" placeholder:"N" help:"Pools with a user, an app and a part of the agents each: 1 to 100."`
	Metrics  string `placeholder:"HOST:PORT" help:"Loopback address of the server's metrics and profiles meanwhile."`
	OnDemand bool   `help:"Make a round for each line of standard input, which is its number of jobs, and print it as a line of JSON."`
}

// Bounds of a load: what may be asked for, not what is sensible.
const (
	mostLoadAgents  = 10_000
	mostLoadPools   = 100
	mostLoadRounds  = 10_000
	mostLoadCallers = 10_000
	mostLoadWaiting = 5_000_000      // the queue of its server takes twice as many
	mostLoadSlots   = fleet.MaxSlots // that a server lets an agent bring: jobs meant for more would wait
)

// within refuses a number outside its bounds.
func within(flag string, n, most int64) error {
	if n < 1 || n > most {
		return usageError{fmt.Errorf("--%s must be 1 to %d", flag, most)}
	}
	return nil
}

// check refuses what can't be measured.
func (r rounds) check(o load.Options) error {
	if o.Pools > o.Agents {
		return usageError{errors.New("each pool needs an agent: --pools must be at most --agents")}
	}
	return cmp.Or(
		within("rounds", int64(o.Rounds), mostLoadRounds), within("jobs", int64(o.Jobs), load.MostJobs),
		within("slots", o.Slots, mostLoadSlots), within("callers", int64(o.Callers), mostLoadCallers),
		within("agents", int64(o.Agents), mostLoadAgents), within("pools", int64(o.Pools), mostLoadPools))
}

// measure runs the load and prints it.
func (r rounds) measure(ctx context.Context, d *desk, o load.Options) error {
	o.Rounds, o.Pools, o.Metrics = r.Rounds, r.Pools, r.Metrics
	if err := r.check(o); err != nil {
		return err
	}
	ctx, stop := untilHangup(ctx)
	defer stop()
	if r.OnDemand {
		return load.OnDemand(ctx, o, d.in, d.out)
	}
	report, err := load.Run(ctx, o)
	if err != nil {
		return err
	}
	return d.show(report, loadTable(report))
}

func loadTable(r load.Report) grid {
	var g grid
	g.fact("jobs a second", fmt.Sprintf("%.0f", r.JobsPerSecond))
	g.fact("CPU of the server", fmt.Sprintf("%.1f µs a job", r.CPU.Server))
	g.fact("CPU of PostgreSQL", fmt.Sprintf("%.1f µs a job", r.CPU.Postgres))
	g.fact("CPU of both", fmt.Sprintf("%.1f µs a job", r.CPU.Server+r.CPU.Postgres))
	g.fact("CPU of the agents", fmt.Sprintf("%.1f µs a job", r.CPU.Agents))
	g.fact("CPU of the callers", fmt.Sprintf("%.1f µs a job", r.CPU.Callers))
	if last := r.Rounds[len(r.Rounds)-1].Result; last != nil {
		g.fact("POST to result", fmt.Sprintf("p50 %.2f ms, p99 %.2f ms (last round)", last.P50, last.P99))
	}
	const mib = 1 << 20
	g.fact("memory of the server", fmt.Sprintf("%d MiB", r.Memory.Server/mib))
	g.fact("memory of PostgreSQL", fmt.Sprintf("%d MiB", r.Memory.Postgres/mib))
	g.fact("database", fmt.Sprintf("%d MiB", r.Memory.Database/mib))
	if f := r.Forgotten; f != nil {
		g.fact("database after retention", fmt.Sprintf("%d MiB, %d jobs, after %.1f s", f.Database/mib, f.Jobs, f.Seconds))
	}
	b := r.Books
	g.fact("books", fmt.Sprintf("%d accepted = %d done + %d queued + %d failed; nothing reserved, one result for each",
		b.Accepted, b.States["succeeded"], b.States["queued"], b.States["failed"]))
	return g
}

type loadBatch struct {
	rounds
	Agents  int   `default:"10" placeholder:"N" help:"Scripted agents over real sockets, in a process of their own: 1 to 10000."`
	Slots   int64 `default:"64" placeholder:"N" help:"Slots of an agent, 1 to 64."`
	Jobs    int   `default:"50000" placeholder:"N" help:"Jobs of a round."`
	Batch   int   `default:"300" placeholder:"N" help:"Jobs of a request, 2 to 1000."`
	Callers int   `default:"4" placeholder:"N" help:"Requests at a time."`
	Waiting int   `placeholder:"N" help:"Jobs that wait before the first agent comes; as many wait all the time; up to 5000000."`
	Forget  bool  `help:"At the end forget the jobs, as retention does once they are old, and say what is left on disk."`
}

// Run measures.
func (c *loadBatch) Run(ctx context.Context, d *desk) error {
	if c.Batch < 2 || c.Batch > 1000 || c.Waiting < 0 || c.Waiting > mostLoadWaiting {
		return usageError{fmt.Errorf("--batch must be 2 to 1000, --waiting 0 to %d", mostLoadWaiting)}
	}
	if c.Forget && c.Waiting > 0 {
		return usageError{errors.New("--forget can't be met with --waiting: retention keeps a day whose jobs are open")}
	}
	return c.measure(ctx, d, load.Options{Agents: c.Agents, Slots: c.Slots, Jobs: c.Jobs, Batch: c.Batch, Callers: c.Callers, Waiting: c.Waiting, Forget: c.Forget})
}

type loadSingle struct {
	rounds
	Agents  int   `default:"10" placeholder:"N" help:"Scripted agents over real sockets, in a process of their own: 1 to 10000."`
	Slots   int64 `default:"64" placeholder:"N" help:"Slots of an agent, 1 to 64."`
	Jobs    int   `default:"10000" placeholder:"N" help:"Jobs of a round."`
	Callers int   `default:"128" placeholder:"N" help:"Callers, each with one job at a time."`
}

// Run measures.
func (c *loadSingle) Run(ctx context.Context, d *desk) error {
	return c.measure(ctx, d, load.Options{Agents: c.Agents, Slots: c.Slots, Jobs: c.Jobs, Batch: 1, Callers: c.Callers})
}

type loadProcess struct {
	rounds
	AgentsBin string `placeholder:"FILE" help:"Program of the agents (default: rockpool-agent beside this program)."`
	Agents    int    `default:"1" placeholder:"N" help:"Agents."`
	Slots     int64  `default:"4" placeholder:"N" help:"Slots of an agent, 1 to 64."`
	Jobs      int    `default:"1000" placeholder:"N" help:"Jobs of a round, each a process of /bin/true."`
}

// Run measures.
func (c *loadProcess) Run(ctx context.Context, d *desk) error {
	if c.AgentsBin == "" {
		program, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find this program: %w", err)
		}
		c.AgentsBin = filepath.Join(filepath.Dir(program), "rockpool-agent")
	}
	if _, err := os.Stat(c.AgentsBin); err != nil {
		return usageError{fmt.Errorf("name the agent's program with --agents-bin: %w", err)}
	}
	return c.measure(ctx, d, load.Options{Agents: c.Agents, Slots: c.Slots, Jobs: c.Jobs, Batch: 20, Callers: 2, AgentsBin: c.AgentsBin})
}

type loadLatency struct {
	Rounds int           `default:"5" placeholder:"N" help:"Pairs of jobs and probe; figures are the medians."`
	Jobs   int           `default:"300" placeholder:"N" help:"Jobs of a round."`
	Gap    time.Duration `default:"3ms" placeholder:"TIME" help:"Pause between two jobs."`
	Agents int           `placeholder:"N" help:"Agents that are connected beside the one that works, up to 10000."`

	OnDemand bool `help:"Make a round for each line of standard input, which is its number of jobs, and print it as a line of JSON."`
	// Scripts from before there were other loads say it: the load is this one without.
	Latency bool `hidden:"" help:"Measure the latency."`
}

// Run measures and prints.
func (c *loadLatency) Run(ctx context.Context, d *desk) error {
	if c.Gap < 0 || c.Agents < 0 || c.Agents > mostLoadAgents {
		return usageError{fmt.Errorf("--gap must be at least 0s, --agents 0 to %d", mostLoadAgents)}
	}
	if err := cmp.Or(within("rounds", int64(c.Rounds), mostLoadRounds), within("jobs", int64(c.Jobs), load.MostJobs)); err != nil {
		return err
	}
	ctx, stop := untilHangup(ctx)
	defer stop()
	o := load.LatencyOptions{Rounds: c.Rounds, Jobs: c.Jobs, Gap: c.Gap, Agents: c.Agents}
	if c.OnDemand {
		return load.LatencyOnDemand(ctx, o, d.in, d.out)
	}
	report, err := load.Latency(ctx, o)
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

type loadFleet struct{}

// Run obeys what comes on standard input.
func (*loadFleet) Run(ctx context.Context, d *desk) error { return load.PlayFleet(ctx, d.in, d.out) }
