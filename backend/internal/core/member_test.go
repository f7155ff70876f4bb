package core

import (
	"testing"

	"rockpool/backend/internal/core/fleet"
)

// What an operator ended and somebody registered again since, in the order in which
// the core hears of it, or after a load that had it all: the node is in the fleet, its
// owner has a node of their own, and nothing of theirs falls back to default.
func TestNode_RegisteredAgainStaysWhenItsEndIsHeardOfLate(t *testing.T) {
	put := func(w *world, rec fleet.NodeRecord) { w.d.PutNode(w.now, rec, w.pending) }
	for name, end := range map[string]func(w *world, rec fleet.NodeRecord){
		"revoked": func(w *world, rec fleet.NodeRecord) { w.d.RevokeNode(w.now, rec, "stolen", w.pending) },
		"left":    func(w *world, rec fleet.NodeRecord) { w.d.LeaveNode(w.now, rec, "sold", w.pending) },
		"changed": put,
	} {
		for order, hear := range map[string]func(w *world, moved, gone, back fleet.NodeRecord){
			"in order":      func(w *world, moved, gone, back fleet.NodeRecord) { put(w, moved); end(w, gone); put(w, back) },
			"its end last":  func(w *world, moved, gone, back fleet.NodeRecord) { put(w, moved); put(w, back); end(w, gone) },
			"its move last": func(w *world, moved, gone, back fleet.NodeRecord) { end(w, gone); put(w, back); put(w, moved) },
			"after a load":  func(w *world, _, gone, _ fleet.NodeRecord) { w.reload(); w.after(); end(w, gone) },
			"all of it, and late": func(w *world, moved, gone, back fleet.NodeRecord) {
				w.reload()
				w.after()
				end(w, gone)
				put(w, back)
				put(w, moved)
			},
		} {
			w := script(t, record("n1", "pool-1", 1, 1), record("shared", fleet.PoolDefault, 0, 1))
			n := w.store.nodes["n1"]
			n.rec.Pool = "other"
			moved := n.written()
			gone := w.gone("n1")
			n.rec.Left = false
			hear(w, moved, gone, n.written())
			w.after()
			spec := w.spec("a1", 1)
			w.submit(spec, "")
			w.commit()
			if row := w.store.jobs[spec.ID].row; row.State != fleet.JobQueued {
				t.Errorf("%s, %s: its owner's work is %v on %q", name, order, row.State, row.Node)
			}
			w.disconnect(w.agents[0])
			w.join(w.agents[0])
			if rec := w.d.nodes["n1"].rec; rec.Left || rec.Pool != "other" || w.store.nodes["n1"].rec.Left {
				t.Errorf("%s, %s: the node is %+v", name, order, rec)
			}
		}
	}
}

// A change of before its end, heard of after that, does not bring it back.
func TestNode_ThatLeftStaysAwayWhenAnEarlierChangeIsHeardOfLate(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	n := w.store.nodes["n1"]
	n.rec.Pool = "other"
	moved := n.written()
	w.d.RevokeNode(w.now, w.gone("n1"), "stolen", w.pending)
	w.d.PutNode(w.now, moved, w.pending)
	w.after()
	if is := w.d.nodes["n1"]; !is.rec.Left || is.lease.State != fleet.LeaseLeft || w.d.owners[1] != 0 {
		t.Fatalf("the node is %v: %+v", is.lease.State, is.rec)
	}
}

// A node that left and registered again stays in the fleet, also when everything is
// loaded anew before its next session.
func TestNode_RegisteredAgainStaysThoughTheFleetIsLoadedAnew(t *testing.T) {
	for _, heard := range []bool{true, false} {
		w := script(t, record("n1", "pool-1", 1, 1))
		w.store.nodes["n1"].rec.Left = true
		w.store.nodes["n1"].rec.Version++
		w.disconnect(w.agents[0])
		w.d.LeaveNode(w.now, w.gone("n1"), "", w.pending)
		w.after()
		w.commit()
		if heard {
			w.move("n1", func(r *fleet.NodeRecord) { r.Left = false })
		} else {
			w.store.nodes["n1"].rec.Left = false
			w.store.nodes["n1"].rec.Version++
		}
		w.reload()
		w.after()
		w.commit()
		if rec := w.store.nodes["n1"].rec; rec.Left {
			t.Fatalf("heard of %v: it was taken out again: %+v", heard, rec)
		}
		w.join(w.agents[0])
		spec := w.spec("a1", 1)
		w.submit(spec, "")
		w.commit()
		w.wantRow(spec.ID, fleet.JobOffered, "", 1, 0, "n1")
	}
}

// A lost node says hello, and breaks off before that is committed. Its work's end was
// not stored either, so it has it again: it is lost once more, and its work goes on.
func TestNode_LostIsLostAgainWithTheWorkThatALoadGivesBack(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1), origin("o1", "pool-1", 1, 1))
	job, stream := w.spec("a1", 1), w.stream("live/1")
	w.run(job, w.agents[0])
	w.granted(stream)
	for _, a := range w.agents {
		w.disconnect(a)
	}
	w.pass(100_000)
	w.start()
	for _, a := range w.agents {
		w.connect(a)
	}
	w.finish(1)
	w.wantRow(job.ID, fleet.JobOffered, "", 1, 0, "n1")
	w.wantPlacement(stream.ID, fleet.PlacementActive)
	for _, a := range w.agents {
		w.disconnect(a)
	}
	w.commit()
	w.pass(100_000)
	w.commit()
	w.wantRow(job.ID, fleet.JobQueued, fleet.CauseNodeLost, 1, 1, "n1")
	w.wantPlacement(stream.ID, fleet.PlacementLost)
}
