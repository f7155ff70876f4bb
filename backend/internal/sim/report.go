package sim

import (
	"fmt"
	"io"
	"slices"
)

// Report is what came of a run. It is the same for the same scenario and seed,
// wherever it runs.
type Report struct {
	Scenario string       `json:"scenario"`
	Title    string       `json:"title"`
	Seed     uint64       `json:"seed"`
	Hash     string       `json:"hash"` // of every event and effect
	Events   uint64       `json:"events"`
	Duration int64        `json:"virtualMs"`
	Counts   []Figure     `json:"counts"`
	Pools    []PoolReport `json:"pools"`
	Expected []Checked    `json:"expected"`
	Notes    []string     `json:"notes,omitempty"` // what people were told
	Failure  *Failure     `json:"failure,omitempty"`
	Shortest []string     `json:"shortest,omitempty"` // faults and actions with which it still fails
}

// Figure is a counter's value.
type Figure struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
}

// PoolReport sums a pool up.
type PoolReport struct {
	Pool     string `json:"pool"`
	Nodes    int    `json:"nodes"`
	Slots    int64  `json:"slots"`
	Attempts int64  `json:"attempts"`
}

// Checked is an expectation with what was found.
type Checked struct {
	Counter string `json:"counter"`
	Found   int64  `json:"found"`
	Wanted  string `json:"wanted"`
	OK      bool   `json:"ok"`
}

// OK reports a run in which every rule and expectation held.
func (r *Report) OK() bool { return r.Failure == nil }

// reported are the counters that every report shows.
var reported = []string{
	"jobs", "jobs.succeeded", "jobs.failed", "jobs.timed_out", "jobs.canceled", "jobs.dead", "jobs.queued", "jobs.open",
	"attempts", "offers", "declines", "starts", "results.accepted", "results.fenced", "fallbacks", "outside", "refusals",
	"commits.ok", "commits.failed", "commits.unknown", "reloads", "sessions", "alarms.lasting", "wait.p50", "wait.p95", "wait.max", "goodput", "wasted",
}

func (w *World) report() *Report {
	r := &Report{
		Scenario: w.sc.Name, Title: w.sc.Title, Seed: w.seed, Hash: fmt.Sprintf("%016x", uint64(w.hash)),
		Events: w.events, Duration: int64(w.now), Notes: w.notes, Failure: w.failed,
	}
	for _, name := range reported {
		r.Counts = append(r.Counts, Figure{name, w.value(name)})
	}
	for _, n := range w.counts.named {
		r.Counts = append(r.Counts, Figure{n.name, n.n})
	}
	for _, a := range w.alarmKinds() {
		r.Counts = append(r.Counts, Figure{"alarms." + a, w.value("alarms." + a)})
	}
	if w.sc.Oracle {
		r.Counts = append(r.Counts, Figure{"oracle.compared", w.oracle.compared}, Figure{"oracle.best_fit_unplaced", w.oracle.bestFit.unplaced})
	}
	for _, p := range w.store.pools {
		sum := PoolReport{Pool: p.ID, Attempts: w.value("attempts.pool." + p.ID)}
		for _, n := range w.pick("pool:" + p.ID) {
			sum.Nodes++
			sum.Slots += n.group.Slots
		}
		r.Pools = append(r.Pools, sum)
	}
	for i := range w.sc.Expect {
		e := &w.sc.Expect[i]
		r.Expected = append(r.Expected, Checked{e.Counter, w.found[i], e.wants(w), e.holds(w, w.found[i])})
	}
	return r
}

func (w *World) alarmKinds() (kinds []string) {
	for i := range w.store.alarms {
		if k := string(w.store.alarms[i].Kind); !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// Text writes the report for people.
func (r *Report) Text(out io.Writer) error {
	var err error
	print := func(format string, args ...any) {
		if err == nil {
			_, err = fmt.Fprintf(out, format, args...)
		}
	}
	print("%s: %s\nseed %d, %d events in %s, hash %s\n\n", r.Scenario, r.Title, r.Seed, r.Events, Span(r.Duration), r.Hash)
	for _, f := range r.Counts {
		print("  %-28s %10d\n", f.Name, f.Value)
	}
	print("\n  %-20s %6s %7s %9s\n", "pool", "nodes", "slots", "attempts")
	for _, p := range r.Pools {
		print("  %-20s %6d %7d %9d\n", p.Pool, p.Nodes, p.Slots, p.Attempts)
	}
	print("\n")
	for _, n := range r.Notes {
		print("  %s\n", n)
	}
	for _, c := range r.Expected {
		mark := "ok  "
		if !c.OK {
			mark = "FAIL"
		}
		print("  %s %s is %d, expected %s\n", mark, c.Counter, c.Found, c.Wanted)
	}
	if r.Failure != nil {
		print("\nFAILED: seed %d: %s\n", r.Seed, r.Failure.Error())
		if len(r.Shortest) > 0 {
			print("it still fails with these steps alone:\n")
		}
		for _, s := range r.Shortest {
			print("  %s\n", s)
		}
	}
	return err
}
