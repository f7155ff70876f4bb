package core

import (
	"slices"
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// The store moves a node before the core hears of it: the whole placement goes
// elsewhere, and others of its batch are not touched.
func TestPlacement_RefusedByTheDatabaseGoesElsewhereWhole(t *testing.T) {
	w := script(t, origin("o1", "pool-1", 1, 9), origin("o2", "pool-1", 1, 8), origin("o3", "pool-1", 1, 7), origin("o4", "pool-1", 1, 6), record("n1", "pool-1", 1, 1))
	w.store.nodes["o1"].rec.Pool = "other"
	two, job := w.placementSpec("a1", "origin", "both", 1, 2), w.spec("a1", 1)
	w.submit(job, "")
	placed := w.d.Place(w.now, PlacementAsk{Spec: two, IdempotencyKey: "key"}, w.pending)
	if placed.View.Row.Nodes[0].Node != "o1" {
		t.Fatalf("placed on %+v", placed.View.Row.Nodes)
	}
	w.commit()
	w.wantRow(job.ID, fleet.JobOffered, "", 1, 0, "n1")
	again := placementIn(w.pending, two.ID)
	if again == nil || !again.New || again.IdempotencyKey != "key" || w.store.grants.rows[two.ID] != nil {
		t.Fatalf("it is not placed again: %+v", again)
	}
	if v, kept, known := w.d.LivePlacement(two.ID); !known || kept || v.Row.Nodes[0].Node != "o3" || v.Row.Nodes[1].Node != "o4" {
		t.Fatalf("on its way: %+v", v.Row)
	}
	w.commit()
	w.wantPlacement(two.ID, fleet.PlacementActive)
	if w.store.nodes["o2"].reserved != 0 {
		t.Error("the first choice's other node keeps its slot")
	}
}

func TestPlacement_RefusedByANodeThatIsNamedKeepsTheOthers(t *testing.T) {
	w := script(t, origin("o1", "pool-1", 1, 9), origin("o2", "pool-1", 1, 8), origin("o3", "pool-1", 1, 7))
	spec := w.placementSpec("a1", "origin", "", 1, 2)
	w.d.Place(w.now, PlacementAsk{Spec: spec}, w.pending)
	w.start()
	batch := w.inFlight
	w.inFlight = nil
	w.d.Committed(w.now, batch, []Refusal{{Job: spec.ID, Node: "o1", Why: RefusedAssignment}}, w.pending)
	w.after()
	w.commit()
	if on := w.store.grants.rows[spec.ID].Row.Nodes; on[0].Node != "o2" || on[1].Node != "o3" {
		t.Fatalf("on %+v", on)
	}
}

func TestPlacement_RefusedEverywhereIsToldWithItsReasons(t *testing.T) {
	w := script(t, origin("o1", "pool-1", 1, 1), origin("o2", "pool-1", 1, 1))
	for _, n := range w.store.nodes {
		n.rec.Holds = []fleet.Hold{{Kind: fleet.HoldCordon, Owner: fleet.OwnerOperator}}
	}
	spec := w.stream("live/1")
	w.place(spec)
	w.start()
	w.finish(0)
	told := w.pending.Unplaced
	if len(told) != 1 || told[0].ID != spec.ID || told[0].Decision.Pools[0].Rejected[fleet.Excluded] != 2 {
		t.Fatalf("told %+v", told)
	}
	if _, _, known := w.d.LivePlacement(spec.ID); known || w.d.Totals() != (Totals{}) {
		t.Errorf("something is left: %+v", w.d.Totals())
	}
	if a := w.lasting(fleet.AlarmPoolExhausted); a.ID == 0 {
		t.Error("no alarm")
	}
}

func TestPlacement_RefusedIdempotencyLeavesNothing(t *testing.T) {
	w := script(t, origin("o1", "pool-1", 1, 4))
	for i, want := range []int64{1, 1} {
		spec := w.placementSpec("a1", "origin", "", 1, 1)
		w.d.Place(w.now, PlacementAsk{Spec: spec, IdempotencyKey: "key"}, w.pending)
		w.after()
		w.commit()
		if got := w.d.nodes["o1"].slot.Reserved().Slots; got != want || w.store.nodes["o1"].reserved != want {
			t.Fatalf("ask %d: %d reserved", i, got)
		}
	}
}

// Lost, drained or released while its first commit is on its way.
func TestPlacement_EndsWhileItsCommitIsUnderWay(t *testing.T) {
	for _, taken := range []bool{true, false} {
		w := script(t, origin("o1", "pool-1", 1, 4), origin("o2", "pool-1", 1, 1))
		spec := w.stream("live/1")
		w.d.Place(w.now, PlacementAsk{Spec: spec}, w.pending)
		w.start()
		if !taken {
			w.store.nodes["o1"].rec.Pool = "other"
		}
		gone := w.store.nodes["o1"].rec // the database has that after the placement
		gone.Left = true
		w.d.RevokeNode(w.now, gone, "", w.pending)
		w.after()
		w.finish(0)
		unplaced := w.pending.Unplaced
		w.commit()
		row := w.store.grants.rows[spec.ID]
		switch {
		case taken && (row == nil || row.Row.State != fleet.PlacementLost):
			t.Errorf("the row is %+v", row)
		case !taken && (row != nil || len(unplaced) != 1 || unplaced[0].Decision != nil):
			t.Errorf("refused and lost: row %+v, told %+v", row, unplaced)
		}
		if w.store.nodes["o1"].reserved != 0 || w.d.Totals() != (Totals{}) {
			t.Errorf("something is left: %+v", w.d.Totals())
		}
	}
}

// A node that goes before anything is handed to the database is not the answer.
func TestPlacement_ItsNodeGoesBeforeAnybodyHeardOfIt(t *testing.T) {
	for name, gone := range map[string]func(*world){
		"revoked": func(w *world) { w.d.RevokeNode(w.now, w.gone("o1"), "", w.pending) },
		"drained": func(w *world) { w.drain("o1", 0) },
	} {
		w := script(t, origin("o1", "pool-1", 1, 4), origin("o2", "pool-1", 1, 1))
		spec := w.stream("live/1")
		w.d.Place(w.now, PlacementAsk{Spec: spec}, w.pending)
		gone(w)
		w.after()
		w.commit()
		if row := w.store.grants.rows[spec.ID]; row == nil || row.Row.Nodes[0].Node != "o2" || row.Row.State != fleet.PlacementActive {
			t.Errorf("%s: the row is %+v", name, row)
		}
	}
}

func TestTryPlace_HasNoEffect(t *testing.T) {
	w := script(t, origin("o1", "pool-1", 1, 4), origin("o2", "pool-1", 1, 9))
	before := stateOf(w.d)
	c := w.d.TryPlace(w.now, w.placementSpec("a1", "origin", "live/1", 1, 2))
	none := w.d.TryPlace(w.now, w.placementSpec("a1", "origin", "live/1", 1, 3))
	if c.Decision.Node != "o2" || len(c.Nodes) != 2 || none.Decision.Node != "" || none.Decision.Outcome == fleet.OutcomePlaced {
		t.Fatalf("candidates %+v, none %+v", c.Decision, none.Decision)
	}
	if after := stateOf(w.d); after != before {
		t.Errorf("memory has changed")
	}
}

func TestChanged_ShowsPlacementsAndTheirEnds(t *testing.T) {
	w := script(t, origin("o1", "pool-1", 1, 4))
	since := w.d.Rev()
	spec, other := w.stream("live/1"), w.stream("live/2")
	w.granted(spec)
	w.granted(other)
	changed := func() (states []fleet.PlacementState) {
		c := w.d.Changed(w.now, since, true)
		since = c.Rev
		for _, p := range c.Placements {
			states = append(states, p.Row.State)
		}
		return states
	}
	if got := changed(); !slices.Equal(got, []fleet.PlacementState{fleet.PlacementActive, fleet.PlacementActive}) {
		t.Fatalf("two new ones: %v", got)
	}
	impact := w.d.Impact(w.now, Proposal{Kind: ProposeHold, Nodes: []string{"o1"}})
	if v := w.d.nodes["o1"].view(); !slices.Equal(v.Placements, []ids.JobID{spec.ID, other.ID}) || impact.Placements != 2 {
		t.Fatalf("the node shows %v, a dry run %d", v.Placements, impact.Placements)
	}
	w.d.Release(w.now, spec.ID, w.pending)
	w.commit()
	if got := changed(); !slices.Equal(got, []fleet.PlacementState{fleet.PlacementReleased}) {
		t.Fatalf("an end: %v", got)
	}
	if got := changed(); len(got) != 0 {
		t.Fatalf("nothing: %v", got)
	}
	for range endsKept + 1 {
		short := w.stream("")
		w.granted(short)
		w.d.Release(w.now, short.ID, w.pending)
		w.after()
		w.commit()
	}
	if c := w.d.Changed(w.now, since, true); !c.WholePlacements || len(c.Placements) != 1 || c.Placements[0].Spec.ID != other.ID {
		t.Fatalf("after more ends than are kept: whole %v, %d", c.WholePlacements, len(c.Placements))
	}
}
