package store_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store/storetest"
)

// While a node is moved to and fro, work is assigned to it for its own pool. Each
// move that has returned is what the next commit sees: no job is assigned in a
// pool in which its node was not for all of that commit.
func TestMoveAgainstAssign(t *testing.T) {
	h := newHouse(t, storetest.Slots(64))
	home := h.node.Pool
	// moves counts begun and ended moves: odd while one is under way.
	var moves atomic.Int64
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			pool := []string{fleet.PoolUnassigned, home}[i%2]
			moves.Add(1)
			_, _, err := h.db.MoveNode(ctx, storetest.Actor, h.node.ID, pool, "race", nil)
			moves.Add(1)
			if err != nil {
				t.Errorf("move: %v", err)
				return
			}
		}
	})
	assigned, refused := 0, 0
	for range 300 {
		before := moves.Load()
		e := &core.Effects{}
		job := h.submit(e, 1)[0]
		out := h.try(e)
		after := moves.Load()
		if before == after && before%2 == 0 {
			// no move during the commit: before%4 == 0 is at home
			if atHome := before%4 == 0; atHome != (len(out) == 0) {
				t.Fatalf("node at home: %v, refused %+v", atHome, out)
			}
		}
		if len(out) > 0 {
			refused++
			continue
		}
		assigned++
		end := &core.Effects{}
		h.finish(end, job)
		h.commit(end)
	}
	close(stop)
	group.Wait()
	if assigned == 0 || refused == 0 {
		t.Errorf("%d assigned and %d refused: the race did not happen", assigned, refused)
	}
	if got := h.reserved(); got != 0 {
		t.Errorf("reserved %d after all ended", got)
	}
}

// Holds that come and go at once leave no node held or free by mistake.
func TestHoldsAtOnce(t *testing.T) {
	h := newHouse(t)
	kinds := []fleet.HoldKind{fleet.HoldCordon, fleet.HoldDrain, fleet.HoldQuarantine, fleet.HoldAuto}
	for round := range 5 {
		var group sync.WaitGroup
		for _, kind := range kinds {
			group.Go(func() { storetest.InsertHold(t, h.urls, h.node.ID, kind) })
		}
		group.Wait()
		rec, err := h.db.Node(ctx, h.node.ID)
		h.must(err)
		if len(rec.Holds) != len(kinds) {
			t.Fatalf("round %d: holds %+v", round, rec.Holds)
		}
		for _, kind := range kinds {
			group.Go(func() {
				h.urls.Exec(t, "DELETE FROM node_holds WHERE node_id = $1 AND kind = $2", h.node.ID, string(kind))
			})
		}
		group.Wait()
		if storetest.Query[bool](t, h.urls, "SELECT held FROM nodes WHERE id = $1", h.node.ID) {
			t.Fatalf("round %d: the node is held without a hold", round)
		}
	}
}

func TestMoveNode(t *testing.T) {
	h := newHouse(t)
	node, err := h.db.Node(ctx, h.node.ID)
	h.must(err)
	stale := node.Version - 1
	_, _, err = h.db.MoveNode(ctx, storetest.Actor, h.node.ID, fleet.PoolDefault, "test", &stale)
	wantCode(t, err, fleet.CodePreconditionFail)
	from, moved, err := h.db.MoveNode(ctx, storetest.Actor, h.node.ID, fleet.PoolDefault, "test", &node.Version)
	if err != nil || from != h.node.Pool || moved.Pool != fleet.PoolDefault || moved.Version != node.Version+1 || moved.Capacity.Slots != 4 {
		t.Fatalf("moved from %s: %+v, %v", from, moved, err)
	}
	_, _, err = h.db.MoveNode(ctx, storetest.Actor, h.node.ID, "nowhere", "test", nil)
	wantCode(t, err, fleet.CodeNotFound)
	_, _, err = h.db.MoveNode(ctx, storetest.Actor, "nobody", fleet.PoolDefault, "test", nil)
	wantCode(t, err, fleet.CodeNotFound)
}

// A node whose pool is not written reads as default, and takes default's work.
func TestNodeWithoutPool(t *testing.T) {
	h := newHouse(t)
	h.urls.Exec(t, "UPDATE nodes SET pool_id = NULL")
	if node, err := h.db.Node(ctx, h.node.ID); err != nil || node.Pool != fleet.PoolDefault {
		t.Fatalf("node %+v, %v", node, err)
	}
	h.node.Pool = fleet.PoolDefault
	h.commit(h.batch(1))
}

// One page after another gives every row once, in order.
func TestNodePages(t *testing.T) {
	db := storetest.New(t)
	ada, bob := storetest.InsertUser(t, db), storetest.InsertUser(t, db)
	license := storetest.InsertLicense(t, db, ada.ID, 9)
	for i := range 7 {
		_, err := register(db, license.ID, fmt.Sprint("n-", i), storetest.Sum())
		if err != nil {
			t.Fatal(err)
		}
	}
	var seen []string
	page := record.Page{Limit: 3}
	for {
		nodes, err := db.Nodes(ctx, record.Scope{Owner: &ada.ID}, page)
		if err != nil {
			t.Fatal(err)
		}
		if len(nodes) == 0 {
			break
		}
		for _, n := range nodes {
			seen = append(seen, n.ID)
		}
		page.After = nodes[len(nodes)-1].ID
	}
	if fmt.Sprint(seen) != "[n-0 n-1 n-2 n-3 n-4 n-5 n-6]" {
		t.Fatalf("pages gave %v", seen)
	}
	if none, err := db.Nodes(ctx, record.Scope{Owner: &bob.ID}, record.Page{}); err != nil || len(none) != 0 {
		t.Fatalf("another user's nodes: %v, %v", none, err)
	}
	_, _, err := db.MoveNode(ctx, storetest.Actor, "n-3", fleet.PoolDefault, "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		scope record.Scope
		want  int
	}{
		{record.Scope{Pools: []string{fleet.PoolDefault}}, 1}, {record.Scope{Pools: []string{}}, 0},
		{record.Scope{Pools: []string{fleet.OwnerPool(ada.ID)}}, 6}, {record.Scope{Owner: &bob.ID, Pools: []string{fleet.PoolDefault}}, 1},
	} {
		if nodes, err := db.Nodes(ctx, c.scope, record.Page{}); err != nil || len(nodes) != c.want {
			t.Errorf("scope %+v gave %d nodes, %v; want %d", c.scope, len(nodes), err, c.want)
		}
	}
}
