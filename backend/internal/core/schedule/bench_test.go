package schedule

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"rockpool/backend/internal/core/fleet"
)

// BenchmarkDecide is a decision with its reservation and release, and beside it,
// in turns, a scan of the plainest slice that has what the decision needs.
// Others on the machine make ns/op worse and leave cpu-ns/op nearly alone.
func BenchmarkDecide(b *testing.B) {
	for _, many := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("nodes=%d", many), func(b *testing.B) {
			b.ReportAllocs()
			decide, scan := deciding(many), plainScan(many)
			for b.Loop() {
				decide()
			}
			b.StopTimer()
			ours, theirs := inTurns(func() float64 { return cpuOf(decide, 50_000) }, func() float64 { return cpuOf(scan, 5_000_000/many) })
			b.ReportMetric(ours, "cpu-ns/op")
			b.ReportMetric(theirs, "scan-cpu-ns/op")
			b.ReportMetric(theirs/ours, "x-scan")
		})
	}
}

// BenchmarkExhausted is a decision that no node can take, with all its reasons.
func BenchmarkExhausted(b *testing.B) {
	for _, many := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("nodes=%d", many), func(b *testing.B) {
			b.ReportAllocs()
			full, tooLarge := refusing(many, 1), refusing(many, 17)
			for b.Loop() {
				full()
			}
			b.StopTimer()
			whole, some := inTurns(func() float64 { return cpuOf(full, 50_000) }, func() float64 { return cpuOf(tooLarge, 50_000) })
			b.ReportMetric(whole, "cpu-ns/op")
			b.ReportMetric(some, "too-large-cpu-ns/op")
		})
	}
}

// inTurns measures two things, one after the other and again, and gives the
// median of each.
func inTurns(a, b func() float64) (float64, float64) {
	const turns = 9
	var as, bs []float64
	for range turns {
		as, bs = append(as, a()), append(bs, b())
	}
	slices.Sort(as)
	slices.Sort(bs)
	return as[turns/2], bs[turns/2]
}

// cpuOf is the nanoseconds of CPU time that one run takes, of many.
func cpuOf(run func(), times int) float64 {
	start := cpuTime()
	for range times {
		run()
	}
	return float64((cpuTime() - start).Nanoseconds()) / float64(times)
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// deciding gives a decision that reserves, and releases what the one a thousand
// decisions before it took: it goes through the nodes as work does.
func deciding(many int) func() {
	x := crowd(many)
	p, demand := x.Pool("p"), &fleet.Vector{Slots: 1}
	r := &Request{Role: "edge", Runner: "noop", Demand: demand}
	var tally fleet.Tally
	var held [1024]*Node
	next := 0
	return func() {
		if n := held[next]; n != nil {
			x.Release(n, demand)
		}
		n := p.Find(r, nil, &tally).Node
		x.Reserve(n, demand)
		held[next] = n
		next = (next + 1) % len(held)
	}
}

// refusing gives a decision over a pool that has no room for it: it is full, or
// each of its nodes is too small.
func refusing(many int, slots int64) func() {
	x := crowd(many)
	p, demand := x.Pool("p"), &fleet.Vector{Slots: 1}
	r := &Request{Role: "edge", Runner: "noop", Demand: demand}
	var tally fleet.Tally
	if slots == 1 {
		for pick := p.Find(r, nil, &tally); pick.Node != nil; pick = p.Find(r, nil, &tally) {
			x.Reserve(pick.Node, &fleet.Vector{Slots: pick.Node.FreeSlots()})
		}
	}
	r.Demand = &fleet.Vector{Slots: slots}
	return func() { p.Find(r, nil, &tally) }
}

// crowd makes a pool whose nodes have all numbers of free slots.
func crowd(many int) *Index {
	x := NewIndex()
	for i := range many {
		var blocks Blocks
		if i%10 == 0 {
			blocks = blocks.With(fleet.Cordoned)
		}
		n := &Node{ID: fmt.Sprintf("n%06d", i)}
		x.Put(n, "p", Attrs{Role: "edge", Backend: "cpu", Runners: []string{"noop"}}, fleet.Vector{Slots: 16}, blocks)
		x.Charge(n, &fleet.Vector{Slots: int64(i * 7 % 13)})
	}
	return x
}

// plainScan decides over a slice of plain values.
func plainScan(many int) func() {
	type plain struct {
		free, role int32
		blocked    bool
	}
	nodes := make([]plain, many)
	for i := range nodes {
		nodes[i] = plain{free: int32(16 - i*7%13), blocked: i%10 == 0}
	}
	var rejected, candidates int
	return func() {
		best := -1
		rejected, candidates = 0, 0
		for i := range nodes {
			n := &nodes[i]
			if n.role != 0 || n.blocked || n.free < 1 {
				rejected++
				continue
			}
			candidates++
			if best < 0 || n.free > nodes[best].free {
				best = i
			}
		}
		nodes[best].free--
		nodes[best].free++
	}
}

// The index stays far ahead of the scan: both are measured in the same minute.
func TestDecide_IsFarAheadOfTheScan(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	for many, times := range map[int]float64{10_000: 100, 100_000: 800} {
		decide, scan := deciding(many), plainScan(many)
		ours, theirs := inTurns(func() float64 { return cpuOf(decide, 20_000) }, func() float64 { return cpuOf(scan, 1_000_000/many) })
		if theirs < times*ours {
			t.Errorf("%d nodes: %.0f ns beside %.0f ns of a scan: %.0f times, want %.0f", many, ours, theirs, theirs/ours, times)
		}
		t.Logf("%d nodes: %.0f ns of CPU a decision, %.0f times the scan", many, ours, theirs/ours)
	}
}
