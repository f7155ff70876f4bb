package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"rockpool/tests/load"
)

// goal is one of the goals, and how it is measured.
type goal struct {
	name    string
	measure func(*bench) ([]line, error)
}

var goals = []goal{
	{"V1", (*bench).batches},
	{"V2", (*bench).singles},
	{"V3", (*bench).latency},
	{"V4", (*bench).manyAgents},
	{"V5", (*bench).sessions},
	{"V6", (*bench).heartbeats},
	{"V7", (*bench).decisions},
	{"V8", (*bench).simulator},
	{"V9", (*bench).processes},
	{"V10", (*bench).storm},
	{"V13", (*bench).idle},
}

func goalNames() (names []string) {
	for _, g := range goals {
		names = append(names, g.name)
	}
	return names
}

// rounds are the turns of each contender.
func (b *bench) rounds() int {
	if b.quick {
		return 3
	}
	return 5
}

// size is the work of a turn, a tenth of it when it shall be quick.
func (b *bench) size(n int) int {
	if b.quick {
		return max(1, n/10)
	}
	return n
}

func (b *bench) program(name string) string { return filepath.Join(b.bin, name) }

// rockpool starts the load generator on demand.
func (b *bench) rockpool(args ...string) (*contender, error) {
	return startContender("rockpool", nil, b.program("rockpool"), append(append([]string{"load"}, args...), "--on-demand")...)
}

// probe starts one of tests/load on Rockpool's own PostgreSQL, or without any.
func (b *bench) probe(name string, on *contender) (*contender, error) {
	if on == nil {
		return startContender(name, nil, b.program("bench"), "probe", name)
	}
	return startContender(name, []int{on.greeting.Postgres}, b.program("bench"), "probe", name, on.greeting.Database)
}

// peer starts one of tests/load/peers.
func (b *bench) peer(name string, on *contender) (*contender, error) {
	if on == nil {
		return startContender(name, nil, b.program("peers"), name)
	}
	return startContender(name, []int{on.greeting.Postgres}, b.program("peers"), name, "--database", on.greeting.Database)
}

// rival is who stands beside, and what must come of it.
type rival struct {
	name string
	says string // in the table
	size int    // operations of a turn
	peer bool   // of the peers' module; else a probe
	on   bool   // on Rockpool's PostgreSQL
	gate float64
}

// beside measures Rockpool in turns with its rivals: a line for each, and one for
// its CPU time when that has a gate.
func (b *bench) beside(what string, size int, cpuGate float64, args []string, rivals ...rival) (lines []line, err error) {
	ours, err := b.rockpool(args...)
	if err != nil {
		return nil, err
	}
	entries := []entry{{ours, b.size(size)}}
	defer func() {
		for i := len(entries) - 1; i >= 0; i-- { // Rockpool last: PostgreSQL is its
			err = errors.Join(err, entries[i].close())
		}
	}()
	for _, r := range rivals {
		start, on := b.probe, ours
		if r.peer {
			start = b.peer
		}
		if !r.on {
			on = nil
		}
		c, err := start(r.name, on)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{c, b.size(r.size)})
	}
	turns, err := inTurns(b.rounds(), entries...)
	if err != nil {
		return nil, err
	}
	cpu := median(turns[0], func(t turn) float64 { return t.micros })
	if cpuGate > 0 {
		lines = append(lines, line{
			what: what + ", CPU", ours: fmt.Sprintf("%.1f µs a job", cpu), gate: fmt.Sprintf("≤ %.0f µs", cpuGate), met: cpu <= cpuGate, cpu: cpu,
		})
	}
	for i, r := range rivals {
		l := line{
			what: what, ours: rate(turns[0]), cpu: cpu, ratio: ratio(turns[0], turns[i+1]),
			beside: fmt.Sprintf("%s %s", r.says, rate(turns[i+1])),
		}
		if r.gate > 0 {
			l.gate, l.met = fmt.Sprintf("≥ %.4g ×", r.gate), l.ratio >= r.gate
		}
		lines = append(lines, l)
	}
	return lines, nil
}

func rate(turns []turn) string { return fmt.Sprintf("%.0f/s", median(turns, turn.rate)) }

func (b *bench) batches() ([]line, error) {
	rivals := []rival{
		{name: load.ProbeInsertUpdate, says: "insert 512, update", size: 30_000, on: true, gate: 0.33},
		{name: "river-bulk-shipped", says: "River as it ships, bulk", size: 10_000, peer: true, on: true, gate: 2.5},
		{name: "river-bulk", says: "River that fetches every 2 ms, bulk", size: 10_000, peer: true, on: true, gate: 2.5},
		{name: "nats-sync", says: "NATS, sync always", size: 3_000, peer: true, gate: 15},
		{name: "nats", says: "NATS, no durability", size: 30_000, peer: true, gate: 1},
	}
	if hasRedis() {
		rivals = append(rivals, rival{name: "asynq", says: "asynq, fsync always", size: 3_000, peer: true})
	}
	return b.beside("durable jobs in batches, 10 agents", 30_000, 70, []string{"batch", "--agents=10"}, rivals...)
}

func (b *bench) singles() ([]line, error) {
	return b.beside("one POST each, waiting for the result", 6_000, 220, []string{"single", "--agents=10"},
		rival{name: "river-single", says: "River that fetches every 2 ms, single insert", size: 3_000, peer: true, on: true, gate: 8})
}

func (b *bench) processes() ([]line, error) {
	return b.beside("process jobs of /bin/true, 1 agent", 1_500, 0, []string{"process", "--agents-bin=" + b.program("rockpool-agent")},
		rival{name: load.ProbeExec, says: "fork and exec", size: 1_500, gate: 0.8})
}

// crowd is how many agents stand for many.
func (b *bench) crowd() int { return b.size(10_000) }

func (b *bench) manyAgents() (lines []line, err error) {
	few, err := b.rockpool("batch", "--agents=10")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, few.close()) }()
	many, err := b.rockpool("batch", "--agents="+strconv.Itoa(b.crowd()))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, many.close()) }()
	turns, err := inTurns(b.rounds(), entry{many, b.size(30_000)}, entry{few, b.size(30_000)})
	if err != nil {
		return nil, err
	}
	r := ratio(turns[0], turns[1])
	lines = []line{{
		what: fmt.Sprintf("jobs in batches, %d agents", b.crowd()), ours: rate(turns[0]), beside: "10 agents " + rate(turns[1]),
		ratio: r, gate: "≥ 0.4 ×", met: r >= 0.4, cpu: median(turns[0], func(t turn) float64 { return t.micros }),
	}}
	alone, err := b.latencyOf()
	if err != nil {
		return lines, err
	}
	beside, err := b.latencyOf("--agents=" + strconv.Itoa(b.crowd()-1))
	if err != nil {
		return lines, err
	}
	r = beside.ResultRatio.P50 / alone.ResultRatio.P50 // each against the probe of its minutes
	return append(lines, line{
		what: "submit to result, p50, that many agents", ours: ms(beside.Result.P50), beside: "1 agent " + ms(alone.Result.P50),
		ratio: r, gate: "≤ 1.5 ×", met: r <= 1.5,
	}), nil
}
