package core

import (
	"testing"

	"rockpool/backend/internal/core/fleet"
)

// What did not change is not shown again; what left stays in sight.
func TestChanged_ShowsWhatIsDifferent(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1), record("n2", "pool-1", 1, 1))
	all := w.d.Changed(w.now, 0, true)
	if !all.Whole || len(all.Nodes) != 2 || len(all.Pools) == 0 {
		t.Fatalf("at first: %+v", all)
	}
	if none := w.d.Changed(w.now, all.Rev, false); none.Whole || len(none.Nodes) != 0 || none.Pools != nil {
		t.Errorf("nothing changed, and %+v", none)
	}
	w.move("n1", func(r *fleet.NodeRecord) { r.Holds = []fleet.Hold{{Kind: fleet.HoldCordon, Owner: "operator"}} })
	one := w.d.Changed(w.now, all.Rev, false)
	if len(one.Nodes) != 1 || len(one.Nodes[0].Record.Holds) != 1 {
		t.Errorf("after a cordon: %+v", one.Nodes)
	}
	w.d.RevokeNode(w.now, w.gone("n1"), "stolen", w.pending)
	gone := w.d.Changed(w.now, one.Rev, false)
	if len(gone.Nodes) != 1 || gone.Nodes[0].Lease != fleet.LeaseLeft {
		t.Errorf("after its revocation: %+v", gone.Nodes)
	}
	if past := gone.Nodes[0].Past; len(past) == 0 || past[len(past)-1].Event.String() != "left" {
		t.Errorf("its past is %+v", past)
	}
}
