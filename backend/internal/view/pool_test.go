package view

import (
	"slices"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/view/viewtest"
	"rockpool/shared/wire"
)

func (d *desk) spark(pool string) []int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pools[pool].Spark
}

func TestView_SparklinesAreAnHourOfTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T, stage *viewtest.Stage, v *View) {
		stage.Put(viewtest.Node("a", 7))
		d := newDesk(t)
		sub, _ := d.subscribe(v, everybody, wire.TopicPools, wire.Filter{})
		defer sub.End()
		queue := func(n int64) { stage.Sums("pool-7", func(p *core.PoolView) { p.Queued = n }) }
		pass(150 * time.Second)
		queue(9)
		pass(time.Second) // the newest point follows live
		if spark := d.spark("pool-7"); !slices.Equal(spark, []int64{0, 0, 9}) {
			t.Errorf("the sparkline is %v", spark)
		}
		quiet := len(d.seen())
		pass(10 * time.Second)
		if n := len(d.seen()) - quiet; n != 0 {
			t.Errorf("%d deltas of pools that did not change", n)
		}
		pass(2 * time.Minute)
		queue(1)
		pass(time.Second)
		if spark := d.spark("pool-7"); !slices.Equal(spark, []int64{0, 0, 9, 9, 1}) {
			t.Errorf("the sparkline is %v", spark)
		}
		pass(2 * time.Hour)
		if spark := d.spark("pool-7"); len(spark) != sparkPoints {
			t.Errorf("%d points", len(spark))
		}
	})
}

func TestView_TheHistoryOfAPoolReachesSixHoursBack(t *testing.T) {
	bubble(t, func(t *testing.T, stage *viewtest.Stage, v *View) {
		stage.Put(viewtest.Node("a", 7))
		if list := v.PoolHistory(t.Context(), "pool-9"); list != nil {
			t.Errorf("a pool that there is not has %v", list)
		}
		pass(90 * time.Second)
		stage.Change("a", func(n *core.NodeView) { n.Free.Slots = 1 })
		list := v.PoolHistory(t.Context(), "pool-7")
		if len(list) != 2 || list[0].Used != 0 || list[1].Used != 3 || list[1].Total != 4 || !list[1].At.Equal(time.Now()) {
			t.Errorf("the history is %+v", list)
		}
		pass(7 * time.Hour)
		list = v.PoolHistory(t.Context(), "pool-7")
		if len(list) != historyPoints+1 || list[1].At.Sub(list[0].At) != time.Minute || time.Since(list[0].At) > 6*time.Hour+time.Minute {
			t.Errorf("%d points from %v on", len(list), list[0].At)
		}
		// A pool that is no more leaves nothing behind.
		stage.Change("a", func(n *core.NodeView) { n.Record.Pool = "pool-8" })
		pass(time.Minute)
		if _, there := v.state.history["pool-7"]; there {
			t.Error("the history of a pool that is no more is kept")
		}
	})
}

func TestView_PoolsSayWhatTheirThresholdsAreAndWhatIsPastThem(t *testing.T) {
	bubble(t, func(t *testing.T, stage *viewtest.Stage, v *View) {
		stage.Put(viewtest.Node("a", 7))
		stage.Waits(core.Waits{Placed: 40, P50: 3, P95: 1800})
		stage.Sums("pool-7", func(p *core.PoolView) {
			p.Pool.Kind, p.Pool.Version, p.Canary = fleet.KindNamed, 12, true
			p.Pool.Thresholds = fleet.Thresholds{QueueWaitMs: 60_000, FreeSlots: 2, NotReadyPct: 50}
			p.Queued, p.Overdue, p.OldestWait = 37, 12, fleet.Time(time.Hour.Milliseconds()-252_000) // the stage began an hour ago
			p.ReadyHeld = core.HeldCounts{Draining: 9, Cordoned: 2, Auto: 1, Quarantined: 3}
		})
		d := newDesk(t)
		for _, topic := range []string{wire.TopicPools, wire.TopicFleet} {
			sub, _ := d.subscribe(v, everybody, topic, wire.Filter{})
			defer sub.End()
		}
		p := d.pools["pool-7"]
		if p.QueueWait != 60_000 || p.FreeSlots != 2 || p.NotReadyPct != 50 || p.Version != 12 || !p.Canary || p.Overdue != 12 || p.OldestWait != 252_000 {
			t.Errorf("the row is %+v", p)
		}
		if n := p.Nodes; n.Draining != 9 || n.Cordoned != 2 || n.AutoHeld != 1 || n.Quarantined != 3 {
			t.Errorf("its nodes are %+v", n)
		}
		if q := d.pools["default"].OldestWait; q != -1 {
			t.Errorf("where nothing waits the oldest waits %d", q)
		}
		if f := d.fleet; f.Placed != 40 || f.WaitP95 != 1800 || f.WaitP50 != 3 || f.Overdue != 12 || f.Nodes.Draining != 9 {
			t.Errorf("the fleet is %+v", f)
		}
		stage.Waits(core.Waits{Placed: 41, P50: 3, P95: 1900})
		pass(time.Second)
		if d.fleet.WaitP95 != 1900 {
			t.Errorf("the waits stay %+v", d.fleet)
		}
	})
}

func TestView_AHoldSaysHowLongItLasts(t *testing.T) {
	at := fleet.Time(100_000)
	row := NodeOf(&core.NodeView{Record: fleet.NodeRecord{ID: "a", Holds: []fleet.Hold{
		{Kind: fleet.HoldCordon, Owner: fleet.OwnerOperator},
		{Kind: fleet.HoldAuto, Owner: fleet.OwnerAuto, Until: 160_000},
		{Kind: fleet.HoldDrain, Owner: fleet.OwnerOperator, Deadline: 700_000},
		{Kind: fleet.HoldDrain, Owner: fleet.OwnerOperator, Deadline: 99_000},
	}}}, nil, time.Now(), at)
	for i, want := range []int64{-1, 60_000, 600_000, 0} {
		if row.Holds[i].Left != want {
			t.Errorf("hold %d: %+v, want %d left", i, row.Holds[i], want)
		}
	}
}

func TestView_FiltersKnowTheKindsOfHolds(t *testing.T) {
	bubble(t, func(t *testing.T, stage *viewtest.Stage, v *View) {
		for id, kind := range map[string]fleet.HoldKind{"c": fleet.HoldCordon, "d": fleet.HoldDrain, "q": fleet.HoldQuarantine, "x": fleet.HoldAuto, "y": fleet.HoldDeaf} {
			n := viewtest.Node(id, 7)
			n.Record.Holds = []fleet.Hold{{Kind: kind}}
			stage.Put(n)
		}
		stage.Put(viewtest.Node("free", 7))
		for state, want := range map[string]string{
			wire.StateCordoned: "c", wire.StateDraining: "d", wire.StateQuarantined: "q", wire.StateAutoHeld: "xy", wire.StateHeld: "cdqxy",
		} {
			d := newDesk(t)
			sub, _ := d.subscribe(v, everybody, wire.TopicNodes, wire.Filter{State: state})
			if _, there := d.nodes[want[:1]]; !there || len(d.nodes) != len(want) {
				t.Errorf("%s lets %v through", state, d.nodes)
			}
			sub.End()
		}
	})
}

func TestView_ANodeSaysWhatItHasAndWhatOfItIsReserved(t *testing.T) {
	node := core.NodeView{Record: fleet.NodeRecord{ID: "a", Capacity: fleet.Vector{
		Slots: 4, Memory: []fleet.Quantity{{Name: "gpu0", Amount: 24_576}, {Name: "host", Amount: 65_536}}, Resources: []fleet.Quantity{{Name: "nvenc", Amount: 2}},
	}}, Reserved: fleet.Vector{Memory: []fleet.Quantity{{Name: "host", Amount: 1024}}, Resources: []fleet.Quantity{{Name: "nvenc", Amount: 1}}}}
	row := NodeOf(&node, nil, time.Now(), 1)
	if !slices.Equal(row.Memory, []wire.Share{{Name: "gpu0", Total: 24_576}, {Name: "host", Total: 65_536, Reserved: 1024}}) {
		t.Errorf("memory is %+v", row.Memory)
	}
	if !slices.Equal(row.Resources, []wire.Share{{Name: "nvenc", Total: 2, Reserved: 1}}) {
		t.Errorf("resources are %+v", row.Resources)
	}
}

func TestView_TellsOfAFreezeAndOfAMassLoss(t *testing.T) {
	for _, c := range []struct {
		frozen core.Freeze
		want   wire.FleetRow
	}{
		{core.Freeze{}, wire.FleetRow{}},
		{core.Freeze{Since: 1000, Cause: core.FrozenByDatabase}, wire.FleetRow{Frozen: 60_000, FrozenBy: "database"}},
		{core.Freeze{Since: 1000, Until: 91_000, Cause: core.FrozenByStandstill}, wire.FleetRow{Frozen: 60_000, FrozenFor: 30_000, FrozenBy: "standstill"}},
		{core.Freeze{Since: 61_000, Until: 151_000, Cause: core.FrozenByRestart}, wire.FleetRow{Frozen: 1, FrozenFor: 90_000, FrozenBy: "restart"}},
	} {
		c.want.ID = wire.TopicFleet
		if row := fleetRow(nil, func(string) bool { return true }, core.Waits{}, c.frozen, 61_000); row != c.want {
			t.Errorf("%+v shows %+v", c.frozen, row)
		}
	}
	if row := poolRow(&core.PoolView{MassLoss: 1000}, nil, 61_000); row.MassLoss != 60_000 {
		t.Errorf("a mass loss shows %+v", row)
	}
	s := &state{nodes: map[string]*nodeState{}, placed: placements{}}
	frozen := core.Freeze{Since: 1}
	if n := s.take(&core.Changes{Pools: []core.PoolView{}, Frozen: frozen}); !n.waits {
		t.Error("that the fleet is frozen is no news")
	}
	if n := s.take(&core.Changes{Pools: []core.PoolView{}, Frozen: frozen}); n.waits {
		t.Error("that it still is, is")
	}
}
