package core

import (
	"slices"
	"testing"

	"rockpool/backend/internal/core/fleet"
)

func TestNodePast_RemembersWhatHappenedAndWhatWaits(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 4))
	spec := w.spec("a1", 3)
	w.submit(spec, "")
	w.commit()
	a := w.agents[0]
	w.d.Accept(w.now, a.session(), Attempt{Job: spec.ID, Attempt: 1}, w.pending)
	w.after()
	w.commit()
	large := w.spec("a1", 2)
	w.submit(large, "")
	for range 3 {
		w.submit(w.spec("a1", 2), "") // of the same kind: told once
	}
	w.commit()
	rec := *w.d.nodes["n1"].rec
	rec.Version++
	rec.Holds = []fleet.Hold{{Kind: fleet.HoldCordon, Owner: fleet.OwnerOperator, Actor: "ada", Reason: "disk"}}
	w.d.PutNode(w.now, rec, w.pending)
	w.after()
	w.d.Heartbeat(w.now, a.session(), HeartbeatEvent{Accepting: true, Healthy: true, RoundTripMs: 14, Running: []Running{{Job: spec.ID, Attempt: 1, Phase: PhaseRunning}}}, w.pending)
	w.after()
	past := w.d.NodePast(w.now, "n1")
	if past.RoundTripMs != 14 {
		t.Errorf("a round trip of %d ms", past.RoundTripMs)
	}
	if len(past.Chosen) != 1 || past.Chosen[0].Job != spec.ID || past.Chosen[0].Free != 4 {
		t.Errorf("it was chosen for %+v", past.Chosen)
	}
	if past.ChosenTimes != 1 || past.ChosenSince != 0 {
		t.Errorf("it was chosen %d times since %d", past.ChosenTimes, past.ChosenSince)
	}
	if len(past.Rejected) != 1 || past.Rejected[0].Spec.ID != large.ID || !slices.Equal(past.Rejected[0].Reasons, []fleet.Reason{fleet.Cordoned, fleet.NoSlots}) {
		t.Errorf("it rejects %+v", past.Rejected)
	}
	var kinds []NodeEventKind
	for _, e := range past.Events {
		kinds = append(kinds, e.Kind)
	}
	if want := []NodeEventKind{NodeHeld, NodeStarted, NodeOpened}; !slices.Equal(kinds, want) || past.Events[0].Detail != "cordon, ada: disk" {
		t.Errorf("the events are %+v", past.Events)
	}
	if unknown := w.d.NodePast(w.now, "nobody"); len(unknown.Events) != 0 || unknown.OpenedAt != 0 {
		t.Errorf("of a node that there is not: %+v", unknown)
	}
}

func TestRecent_KeepsTheNewest(t *testing.T) {
	var r recent[int]
	for i := range 7 {
		r.add(i, 3)
	}
	if got := r.list(); !slices.Equal(got, []int{6, 5, 4}) {
		t.Errorf("it keeps %v", got)
	}
}

// Each hour counts for a day, whatever comes or does not come in between.
func TestHourly_SumsADay(t *testing.T) {
	var h hourly
	for i := range fleet.Time(30) {
		h.add(i*hour + 5)
		if sum, since := h.day(i*hour + 6); sum != int64(min(i+1, 25)) || since != max(0, i-24)*hour {
			t.Fatalf("in hour %d: %d since %d", i, sum, since)
		}
	}
	for gap, want := range map[fleet.Time]int64{29: 25, 30: 24, 52: 2, 53: 1, 54: 0, 500: 0} {
		if sum, _ := h.day(gap * hour); sum != want {
			t.Errorf("in hour %d: %d, want %d", gap, sum, want)
		}
	}
}
