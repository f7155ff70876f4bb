package core

import (
	"fmt"
	"slices"
	"testing"

	"rockpool/backend/internal/core/fleet"
)

func TestCase_A6_WorkWithoutAPoolOfItsOwnIsRefused(t *testing.T) {
	w := script(t, record("n1", "pool-2", 2, 4), record("n2", "other", 0, 4), record("n3", fleet.PoolUnassigned, 1, 4))
	w.put("other", fleet.KindNamed, fleet.PoolActive)
	for _, app := range []string{"a0", "a1"} {
		spec := w.spec(app, 1)
		w.submit(spec, "")
		w.commit()
		w.wantRow(spec.ID, fleet.JobQueued, fleet.CausePoolExhausted, 0, 0, "")
		for _, tally := range w.store.jobs[spec.ID].row.Decision.Pools {
			if tally.Nodes != 0 {
				t.Errorf("%s looked at %d nodes of %s", app, tally.Nodes, tally.Pool)
			}
		}
	}
	stranger := w.spec("nobody-told-of-it", 1)
	if c := w.d.Preview(w.now, stranger); c.Decision.Node != "" || len(c.Nodes) != 0 {
		t.Errorf("an app that nobody told of: %+v", c)
	}
}

func TestCase_B1_EveryReasonOfEveryNode(t *testing.T) {
	var nodes []fleet.NodeRecord
	for i := range 9 {
		nodes = append(nodes, record(fmt.Sprint("n", i), "pool-1", 1, 1))
	}
	nodes[0].Role, nodes[1].Role = "edge", "edge"
	w := script(t, nodes...)
	hold := func(id string, kinds ...fleet.HoldKind) {
		w.move(id, func(r *fleet.NodeRecord) {
			for _, kind := range kinds {
				r.Holds = append(r.Holds, fleet.Hold{Kind: kind, Owner: fleet.OwnerOperator})
			}
		})
	}
	w.disconnect(w.agents[1]) // of another role, and not connected
	w.disconnect(w.agents[2])
	w.d.Heartbeat(w.now, Session{Node: "n3", Epoch: w.agents[3].epoch}, HeartbeatEvent{Accepting: true}, w.pending) // unhealthy
	for range 2 {
		w.run(w.spec("a1", 1), w.agents[4]) // the lowest ids that are free
	}
	hold("n4", fleet.HoldCordon, fleet.HoldDrain) // held twice, and full
	hold("n6", fleet.HoldQuarantine)
	hold("n7", fleet.HoldDrain)
	w.run(w.spec("a1", 1), w.agents[8])
	spec := w.spec("a1", 1)
	w.submit(spec, "")
	e, _ := w.d.Explain(w.now, spec.ID)
	want := [][]fleet.Reason{
		{fleet.WrongRole}, {fleet.WrongRole, fleet.LeaseNotReady}, {fleet.LeaseNotReady}, {fleet.Unhealthy},
		{fleet.Draining, fleet.Cordoned, fleet.NoSlots}, {fleet.NoSlots}, {fleet.Quarantine}, {fleet.Draining}, {fleet.NoSlots},
	}
	if len(e.Nodes) != len(want) {
		t.Fatalf("%d nodes", len(e.Nodes))
	}
	for i, n := range e.Nodes {
		if n.Node != fmt.Sprint("n", i) || !slices.Equal(n.Reasons, want[i]) {
			t.Errorf("%s: %v, want %v", n.Node, n.Reasons, want[i])
		}
	}
	var sum int32
	for _, n := range e.Now.Pools[0].Rejected {
		sum += n
	}
	if tally := e.Now.Pools[0]; sum != 9 || tally.Nodes != 9 || tally.Rejected[fleet.Draining] != 2 || tally.Rejected[fleet.NoSlots] != 2 {
		t.Errorf("counts by first reason: %+v", tally)
	}
}

func TestCase_N31_BurstIsSpreadAtOnce(t *testing.T) {
	var nodes []fleet.NodeRecord
	for i := range 10 {
		nodes = append(nodes, record(fmt.Sprintf("n%02d", i), "pool-1", 1, 16))
	}
	w := script(t, nodes...)
	for range 100 {
		w.now++
		w.submit(w.spec("a1", 1), "")
	}
	least, most := int64(1000), int64(0)
	for _, n := range w.d.order {
		least, most = min(least, n.slot.Reserved().Slots), max(most, n.slot.Reserved().Slots)
	}
	if least == 0 || most > 2*least {
		t.Fatalf("between %d and %d on one node", least, most)
	}
}

// A draining pool gets no new work and keeps what runs, also what its node brings
// back; a disabled one is as if it were empty; active again, it serves at once.
func TestPoolState_DrainingAndDisabled(t *testing.T) {
	for _, state := range []fleet.PoolState{fleet.PoolDrains, fleet.PoolIsClosed} {
		t.Run(string(state), func(t *testing.T) {
			w := script(t, record("n1", "pool-1", 1, 2), record("shared", fleet.PoolDefault, 0, 4))
			a := w.agents[0]
			running, unsent := w.spec("a1", 1), w.spec("a1", 1)
			w.run(running, a)
			w.submit(unsent, "")
			w.put("pool-1", fleet.KindUser, state)
			w.commit()
			if mailed(a, SendOffer) != 0 {
				t.Fatal("an offer went out after the pool's state had changed")
			}
			w.commit()
			reason := map[fleet.PoolState]fleet.Reason{fleet.PoolDrains: fleet.PoolDraining, fleet.PoolIsClosed: fleet.PoolDisabled}[state]
			if dec := w.store.jobs[unsent.ID].row.Decision; dec.FallbackOK || dec.Pools[0].Rejected[reason] != 1 {
				t.Fatalf("decision %+v", dec)
			}
			if v := w.poolView("pool-1"); v.SlotsFree != 0 || v.OutOfUse != 1 || v.Running != 1 || v.Ready != 1 {
				t.Fatalf("pool %+v", v)
			}
			// Its node is lost and comes back with the work before anybody else has it.
			w.disconnect(a)
			for range 10 {
				w.pass(10_000)
				w.heartbeat(w.agents[1])
			}
			w.commit()
			w.wantRow(running.ID, fleet.JobQueued, fleet.CauseNodeLost, 1, 1, "")
			w.join(a)
			w.commit()
			w.wantRow(running.ID, fleet.JobOffered, "", 1, 0, "n1")
			w.work(a)
			w.commit()
			w.wantRow(running.ID, fleet.JobSucceeded, "", 1, 1, "n1")
			w.put("pool-1", fleet.KindUser, fleet.PoolActive)
			w.commit()
			w.wantRow(unsent.ID, fleet.JobOffered, "", 2, 0, "n1")
		})
	}
}

func TestRemovePool_LeavesNothingStale(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	w.put("trial", fleet.KindNamed, fleet.PoolIsClosed)
	first := w.spec("a1", 1)
	first.Pool = "trial"
	w.submit(first, "")
	w.d.RemovePool("trial")
	w.after()
	if !w.poolGone("trial") {
		t.Fatal("it is still in sight")
	}
	// Another one of that name is a new pool, and who still waits is served there.
	w.put("trial", fleet.KindNamed, fleet.PoolActive)
	w.move("n1", func(r *fleet.NodeRecord) { r.Pool = "trial" })
	w.commit()
	w.wantRow(first.ID, fleet.JobOffered, "", 1, 0, "n1")
	second := w.spec("a1", 1)
	second.Pool = "trial"
	w.readAll(w.agents[0])
	w.work(w.agents[0])
	w.submit(second, "")
	w.commit()
	w.wantRow(second.ID, fleet.JobOffered, "", 1, 0, "n1")
}

func (w *world) poolGone(id string) bool {
	return !slices.ContainsFunc(w.d.Fleet(w.now).Pools, func(p PoolView) bool { return p.Pool.ID == id })
}
