package core

import (
	"testing"

	"rockpool/backend/internal/core/fleet"
)

func TestPlacement_LastsAsLongAsItIsRenewed(t *testing.T) {
	w := script(t, origin("o1", "pool-1", 1, 1))
	spec := w.stream("live/1")
	spec.TTLMs = 30_000
	w.granted(spec)
	for range 10 {
		w.beat(29_000)
		if v, lasts := w.d.Renew(w.now, spec.ID, 0, w.pending); !lasts || v.Row.ExpiresAt != w.now+30_000 {
			t.Fatalf("renewed at %d: %+v", w.now, v.Row)
		}
		w.commit()
	}
	if v, _ := w.d.Renew(w.now, spec.ID, 10_000, w.pending); v.Row.ExpiresAt != w.now+10_000 {
		t.Fatalf("a shorter time: %+v", v.Row)
	}
	w.commit()
	if pending := w.d.timers.agenda.Len(); pending > 20 {
		t.Errorf("%d timers", pending)
	}
	waits := w.spec("a1", 1)
	waits.Role = "origin"
	w.submit(waits, "")
	w.beat(9_000)
	w.commit()
	w.wantPlacement(spec.ID, fleet.PlacementActive)
	w.beat(2_000)
	w.commit()
	w.wantPlacement(spec.ID, fleet.PlacementExpired)
	w.wantRow(waits.ID, fleet.JobOffered, "", 1, 0, "o1") // its slot woke what waited
	if _, lasts := w.d.Renew(w.now, spec.ID, 0, w.pending); lasts {
		t.Error("an expired one was renewed")
	}
}

// While nobody listened, nobody could renew.
func TestPlacement_IsSparedAfterAStandstill(t *testing.T) {
	for name, stand := range map[string]func(*world){
		"frozen":    func(w *world) { w.now += 900_000; w.after() },
		"restarted": func(w *world) { w.now += 900_000; w.restartServer() },
	} {
		t.Run(name, func(t *testing.T) {
			w := script(t, origin("o1", "pool-1", 1, 4))
			long, short := w.stream("live/1"), w.stream("live/2")
			short.TTLMs = 10_000
			w.granted(long)
			w.granted(short)
			stand(w)
			v, _, _ := w.d.LivePlacement(long.ID)
			if v.Row.ExpiresAt != w.now+60_000 {
				t.Errorf("it is shown to last until %d, now %d", v.Row.ExpiresAt, w.now)
			}
			w.join(w.agents[0])
			w.beat(9_000)
			w.commit()
			w.wantPlacement(short.ID, fleet.PlacementActive)
			w.beat(2_000)
			w.commit()
			w.wantPlacement(short.ID, fleet.PlacementExpired)
			w.beat(48_000)
			w.wantPlacement(long.ID, fleet.PlacementActive)
			w.beat(2_000)
			w.commit()
			w.wantPlacement(long.ID, fleet.PlacementExpired)
		})
	}
}

func TestPlacement_IsLostWithItsNodeAndItsKeyGetsAnother(t *testing.T) {
	for name, lose := range map[string]func(*world){
		"lost": func(w *world) { w.disconnect(w.agents[0]); w.beat(100_000) },
		"left": func(w *world) {
			w.d.Goodbye(w.now, Session{Node: "o1", Epoch: w.agents[0].epoch}, GoodbyeLeft, w.pending)
			w.after()
		},
		"revoked": func(w *world) { w.d.RevokeNode(w.now, w.gone("o1"), "", w.pending); w.after() },
	} {
		t.Run(name, func(t *testing.T) {
			w := script(t, origin("o1", "pool-1", 1, 4), origin("o2", "pool-1", 1, 3))
			first := w.stream("live/1")
			w.granted(first)
			lose(w)
			// The end and the next one of the key stand in one batch.
			placed := w.place(w.stream("live/1"))
			if placed.Existing || placed.View.Spec.ID == first.ID || placed.View.Row.Nodes[0].Node != "o2" {
				t.Fatalf("the next use: %+v", placed)
			}
			w.commit()
			w.wantPlacement(first.ID, fleet.PlacementLost)
			w.wantPlacement(placed.View.Spec.ID, fleet.PlacementActive)
			if got := w.store.nodes["o1"].reserved; got != 0 {
				t.Errorf("%d slots leak", got)
			}
		})
	}
}

func TestPlacement_OneLostNodeLosesTheWhole(t *testing.T) {
	w := script(t, origin("o1", "pool-1", 1, 4), origin("o2", "pool-1", 1, 4))
	spec := w.placementSpec("a1", "origin", "both", 2, 2)
	w.granted(spec)
	w.d.LeaveNode(w.now, w.gone("o2"), "sold", w.pending)
	w.after()
	w.commit()
	w.wantPlacement(spec.ID, fleet.PlacementLost)
	if got := w.store.nodes["o1"].reserved; got != 0 {
		t.Errorf("%d slots leak on the other node", got)
	}
}

func TestPlacement_ReleasedOnce(t *testing.T) {
	w := script(t, origin("o1", "pool-1", 1, 1))
	spec := w.stream("live/1")
	w.granted(spec)
	for i := range 3 { // before the commit, too
		if v, lasted := w.d.Release(w.now, spec.ID, w.pending); !lasted || v.Row.State != fleet.PlacementReleased {
			t.Fatalf("release %d: %+v", i, v)
		}
	}
	if len(w.pending.Reservations) != 1 || len(w.pending.Placements) != 1 {
		t.Fatalf("the batch %+v", w.pending)
	}
	w.commit()
	w.wantPlacement(spec.ID, fleet.PlacementReleased)
	if _, lasted := w.d.Release(w.now, spec.ID, w.pending); lasted {
		t.Error("it lasts")
	}
}
