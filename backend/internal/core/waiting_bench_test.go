package core

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"rockpool/backend/internal/core/fleet"
)

// crowded is a core with one node of four slots and so many jobs of a hundred apps
// that wait for it, of eight kinds.
type crowded struct {
	d         *Dispatch
	out, next *Effects
	now       fleet.Time
	seq       int
}

var runners = []string{"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7"}

func crowd(many int) *crowded {
	c := &crowded{d: New(testConfig), out: &Effects{}, next: &Effects{}, now: 1}
	snap := &Snapshot{Epoch: 1, Nodes: []fleet.NodeRecord{{ID: "n1", Pool: "p", Role: "worker", Runners: runners}}}
	for i := range 100 {
		snap.Apps = append(snap.Apps, fleet.App{ID: fmt.Sprint("a", i), Bindings: []fleet.Binding{{Pools: []string{"p"}}}})
	}
	c.d.Load(c.now, snap)
	c.d.Hello(c.now, HelloEvent{Node: "n1", Report: &fleet.NodeReport{Capacity: fleet.Vector{Slots: 4}, Runners: runners}}, c.out)
	c.commit()
	for range many + 4 {
		c.submit()
	}
	return c
}

func (c *crowded) submit() {
	c.seq++
	spec := &fleet.JobSpec{App: fmt.Sprint("a", c.seq%100), Role: "worker", Runner: runners[c.seq/100%8], MaxAttempts: 3, Demands: fleet.Vector{Slots: 1}}
	spec.Priority = int32(c.seq % 3)
	spec.ID[12], spec.ID[13], spec.ID[14], spec.ID[15] = byte(c.seq>>24), byte(c.seq>>16), byte(c.seq>>8), byte(c.seq)
	c.d.Submit(c.now, JobInsert{Spec: spec}, c.out)
	if len(c.out.Inserts) == 256 {
		c.commit()
	}
}

func (c *crowded) commit() {
	c.d.Committed(c.now, c.out, nil, c.next)
	c.out.Reset()
	c.out, c.next = c.next, c.out
	c.out.Sends = c.out.Sends[:0]
}

// decide ends the job that has the node's first reservation; the first of what
// waits gets its place, and another comes.
func (c *crowded) decide() {
	j := c.d.nodes["n1"].jobs[0]
	at := Attempt{Job: j.spec.ID, Attempt: j.row.Attempt}
	c.d.Accept(c.now, Session{Node: "n1", Epoch: 1}, at, c.out)
	c.d.Result(c.now, Session{Node: "n1", Epoch: 1}, at, &fleet.Result{}, c.out)
	c.commit()
	c.submit()
	c.commit()
	c.d.timers.reset()
}

// look is what follows within a second when nodes have changed.
func (c *crowded) look() {
	c.now += 1000
	c.d.look.hopes = true
	c.d.lookAtCohorts(c.now, c.out)
}

func cpuOf(run func(), times int) float64 {
	spent := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			panic(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	start := spent()
	for range times {
		run()
	}
	return float64((spent() - start).Nanoseconds()) / float64(times)
}

// BenchmarkWaiting is the whole core while much waits: an end, the decision that
// follows and a new job; what a waiting job takes; and a look after nodes changed.
func BenchmarkWaiting(b *testing.B) {
	for _, many := range []int{1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprintf("waiting=%d", many), func(b *testing.B) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			c := crowd(many)
			runtime.GC()
			runtime.ReadMemStats(&after)
			for b.Loop() {
				c.decide()
			}
			if waiting := c.d.queue.Len(); waiting != many {
				b.Fatalf("%d wait, want %d", waiting, many)
			}
			b.ReportMetric(cpuOf(c.decide, 20_000), "cpu-ns/op")
			b.ReportMetric(cpuOf(c.look, 20), "look-cpu-ns")
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(many), "B/job")
		})
	}
}

// What a decision costs, and a look after nodes changed, does not depend on how
// much waits.
func TestWaiting_CostsStayFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	few, most := crowd(1_000), crowd(100_000)
	for name, cost := range map[string]func(*crowded) float64{
		"a decision": func(c *crowded) float64 { return cpuOf(c.decide, 5_000) },
		"a look":     func(c *crowded) float64 { return cpuOf(c.look, 50) },
	} {
		small, large := cost(few), cost(most)
		for range 4 {
			small, large = min(small, cost(few)), min(large, cost(most))
		}
		t.Logf("%s takes %.0f ns of CPU with 1,000 waiting, %.0f with 100,000", name, small, large)
		if large > 5*small {
			t.Errorf("%s takes %.0f ns with 1,000 waiting, %.0f with 100,000", name, small, large)
		}
	}
}
