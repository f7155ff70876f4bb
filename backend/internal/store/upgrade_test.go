package store_test

import (
	"encoding/json"
	"testing"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/store/storetest"
)

// A node whose record is from before there were pools decides as it does when
// default is written in it, and the database takes both decisions.
func TestNodeWithoutPool_DecidesAsOneOfDefault(t *testing.T) {
	h := newHouse(t, storetest.InPool(fleet.PoolDefault))
	decide := func() string {
		d, batch := core.New(core.Config{Suspect: 25_000, Lost: 90_000, OfferTimeout: 5000}), &core.Effects{}
		d.Load(now(), h.snapshot())
		d.Tick(now(), batch)
		report := h.node.Report
		d.Hello(now(), core.HelloEvent{Node: h.node.ID, Report: &report}, batch)
		h.commit(batch)
		d.Committed(now(), batch, nil, &core.Effects{})
		var said []core.JobRow
		for _, owner := range []int64{0, h.user.ID, 99} {
			spec := storetest.Spec(h.app, storetest.Wall(now()))
			spec.App, spec.Owner, spec.Runner = "stranger", owner, report.Runners[0]
			c := d.Preview(now(), spec)
			c.Decision.At = 0
			said = append(said, core.JobRow{Node: c.Decision.Node, Decision: &c.Decision})
		}
		ours, placed := storetest.Spec(h.app, storetest.Wall(now())), &core.Effects{}
		ours.Pool, ours.Runner = fleet.PoolDefault, report.Runners[0]
		d.Submit(now(), core.JobInsert{Spec: ours}, placed)
		if len(placed.Reservations) != 1 {
			t.Fatalf("not placed: %+v", placed.Inserts)
		}
		h.commit(placed)
		text, err := json.Marshal(said)
		h.must(err)
		return string(text)
	}
	after := decide()
	h.urls.Exec(t, "UPDATE nodes SET pool_id = NULL, reserved_slots = 0, total_slots = slots; DELETE FROM jobs")
	if before := decide(); before != after {
		t.Fatalf("without a pool:\n%s\nin default:\n%s", before, after)
	}
}
