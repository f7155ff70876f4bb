package core

import (
	"fmt"
	"slices"
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

func origin(id, pool string, owner, slots int64) fleet.NodeRecord {
	rec := record(id, pool, owner, slots)
	rec.Role = "origin"
	return rec
}

// place asks, and commits what came of it.
func (w *world) place(spec *fleet.PlacementSpec) Placed {
	placed := w.d.Place(w.now, PlacementAsk{Spec: spec}, w.pending)
	w.after()
	w.commit()
	return placed
}

// granted is place of what must be placed, and gives its nodes.
func (w *world) granted(spec *fleet.PlacementSpec) (nodes []string) {
	placed := w.place(spec)
	if placed.View.Spec == nil {
		w.fail("%+v was not placed: %+v, decision %+v", spec, placed, placed.Exhausted)
	}
	for _, on := range placed.View.Row.Nodes {
		nodes = append(nodes, on.Node)
	}
	return nodes
}

func (w *world) wantPlacement(id ids.JobID, state fleet.PlacementState) {
	if row := w.store.grants.rows[id]; row == nil || row.Row.State != state {
		w.fail("the placement's row is %+v, want %v", row, state)
	}
	if v, _, known := w.d.LivePlacement(id); known == state.Ended() || known && v.Row.State != state {
		w.fail("in memory it is %+v (%v), want %v", v.Row, known, state)
	}
}

func (w *world) stream(key string) *fleet.PlacementSpec {
	return w.placementSpec("a1", "origin", key, 1, 1)
}

func TestPlacement_AStreamsThousandRequestsGetOneOrigin(t *testing.T) {
	w := script(t, origin("o1", "pool-1", 1, 4), origin("o2", "pool-1", 1, 4))
	first := w.stream("live/1")
	if on := w.granted(first); !slices.Equal(on, []string{"o1"}) {
		t.Fatalf("on %v", on)
	}
	for range 999 {
		placed := w.place(w.stream("live/1"))
		if !placed.Existing || placed.View.Spec.ID != first.ID || placed.View.Row.Nodes[0].Node != "o1" {
			t.Fatalf("another placement: %+v", placed)
		}
	}
	if got := w.store.nodes["o1"].reserved; got != 1 || len(w.store.grants.rows) != 1 {
		t.Fatalf("%d slots are reserved, %d rows", got, len(w.store.grants.rows))
	}
	if on := w.granted(w.stream("live/2")); on[0] != "o2" {
		t.Fatalf("the emptier one was not chosen: %v", on)
	}
	// Another role and another app have keys of their own.
	if placed := w.place(w.placementSpec("a1", "edge", "live/1", 0, 1)); placed.Existing || placed.Exhausted == nil {
		t.Fatalf("another role: %+v", placed)
	}
}

func TestPlacement_DrainedOriginSaysSoAndTheNextKeyGoesElsewhereInThePool(t *testing.T) {
	w := script(t, origin("o1", "pool-1", 1, 4), origin("o2", "pool-1", 1, 2), origin("x", fleet.PoolDefault, 0, 64))
	first := w.stream("live/1")
	w.granted(first)
	w.drain("o1", w.now+1000)
	w.commit()
	w.wantPlacement(first.ID, fleet.PlacementDraining)
	if placed := w.place(w.stream("live/1")); placed.View.Spec.ID != first.ID || placed.View.Row.State != fleet.PlacementDraining {
		t.Fatalf("the stream left its origin: %+v", placed)
	}
	if on := w.granted(w.stream("live/2")); on[0] != "o2" {
		t.Fatalf("the next key is on %v", on)
	}
	w.beat(20_000) // past the drain's deadline
	w.commit()
	w.wantPlacement(first.ID, fleet.PlacementDraining)
	w.drain("o2", 0)
	if placed := w.place(w.stream("live/3")); placed.Exhausted == nil || placed.Exhausted.Pools[0].Rejected[fleet.Draining] != 2 {
		t.Fatalf("with all origins drained: %+v", placed)
	}
	if a := w.lasting(fleet.AlarmPoolExhausted); a.App != "a1" || a.Role != "origin" || a.Pool != "pool-1" || a.Detail != "0 of 2 nodes can take it: 2 draining" {
		t.Fatalf("the alarm %+v", a)
	}
	w.undrain("o1")
	w.commit()
	w.wantPlacement(first.ID, fleet.PlacementActive)
	w.granted(w.stream("live/3"))
	if a := w.lasting(fleet.AlarmPoolExhausted); a.ID != 0 {
		t.Fatalf("after the next success it lasts: %+v", a)
	}
}

func TestPlacement_EdgesAreDistinctAllOrNoneOfOnePool(t *testing.T) {
	var nodes []fleet.NodeRecord
	for i, pool := range []string{"pool-1", "pool-1", "other", "other", "other", fleet.PoolDefault} {
		rec := record(fmt.Sprint("e", i), pool, 0, int64(1+i))
		rec.Role = "edge"
		nodes = append(nodes, rec)
	}
	w := script(t, nodes...)
	w.bind("a1", 1, fleet.Binding{Pools: []string{"pool-1", "other"}, AllowFallback: true})
	edges := func(count int32) *fleet.PlacementSpec { return w.placementSpec("a1", "edge", "", 1, count) }
	for count, want := range map[int32][]string{1: {"e1"}, 2: {"e1", "e0"}, 3: {"e4", "e3", "e2"}} {
		spec := edges(count)
		if on := w.granted(spec); !slices.Equal(on, want) {
			t.Errorf("%d edges are %v, want %v", count, on, want)
		}
		w.d.Release(w.now, spec.ID, w.pending)
		w.after()
		w.commit()
		w.wantPlacement(spec.ID, fleet.PlacementReleased)
	}
	none := w.place(edges(4))
	if none.Exhausted == nil || len(none.Exhausted.Pools) != 3 || len(w.d.placed) != 0 {
		t.Fatalf("four edges of three: %+v", none)
	}
	const words = "pool-1: 2 of 2 nodes can take it; more are wanted; other: 3 of 3 nodes can take it; more are wanted; default: 1 of 1 node can take it; more are wanted"
	if got := none.Exhausted.Refusal(); got != words {
		t.Errorf("in words: %s", got)
	}
	for _, n := range w.store.nodes {
		if n.reserved != 0 {
			t.Errorf("%s keeps %d slots", n.rec.ID, n.reserved)
		}
	}
}

func TestPlacement_ByFallbackLeavesARecord(t *testing.T) {
	w := script(t, origin("shared", fleet.PoolDefault, 0, 4))
	spec := w.stream("live/1")
	placed := w.d.Place(w.now, PlacementAsk{Spec: spec}, w.pending)
	f := w.pending.Fallbacks
	if len(f) != 1 || f[0].Job != spec.ID || f[0].Attempt != 0 || f[0].Node != "shared" || !slices.Equal(f[0].From, []string{"pool-1"}) || !placed.View.Row.Fallback {
		t.Fatalf("records %+v, row %+v", f, placed.View.Row)
	}
	if a := w.lasting(fleet.AlarmPoolExhausted); a.ID != 0 {
		t.Fatalf("a fallback raised %+v", a)
	}
}

// The node of a stream is in the old pool when its app is bound to another: the
// stream stays until it ends, and nothing new goes there.
func TestCase_A2_ThePlacementOfAKeyDoesNotOpenItsOldPool(t *testing.T) {
	w := script(t, origin("old", "pool-1", 1, 4))
	first := w.stream("live/1")
	w.granted(first)
	w.bind("a1", 1, fleet.Binding{Pools: []string{"other"}})
	if placed := w.place(w.stream("live/1")); !placed.Existing || placed.View.Row.Nodes[0] != (fleet.PlacedOn{Node: "old", Pool: "pool-1"}) {
		t.Fatalf("running work did not stay: %+v", placed)
	}
	refused := func(key string) {
		t.Helper()
		placed := w.place(w.stream(key))
		if placed.Exhausted == nil || len(placed.Exhausted.Pools) != 1 || placed.Exhausted.Pools[0].Pool != "other" {
			t.Fatalf("%s: %+v", key, placed)
		}
	}
	refused("live/2")
	w.d.Release(w.now, first.ID, w.pending)
	w.after()
	w.commit()
	refused("live/1") // the key's last node is no shortcut
	w.pass(lookPause)
	if a := w.lasting(fleet.AlarmPoolExhausted); a.Pool != "other" || a.Count != 2 {
		t.Fatalf("the alarm %+v", a)
	}
}

func TestCase_A1_AMovedNodeKeepsItsPlacements(t *testing.T) {
	w := script(t, origin("o1", "pool-1", 1, 4))
	spec := w.stream("live/1")
	w.granted(spec)
	w.move("o1", func(r *fleet.NodeRecord) { r.Pool = "other" })
	w.commit()
	w.wantPlacement(spec.ID, fleet.PlacementActive)
	if on := w.store.grants.rows[spec.ID].Row.Nodes[0]; on.Pool != "pool-1" {
		t.Fatalf("it was placed in %s", on.Pool)
	}
	if v, lasts := w.d.Renew(w.now, spec.ID, 0, w.pending); !lasts || v.Row.State != fleet.PlacementActive {
		t.Fatalf("renewed: %+v", v)
	}
	w.commit()
	if placed := w.place(w.stream("live/2")); placed.Exhausted == nil {
		t.Fatalf("a new one followed the node: %+v", placed)
	}
}

// thirty days, in milliseconds
const thirtyDays = fleet.Time(30 * 24 * 3_600_000)

func TestCase_N34_APlacementOfThirtyDaysSurvivesARestart(t *testing.T) {
	w := script(t, origin("o1", "pool-1", 1, 4))
	w.now += thirtyDays
	w.after()
	old := w.stream("live/1")
	w.store.grants.rows[old.ID] = &OpenPlacement{Spec: old, Row: PlacementRow{
		State: fleet.PlacementActive, Nodes: []fleet.PlacedOn{{Node: "o1", Pool: "pool-1"}},
		CreatedAt: w.now - thirtyDays, ExpiresAt: w.now + 120_000,
	}}
	w.store.nodes["o1"].reserved = 1
	w.restartServer()
	w.wantPlacement(old.ID, fleet.PlacementActive)
	w.join(w.agents[0])
	if got := w.d.nodes["o1"].slot.Reserved().Slots; got != 1 {
		t.Fatalf("%d slots are reserved", got)
	}
	if placed := w.place(w.stream("live/1")); placed.View.Spec.ID != old.ID {
		t.Fatalf("the stream moved: %+v", placed)
	}
	w.beat(115_000)
	w.commit()
	w.wantPlacement(old.ID, fleet.PlacementActive)
	w.beat(10_000)
	w.commit()
	w.wantPlacement(old.ID, fleet.PlacementExpired)
}

func TestPlacement_ZeroSlotsFitOnAFullNode(t *testing.T) {
	w := script(t, origin("o1", "pool-1", 1, 1))
	w.granted(w.stream("live/1"))
	if on := w.granted(w.placementSpec("a1", "origin", "", 0, 1)); on[0] != "o1" {
		t.Fatalf("on %v", on)
	}
	if placed := w.place(w.stream("live/2")); placed.Exhausted == nil || placed.Exhausted.Pools[0].Rejected[fleet.NoSlots] != 1 {
		t.Fatalf("a slot on a full node: %+v", placed)
	}
}

func TestPlacement_BoundsOfTheAppsShare(t *testing.T) {
	w := script(t, origin("o1", "pool-1", 1, 9), record("n1", "pool-1", 1, 9))
	share := func(s fleet.Share) { w.d.PutApp(w.now, fleet.App{ID: "a1", Owner: 1, Share: s}, w.pending) }
	share(fleet.Share{MaxPlacements: 2})
	w.granted(w.stream("live/1"))
	second := w.stream("live/2")
	w.granted(second)
	if placed := w.place(w.stream("live/3")); placed.Over != "placements" {
		t.Fatalf("the third of two: %+v", placed)
	}
	if placed := w.place(w.stream("live/2")); !placed.Existing {
		t.Fatalf("at the bound a key has lost its own: %+v", placed)
	}
	w.d.Release(w.now, second.ID, w.pending)
	w.commit()
	w.granted(w.stream("live/3"))
	// Its jobs' slots count with those of placements.
	share(fleet.Share{MaxSlots: 5})
	w.run(w.spec("a1", 2), w.agents[1])
	if placed := w.place(w.placementSpec("a1", "origin", "", 2, 1)); placed.Over != "slots" {
		t.Fatalf("six slots of five: %+v", placed)
	}
	w.granted(w.placementSpec("a1", "origin", "", 1, 1))
	w.granted(w.placementSpec("a1", "origin", "", 0, 1)) // none is none too many
	if a := w.lasting(fleet.AlarmPoolExhausted); a.ID != 0 {
		t.Fatalf("a bound raised %+v", a)
	}
}

func TestPlacement_EveryRoleStaysInItsPools(t *testing.T) {
	for _, role := range []string{"edge", "forward", "origin", "recorder", "standalone", "worker", "probe-8k"} {
		mine, foreign := record("mine", "pool-1", 1, 1), record("foreign", fleet.PoolDefault, 0, 64)
		mine.Role, foreign.Role = role, role
		w := script(t, mine, foreign)
		if on := w.granted(w.placementSpec("a1", role, "", 1, 1)); on[0] != "mine" {
			t.Errorf("%s: on %v", role, on)
		}
		if placed := w.place(w.placementSpec("a1", role, "", 1, 1)); placed.Exhausted == nil {
			t.Errorf("%s left its pool: %+v", role, placed.View.Row)
		}
	}
}
