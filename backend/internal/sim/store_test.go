package sim

import "testing"

// Eight at once fail to start, so the control plane holds the node before it holds
// itself. Work waits for it: the batch that lifts the hold
// assigns the work too, and the store takes all of it.
func TestStore_TakesWhatNeedsTheHoldAwayThatTheBatchLifts(t *testing.T) {
	w := newWorld(&Scenario{
		Duration: Span(5 * minute),
		Store:    StoreModel{Commit: Span(second)},
		Apps:     []App{{ID: "a1", Owner: 1}},
		Nodes:    []Nodes{{ID: "n", Owner: 1, Pool: "pool-1", Slots: 8, Role: "worker", Runners: []string{"noop"}, Spoils: "start_failed"}},
		Demand:   []Demand{{App: "a1", Role: "worker", Runner: "noop", From: Span(second), Every: Span(second / 4), Run: Span(second), Attempts: 100}},
		Steps:    []Step{{T: Span(50 * second), Do: "spoil", Nodes: "n"}},
	}, 1, nil)
	w.run()
	if w.failed != nil {
		t.Fatal(w.failed)
	}
	if w.value("holds.auto.auto") == 0 || w.value("jobs.succeeded") == 0 || w.counts.refusals != 0 {
		t.Fatalf("%d holds, %d jobs succeeded, the store refused %d assignments",
			w.value("holds.auto.auto"), w.value("jobs.succeeded"), w.counts.refusals)
	}
}
