package store_test

import (
	"testing"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store/storetest"
)

// A seat is counted as the license counts its nodes: who has left has none.
func TestNodeFacts_CountTheSeats(t *testing.T) {
	db := storetest.New(t)
	ada := storetest.InsertUser(t, db)
	license := storetest.InsertLicense(t, db, ada.ID, 9)
	for _, id := range []string{"c", "a", "b"} {
		if _, err := register(db, license.ID, id, storetest.Sum()); err != nil {
			t.Fatal(err)
		}
	}
	wantSeats := func(want map[string]int64) {
		t.Helper()
		for id, seat := range want {
			if facts, err := db.NodeFacts(ctx, id); err != nil || facts != (record.NodeFacts{Seat: seat, Seats: 9}) {
				t.Errorf("%s has %+v, %v", id, facts, err)
			}
		}
	}
	wantSeats(map[string]int64{"c": 1, "a": 2, "b": 3})
	if _, err := db.LeaveNode(ctx, storetest.Actor, "a", ""); err != nil {
		t.Fatal(err)
	}
	wantSeats(map[string]int64{"c": 1, "a": 0, "b": 2})
	_, err := db.NodeFacts(ctx, "nobody")
	wantCode(t, err, fleet.CodeNotFound)
}

// A job is passed by later ones of its app that were placed in the pool, unless
// theirs was the higher priority.
func TestPassed_CountsLaterJobsThatWerePlaced(t *testing.T) {
	h := newHouse(t, storetest.Slots(8))
	e := &core.Effects{}
	for i, spec := range h.submit(e, 6) {
		switch i {
		case 1: // it waits
			e.Inserts[i].Row = core.JobRow{State: fleet.JobQueued, Cause: fleet.CausePoolExhausted, Decision: e.Inserts[i].Row.Decision}
		case 2:
			spec.Priority++
		case 3:
			spec.Priority--
		}
	}
	e.Reservations = append(e.Reservations[:1], e.Reservations[2:]...)
	h.commit(e)
	waiting, err := h.db.Job(ctx, e.Inserts[1].Spec.ID, record.Scope{})
	h.must(err)
	passed, err := h.db.Passed(ctx, &waiting, h.node.Pool)
	if err != nil || passed.Jobs != 3 || passed.At == nil {
		t.Errorf("passed by %+v, %v", passed, err)
	}
	if none, err := h.db.Passed(ctx, &waiting, fleet.PoolDefault); err != nil || none != (record.Passed{}) {
		t.Errorf("in another pool by %+v, %v", none, err)
	}
}
