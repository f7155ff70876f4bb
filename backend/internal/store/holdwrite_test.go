package store_test

import (
	"errors"
	"reflect"
	"sync"
	"testing"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/store"
	"rockpool/backend/internal/store/storetest"
)

func autoHold(node string, until fleet.Time) core.HoldWrite {
	return core.HoldWrite{Node: node, Hold: fleet.Hold{Kind: fleet.HoldAuto, Owner: fleet.OwnerAuto, Actor: "system", Reason: "5 declines\x00", Until: until}}
}

func liftOf(w core.HoldWrite) core.HoldWrite {
	w.Lift = true
	return w
}

// A hold that the writer puts there forbids assignments of the same batch and of
// later ones, as an operator's does, and leaves running work alone.
func TestWriterHoldFences(t *testing.T) {
	h := newHouse(t)
	first := &core.Effects{}
	running := h.submit(first, 1)
	h.commit(first)
	hold := autoHold(h.node.ID, now()+60_000)
	e := h.batch(1)
	e.Holds = []core.HoldWrite{hold, autoHold("nobody", 0)}
	h.finish(e, running...)
	want := []core.Refusal{{Job: e.Inserts[0].Spec.ID, Why: core.RefusedAssignment}}
	if got := h.try(e); !reflect.DeepEqual(got, want) {
		t.Fatalf("refused %+v, want %+v", got, want)
	}
	hold.Hold.Reason = "5 declines\uFFFD"
	rec, err := h.db.Node(ctx, h.node.ID)
	if err != nil || !reflect.DeepEqual(rec.Holds, []fleet.Hold{hold.Hold}) || rec.Version != 1 || h.reserved() != 0 {
		t.Fatalf("node %+v with %d reserved, %v", rec, h.reserved(), err)
	}
	if got := h.try(h.batch(1)); len(got) != 1 {
		t.Fatalf("a held node got work: %+v", got)
	}
	// an operator's hold on top stays when the automatic one goes
	_, err = h.db.CordonNode(ctx, storetest.Actor, h.node.ID, "disk", nil)
	h.must(err)
	lifting := h.batch(1)
	lifting.Holds = []core.HoldWrite{liftOf(hold)}
	if got := h.try(lifting); len(got) != 1 {
		t.Fatalf("a cordoned node got work: %+v", got)
	}
	_, err = h.db.UncordonNode(ctx, storetest.Actor, h.node.ID, "", nil)
	h.must(err)
	h.commit(h.batch(1))
}

// Within a batch the last word on a hold counts, and work may follow a lift.
func TestWriterHoldLastWord(t *testing.T) {
	h := newHouse(t)
	hold := autoHold(h.node.ID, 0)
	e := h.batch(1)
	e.Holds = []core.HoldWrite{hold, liftOf(hold)}
	h.commit(e)
	h.commit(&core.Effects{Holds: []core.HoldWrite{liftOf(hold), hold}})
	if rec, err := h.db.Node(ctx, h.node.ID); err != nil || len(rec.Holds) != 1 || rec.Holds[0].Until != 0 {
		t.Fatalf("holds %+v, %v", rec.Holds, err)
	}
}

// The writer's holds and administrators' changes of the same nodes never wait for
// each other in a circle, and nodes.held is right at the end.
func TestWriterHoldsAgainstOperators(t *testing.T) {
	h := newHouse(t)
	nodes := []string{h.node.ID}
	for range 3 {
		nodes = append(nodes, storetest.InsertNode(t, h.db, h.user.ID).ID)
	}
	var group sync.WaitGroup
	for _, id := range nodes {
		group.Go(func() {
			for range 15 {
				_, err := h.db.CordonNode(ctx, storetest.Actor, id, "", nil)
				h.check(err)
				_, _, err = h.db.MoveNode(ctx, storetest.Actor, id, h.node.Pool, "", nil)
				h.check(err)
				_, err = h.db.UncordonNode(ctx, storetest.Actor, id, "", nil)
				h.check(err)
			}
		})
	}
	group.Go(func() {
		for range 15 {
			_, err := h.db.MoveNodes(ctx, storetest.Actor, h.node.Pool, h.node.Pool, nodes, "node_promoted", "")
			h.check(err)
		}
	})
	for i := range 60 {
		e := &core.Effects{}
		for j := range nodes {
			w := autoHold(nodes[(i+j)%len(nodes)], 0)
			w.Lift = i%2 == 1
			e.Holds = append(e.Holds, w)
		}
		e.Audits = []core.AuditNote{{Action: "node_held"}}
		e.Alarms = []core.AlarmWrite{{Alarm: fleet.Alarm{ID: 1, Count: int64(i + 1), RaisedAt: now(), LastAt: now()}}}
		h.commit(e)
	}
	group.Wait()
	if n := storetest.Query[int64](t, h.urls, "SELECT count(*) FROM nodes WHERE held"); n != 0 {
		t.Fatalf("%d nodes are held without a hold", n)
	}
}

func (h *house) check(err error) {
	if err != nil {
		h.t.Errorf("%v", err)
	}
}

// A stale owner's holds and alarms are not written.
func TestWriterHoldsFenced(t *testing.T) {
	h := newHouse(t)
	shard, err := h.db.AcquireShard(ctx, "another")
	h.must(err)
	defer shard.Release(ctx)
	for _, e := range []*core.Effects{
		{Holds: []core.HoldWrite{autoHold(h.node.ID, 0)}},
		{Alarms: []core.AlarmWrite{{Alarm: fleet.Alarm{ID: 1, Count: 1, RaisedAt: now(), LastAt: now()}}}},
		{Audits: []core.AuditNote{{Action: "x"}}},
	} {
		if _, err := h.w.Commit(ctx, e); !errors.Is(err, store.ErrFenced) {
			t.Errorf("%+v: %v, want ErrFenced", e, err)
		}
	}
	if n := storetest.Query[int64](t, h.urls, "SELECT (SELECT count(*) FROM alarms) + (SELECT count(*) FROM node_holds)"); n != 0 {
		t.Errorf("%d rows were written", n)
	}
}
