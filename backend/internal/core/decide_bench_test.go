package core

import (
	"fmt"
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/schedule"
)

// BenchmarkDecision is what the loop and the simulator ask for when work comes, in
// a core with so many nodes: where it may go, which node takes it, the reservation
// there, and the release of one that was made a thousand decisions before.
func BenchmarkDecision(b *testing.B) {
	for _, many := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("nodes=%d", many), func(b *testing.B) {
			b.ReportAllocs()
			decision := decisions(b, many)
			for b.Loop() {
				decision()
			}
			b.ReportMetric(1e9/cpuOf(decision, 1_000_000), "decisions/cpu-s")
		})
	}
}

func decisions(b *testing.B, many int) func() {
	d, out, news := New(testConfig), &Effects{}, &Effects{}
	snap := &Snapshot{Epoch: 1, Apps: []fleet.App{{ID: "a", Bindings: []fleet.Binding{{Pools: []string{"p"}}}}}}
	for i := range many {
		snap.Nodes = append(snap.Nodes, fleet.NodeRecord{ID: fmt.Sprint("n", i), Pool: "p", Role: "worker", Runners: runners})
	}
	d.Load(1, snap)
	for i := range snap.Nodes {
		d.Hello(1, HelloEvent{Node: snap.Nodes[i].ID, Report: &fleet.NodeReport{Capacity: fleet.Vector{Slots: 4}, Runners: runners}}, out)
	}
	d.Committed(1, out, nil, news)
	spec := &fleet.JobSpec{App: "a", Role: "worker", Runner: runners[0], Demands: fleet.Vector{Slots: 1}}
	request := schedule.RequestOf(spec)
	var held [1000]*node
	next := 0
	return func() {
		if n := held[next]; n != nil {
			d.index.Release(&n.slot, &spec.Demands)
		}
		n := d.decide(1, d.routeOf(spec), &request, nil)
		if n == nil {
			b.Fatal("no node takes the work")
		}
		d.index.Reserve(&n.slot, &spec.Demands)
		held[next] = n
		next = (next + 1) % len(held)
	}
}
