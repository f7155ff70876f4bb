package view

import (
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/view/viewtest"
	"rockpool/shared/ids"
	"rockpool/shared/wire"
)

func origin(id ids.JobID, owner int64, pool string) core.PlacementView {
	return core.PlacementView{
		Spec: &fleet.PlacementSpec{ID: id, App: "chat", Owner: owner, Role: "origin", Key: "stream-1", Count: 1, Demands: fleet.Vector{Slots: 2}},
		Row:  core.PlacementRow{Nodes: []fleet.PlacedOn{{Node: "o1", Pool: pool}}, CreatedAt: 1, ExpiresAt: fleet.Time(2 * time.Hour.Milliseconds())},
	}
}

func (d *desk) keepPlacements(list []wire.PlacementRow) {
	for _, r := range list {
		d.placed[r.ID] = r
	}
}

func (d *desk) placement(id ids.JobID) (wire.PlacementRow, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	row, there := d.placed[id.String()]
	return row, there
}

func TestView_PlacementsComeDrainAndEnd(t *testing.T) {
	bubble(t, func(t *testing.T, stage *viewtest.Stage, v *View) {
		stage.Place(origin(viewtest.JobID(1), 7, "pool-7"))
		d := newDesk(t)
		sub, _ := d.subscribe(v, everybody, wire.TopicPlacements, wire.Filter{})
		defer sub.End()
		sums, _ := d.subscribe(v, everybody, wire.TopicFleet, wire.Filter{})
		defer sums.End()
		row, there := d.placement(viewtest.JobID(1))
		if !there || row.State != "active" || row.Nodes[0] != "o1" || row.Pools[0] != "pool-7" || row.Slots != 2 || row.Left < 59*60_000 {
			t.Errorf("the row is %+v", row)
		}
		p := origin(viewtest.JobID(2), 7, "pool-7")
		stage.Place(p)
		p.Row.State = fleet.PlacementDraining
		pass(time.Second)
		stage.Place(p)
		pass(time.Second)
		if row, _ = d.placement(viewtest.JobID(2)); row.State != "draining" {
			t.Errorf("drained, and %q", row.State)
		}
		p.Row.State, p.Row.EndedAt = fleet.PlacementReleased, stage.Now()
		stage.Place(p)
		pass(time.Second)
		if d.fleet.Placements != 1 {
			t.Errorf("%d placements last, in the sums", d.fleet.Placements)
		}
		if _, there = d.placement(viewtest.JobID(2)); there {
			t.Error("released, and still there")
		}
	})
}

func TestView_PlacementsAreThoseOfTheScope(t *testing.T) {
	seven, eight := int64(7), int64(8)
	for _, c := range []struct {
		name  string
		scope record.Scope
		want  bool
	}{
		{"everybody's", record.Scope{}, true},
		{"the owner's", record.Scope{Owner: &seven}, true},
		{"a stranger's", record.Scope{Owner: &eight}, false},
		{"of its pool", record.Scope{Pools: []string{"pool-7"}}, true},
		{"of another pool", record.Scope{Pools: []string{"gpu"}}, false},
	} {
		p := origin(viewtest.JobID(1), 7, "pool-7")
		if got := seesPlacement(c.scope, &p); got != c.want {
			t.Errorf("%s: seen is %v", c.name, got)
		}
	}
}
