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
	return b.contender("rockpool", nil, b.program("rockpool"), append(append([]string{"load"}, args...), "--on-demand")...)
}

// probe starts one of tests/load on Rockpool's own PostgreSQL, or without any.
func (b *bench) probe(name string, on *contender) (*contender, error) {
	if on == nil {
		return b.contender(name, nil, b.program("bench"), "probe", name)
	}
	return b.contender(name, []int{on.greeting.Postgres}, b.program("bench"), "probe", name, on.greeting.Database)
}

// peer starts one of tests/load/peers.
func (b *bench) peer(name string, on *contender) (*contender, error) {
	if on == nil {
		return b.contender(name, nil, b.program("peers"), name)
	}
	return b.contender(name, []int{on.greeting.Postgres}, b.program("peers"), name, "--database", on.greeting.Database)
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
	turns, err := b.inTurns(b.rounds(), entries...)
	if err != nil {
		return nil, err
	}
	cpu := median(turns[0], turn.cpu)
	if cpuGate > 0 {
		lines = append(lines, line{
			what: what + ", CPU", ours: fmt.Sprintf("%.1f µs a job", cpu), gate: fmt.Sprintf("≤ %.0f µs", cpuGate), met: cpu <= cpuGate, cpu: cpu,
		})
	}
	for i, r := range rivals {
		l := line{
			what: what, ours: rate(turns[0]), cpu: cpu, ratio: ratio(turns[0], turns[i+1], turn.rate),
			beside: fmt.Sprintf("%s %s (%.0f µs)", r.says, rate(turns[i+1]), median(turns[i+1], turn.cpu)),
		}
		if r.gate > 0 {
			l.gate, l.met = fmt.Sprintf("≥ %.4g ×", r.gate), l.ratio >= r.gate
		}
		lines = append(lines, l)
	}
	return lines, nil
}

func rate(turns []turn) string { return fmt.Sprintf("%.0f/s", median(turns, turn.rate)) }

// batches measures both ends of what the goal is about, 10 agents and 100.
func (b *bench) batches() (lines []line, err error) {
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
	for _, agents := range []string{"10", "100"} {
		more, err := b.beside("durable jobs in batches, "+agents+" agents", 30_000, 70, []string{"batch", "--agents=" + agents}, rivals...)
		if lines = append(lines, more...); err != nil {
			return lines, err
		}
	}
	return lines, nil
}

func (b *bench) singles() ([]line, error) {
	return b.beside("one POST each, waiting for the result", 6_000, 220, []string{"single", "--agents=10"},
		rival{name: "river-single", says: "River that fetches every 2 ms, single insert", size: 3_000, peer: true, on: true, gate: 8})
}

func (b *bench) processes() ([]line, error) {
	slots := strconv.Itoa(load.ProbeExecs)
	return b.beside("process jobs of /bin/true, 1 agent, "+slots+" slots", 3_000, 0, []string{"process", "--slots=" + slots, "--agents-bin=" + b.program("rockpool-agent")},
		rival{name: load.ProbeExec, says: "fork and exec, " + slots + " at a time", size: 3_000, gate: 0.8})
}

// crowd is how many agents stand for many.
func (b *bench) crowd() int { return b.size(10_000) }

// manyAgents measures many agents in turns with few: the rate of jobs in batches,
// then the latency of one at low load.
func (b *bench) manyAgents() ([]line, error) {
	many := strconv.Itoa(b.crowd())
	turns, err := b.against(b.size(30_000), []string{"batch", "--agents=" + many}, []string{"batch", "--agents=10"})
	if err != nil {
		return nil, err
	}
	r := ratio(turns[0], turns[1], turn.rate)
	lines := []line{{
		what: fmt.Sprintf("jobs in batches, %s agents", many), ours: rate(turns[0]),
		beside: fmt.Sprintf("10 agents %s (%.0f µs)", rate(turns[1]), median(turns[1], turn.cpu)),
		ratio:  r, gate: "≥ 0.4 ×", met: r >= 0.4, cpu: median(turns[0], turn.cpu),
	}}
	turns, err = b.against(b.size(300), []string{"latency", "--agents=" + strconv.Itoa(b.crowd()-1)}, []string{"latency"})
	if err != nil {
		return lines, err
	}
	r = ratio(turns[0], turns[1], turn.result)
	return append(lines, line{
		what: "submit to result, p50, that many agents", ours: ms(median(turns[0], turn.result)), beside: "1 agent " + ms(median(turns[1], turn.result)),
		ratio: r, gate: "≤ 1.5 ×", met: r <= 1.5,
	}), nil
}

// against measures two loads of Rockpool in turns.
func (b *bench) against(size int, ours, theirs []string) (turns [][]turn, err error) {
	var entries []entry
	defer func() {
		for _, e := range entries {
			err = errors.Join(err, e.close())
		}
	}()
	for _, args := range [][]string{ours, theirs} {
		c, err := b.rockpool(args...)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{c, size})
	}
	return b.inTurns(b.rounds(), entries...)
}
