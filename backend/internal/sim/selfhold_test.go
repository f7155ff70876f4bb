package sim

import "testing"

// A node on which nothing starts takes itself out, and comes back by its self-test
// once things start again. Meanwhile the other one does the work.
func TestNode_HoldsItselfWhileNothingStarts(t *testing.T) {
	play := func(mends Span) *World {
		w := newWorld(&Scenario{
			Duration: Span(12 * minute),
			Apps:     []App{{ID: "a1", Owner: 1}},
			Nodes: []Nodes{
				{ID: "bad", Owner: 1, Pool: "pool-1", Slots: 1, Role: "worker", Runners: []string{"noop"}, Spoils: "start_failed"},
				{ID: "good", Owner: 1, Pool: "pool-1", Slots: 1, Role: "worker", Runners: []string{"noop"}},
			},
			Demand: []Demand{{App: "a1", Role: "worker", Runner: "noop", From: Span(second), Every: Span(3 * second), Run: Span(2 * second), Attempts: 100}},
			Steps:  []Step{{T: mends, Do: "spoil", Nodes: "bad"}},
		}, 1, nil)
		w.run()
		if w.failed != nil {
			t.Fatal(w.failed)
		}
		return w
	}
	never := play(Span(12 * minute))
	if n := never.value("attempts.node.bad"); n != 3 {
		t.Errorf("%d attempts went to the node on which nothing starts, want 3", n)
	}
	if n := play(Span(6 * minute)).value("attempts.node.bad"); n < 20 {
		t.Errorf("%d attempts went to the node that was mended half of the time", n)
	}
}
