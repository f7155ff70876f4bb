package core

import "testing"

// Only what a node says renews its lease: an answer of the database that comes late
// must not let a silent one get work.
func TestRecalled_IsNoWordOfItsNode(t *testing.T) {
	w := shared(t, nil, record("n1", "pool-1", 0, 1))
	n := w.d.nodes["n1"]
	before := n.lease
	w.now += 5000
	w.d.Recalled(w.now, Recall{Node: "n1", Epoch: n.epoch}, RecalledRow{}, w.pending)
	if n.lease.Heard != before.Heard || n.lease.Seen != before.Seen {
		t.Fatalf("heard at %d and seen at %d, before %d and %d", n.lease.Heard, n.lease.Seen, before.Heard, before.Seen)
	}
	if len(w.pending.Sends) != 1 || w.pending.Sends[0].Kind != SendError {
		t.Fatalf("the node is answered %+v", w.pending.Sends)
	}
}
