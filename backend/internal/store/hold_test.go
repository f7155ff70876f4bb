package store_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store/storetest"
)

func TestDrainAndUncordon(t *testing.T) {
	h := newHouse(t)
	deadline := time.Now().Add(time.Minute).UTC().Truncate(time.Millisecond)
	cordon := fleet.Hold{Kind: fleet.HoldCordon, Owner: fleet.OwnerOperator, Actor: "u:test", Reason: "disk"}
	drain := fleet.Hold{Kind: fleet.HoldDrain, Owner: fleet.OwnerOperator, Actor: "u:test", Reason: "upgrade", Deadline: storetest.At(deadline)}
	rec, err := h.db.CordonNode(ctx, storetest.Actor, h.node.ID, "disk", nil)
	if err != nil || !reflect.DeepEqual(rec.Holds, []fleet.Hold{cordon}) || rec.Version != 2 {
		t.Fatalf("cordoned: %+v, %v", rec, err)
	}
	rec, err = h.db.DrainNode(ctx, storetest.Actor, h.node.ID, &deadline, "upgrade", &rec.Version)
	if err != nil || !reflect.DeepEqual(rec.Holds, []fleet.Hold{cordon, drain}) || rec.Version != 3 {
		t.Fatalf("drained: %+v, %v", rec, err)
	}
	if e := newest(t, h.db); e.Action != "node_drained" || !strings.Contains(string(e.After), deadline.Format("15:04:05.999")) || strings.Contains(string(e.Before), "drain") {
		t.Fatalf("entry %s: %s, then %s", e.Action, e.Before, e.After)
	}
	if s := h.snapshot(); !reflect.DeepEqual(s.Nodes[0].Holds, rec.Holds) {
		t.Fatalf("snapshot has %+v", s.Nodes[0].Holds)
	}
	stale := int64(1)
	_, err = h.db.DrainNode(ctx, storetest.Actor, h.node.ID, nil, "", &stale)
	wantCode(t, err, fleet.CodePreconditionFail)
	_, err = h.db.DrainNode(ctx, storetest.Actor, "nobody", nil, "", nil)
	wantCode(t, err, fleet.CodeNotFound)
	// a second drain replaces the first one's deadline
	if rec, err = h.db.DrainNode(ctx, storetest.Actor, h.node.ID, nil, "slowly", nil); err != nil || rec.Holds[1].Deadline != 0 || rec.Holds[1].Reason != "slowly" {
		t.Fatalf("drained anew: %+v, %v", rec, err)
	}
	h.urls.Exec(t, "INSERT INTO node_holds (node_id, kind, owner, actor, reason, until) VALUES ($1, 'auto', 'auto', 'system', 'flaps', now())", h.node.ID)
	if rec, err = h.db.UncordonNode(ctx, storetest.Actor, h.node.ID, "done", nil); err != nil || len(rec.Holds) != 1 || rec.Holds[0].Kind != fleet.HoldAuto || rec.Holds[0].Until == 0 {
		t.Fatalf("uncordoned: %+v, %v", rec, err)
	}
	wantEntry(t, h.db, "node_uncordoned", "node:"+h.node.ID, "done")
	seq := newest(t, h.db).Seq
	if again, err := h.db.UncordonNode(ctx, storetest.Actor, h.node.ID, "done", nil); err != nil || again.Version != rec.Version || newest(t, h.db).Seq != seq {
		t.Fatalf("uncordoned twice: %+v, %v", again, err)
	}
}

func TestLeaveNode(t *testing.T) {
	h := newHouse(t)
	if rec, err := h.db.LeaveNode(ctx, storetest.Actor, h.node.ID, "sold"); err != nil || !rec.Left || rec.Version != 2 {
		t.Fatalf("%+v, %v", rec, err)
	}
	wantEntry(t, h.db, "node_left", "node:"+h.node.ID, "sold")
	if refused := h.try(h.batch(1)); len(refused) != 1 {
		t.Fatalf("a node that has left got work: %+v", refused)
	}
	seq := newest(t, h.db).Seq
	if rec, err := h.db.LeaveNode(ctx, storetest.Actor, h.node.ID, "sold"); err != nil || rec.Version != 2 || newest(t, h.db).Seq != seq {
		t.Fatalf("leaving twice left a trace: %+v, %v", rec, err)
	}
	_, err := h.db.LeaveNode(ctx, storetest.Actor, "nobody", "")
	wantCode(t, err, fleet.CodeNotFound)
}

func TestCreateNode(t *testing.T) {
	db := storetest.New(t)
	ada := storetest.InsertUser(t, db)
	sum := storetest.Sum()
	made, err := db.CreateNode(ctx, storetest.Actor, record.Node{NodeRecord: fleet.NodeRecord{ID: "rack-1", Owner: ada.ID, Role: "edge", MaxSlots: 6, Pool: "default"}}, sum)
	if err != nil || made.Pool != fleet.OwnerPool(ada.ID) || made.MaxSlots != 6 || made.Role != "edge" || made.License != "" {
		t.Fatalf("made %+v, %v", made, err)
	}
	wantEntry(t, db, "node_created", "node:rack-1", "")
	if known, err := db.NodeBySecret(ctx, sum); err != nil || !reflect.DeepEqual(known, made.NodeRecord) {
		t.Fatalf("by its secret: %+v, %v", known, err)
	}
	shared, err := db.CreateNode(ctx, storetest.Actor, record.Node{NodeRecord: fleet.NodeRecord{ID: "rack-2", Role: "worker"}}, storetest.Sum())
	if err != nil || shared.Pool != fleet.PoolDefault || shared.Owner != 0 || shared.MaxSlots != 0 {
		t.Fatalf("made %+v, %v", shared, err)
	}
	held, err := db.CordonNode(ctx, record.Actor{Subject: fmt.Sprintf("u:%d", ada.ID)}, "rack-1", "disk", nil)
	if err != nil || len(held.Holds) != 1 || held.Holds[0].Actor != ada.Name {
		t.Errorf("a person's hold reads %+v, %v", held.Holds, err)
	}
	told, err := db.Audit(ctx, record.AuditFilter{Actor: ada.Name, Action: "node_cordoned"}, record.Page{})
	if err != nil || len(told) != 1 || told[0].Name != ada.Name || told[0].Actor.Subject != fmt.Sprintf("u:%d", ada.ID) {
		t.Errorf("what a person did reads %+v, %v", told, err)
	}
	for _, c := range []struct {
		node fleet.NodeRecord
		code fleet.Code
	}{
		{fleet.NodeRecord{ID: "rack-1", Role: "edge"}, fleet.CodeNodeIDTaken},
		{fleet.NodeRecord{ID: "rack-3", Role: "dancer"}, fleet.CodeUnprocessable},
		{fleet.NodeRecord{ID: "rack-3", Role: "edge", Owner: ada.ID + 100}, fleet.CodeUnprocessable},
	} {
		_, err := db.CreateNode(ctx, storetest.Actor, record.Node{NodeRecord: c.node}, storetest.Sum())
		wantCode(t, err, c.code)
	}
}

// All of the nodes move or none of them.
func TestMoveNodes(t *testing.T) {
	h := newHouse(t)
	canary(t, h.db, "canary-1")
	var nodes []string
	for range 4 {
		nodes = append(nodes, storetest.InsertNode(t, h.db, h.user.ID, storetest.InPool("canary-1")).ID)
	}
	slices.Sort(nodes)
	inCanary := func() int {
		list, err := h.db.Nodes(ctx, record.Scope{Pools: []string{"canary-1"}}, record.Page{})
		h.must(err)
		return len(list)
	}
	move := func(to string, nodes ...string) ([]fleet.NodeRecord, error) {
		return h.db.MoveNodes(ctx, storetest.Actor, "canary-1", to, nodes, "node_promoted", "checks hold")
	}
	_, err := move(fleet.PoolDefault, nodes[0], h.node.ID)
	wantCode(t, err, fleet.CodeConflict)
	_, err = move(fleet.PoolDefault, nodes[0], "nobody")
	wantCode(t, err, fleet.CodeConflict)
	_, err = move("nowhere", nodes...)
	wantCode(t, err, fleet.CodeNotFound)
	if n := inCanary(); n != 4 {
		t.Fatalf("refusals moved nodes: %d are left", n)
	}
	before := newest(t, h.db).Seq
	moved, err := move(fleet.PoolDefault, nodes[2], nodes[0], nodes[1])
	if err != nil || len(moved) != 3 || moved[0].ID != nodes[0] || moved[0].Pool != fleet.PoolDefault || inCanary() != 1 {
		t.Fatalf("moved %+v, %v", moved, err)
	}
	wantEntry(t, h.db, "node_promoted", "node:"+nodes[2], "checks hold")
	if n := newest(t, h.db).Seq - before; n != 3 {
		t.Fatalf("%d audit entries for three nodes", n)
	}
}

// Moves of one node and of many, whose lists are in any order, and cordons never
// wait for each other in a circle.
func TestMovesAtOnce(t *testing.T) {
	h := newHouse(t)
	var nodes []string
	for range 6 {
		nodes = append(nodes, storetest.InsertNode(t, h.db, h.user.ID, storetest.InPool(fleet.PoolDefault)).ID)
	}
	back := []string{nodes[5], nodes[3], nodes[4], nodes[1], nodes[0], nodes[2]}
	var group sync.WaitGroup
	check := func(err error) {
		if err != nil && !strings.Contains(fmt.Sprint(err), "is not in") {
			t.Errorf("%v", err)
		}
	}
	for range 15 {
		group.Go(func() {
			_, err := h.db.MoveNodes(ctx, storetest.Actor, fleet.PoolDefault, h.node.Pool, nodes, "node_promoted", "")
			check(err)
		})
		group.Go(func() {
			_, err := h.db.MoveNodes(ctx, storetest.Actor, h.node.Pool, fleet.PoolDefault, back, "node_promoted", "")
			check(err)
		})
		for _, id := range back[:3] {
			group.Go(func() {
				_, _, err := h.db.MoveNode(ctx, storetest.Actor, id, fleet.PoolDefault, "", nil)
				check(err)
			})
			group.Go(func() { _, err := h.db.CordonNode(ctx, storetest.Actor, id, "", nil); check(err) })
		}
	}
	group.Wait()
}
