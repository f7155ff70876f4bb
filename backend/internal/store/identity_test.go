package store_test

import (
	"reflect"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store"
	"rockpool/backend/internal/store/storetest"
)

func identityOf(t *testing.T, db *store.DB, node string) fleet.Identity {
	t.Helper()
	rec, err := db.Node(ctx, node)
	if err != nil {
		t.Fatal(err)
	}
	return rec.Identity
}

var quarantine = fleet.Hold{Kind: fleet.HoldQuarantine, Owner: fleet.OwnerAuto, Reason: "two processes"}

// claimed is an identity with two claimants, as the core makes it.
func claimed() fleet.Identity {
	return fleet.Identity{
		Current: storetest.Sum(), Pending: []fleet.Sum{storetest.Sum(), storetest.Sum()}, Past: []fleet.Sum{storetest.Sum()},
		Claimants: []fleet.Claimant{
			{ID: "aaaa0001", Chain: storetest.Sum(), MachineID: "m1", BootID: "b1", Address: "192.0.2.1", AgentVersion: "1", Seen: now(), Holder: true},
			{ID: "bbbb0002", MachineID: "m2", BootID: "b2", Address: "192.0.2.2", Seen: now()},
		},
	}
}

func TestIdentity_IsReadAsItWasWritten(t *testing.T) {
	h := newHouse(t)
	if id := identityOf(t, h.db, h.node.ID); !reflect.DeepEqual(id, fleet.Identity{}) {
		t.Fatalf("of a node that never had one: %+v", id)
	}
	id := claimed()
	h.commit(&core.Effects{Identities: []core.IdentityWrite{{Node: h.node.ID, Identity: id}, {Node: "nobody", Identity: id}}})
	if got := identityOf(t, h.db, h.node.ID); !reflect.DeepEqual(got, id) {
		t.Fatalf("read\n%+v\nwant\n%+v", got, id)
	}
	snap, err := h.db.LoadSnapshot(ctx)
	if err != nil || !reflect.DeepEqual(snap.Nodes[0].Identity, id) {
		t.Fatalf("the snapshot has %+v, %v", snap.Nodes[0].Identity, err)
	}
	next := fleet.Identity{Current: id.Pending[0]}
	h.commit(&core.Effects{Identities: []core.IdentityWrite{{Node: h.node.ID, Identity: next}}})
	if got := identityOf(t, h.db, h.node.ID); !reflect.DeepEqual(got, next) {
		t.Fatalf("then %+v", got)
	}
}

// Both secrets are good until a session was opened with the new one.
func TestAttack_A43_BothSecretsUntilTheNewOneCounts(t *testing.T) {
	h := newHouse(t)
	old, next := storetest.Sum(), storetest.Sum()
	node, err := h.db.CreateNode(ctx, storetest.Actor, record.Node{NodeRecord: fleet.NodeRecord{ID: "rot-1", Owner: h.user.ID, Role: "edge"}}, old)
	h.must(err)
	_, err = h.db.SetNextSecret(ctx, node.ID, "", next)
	wantCode(t, err, fleet.CodeConflict)
	_, err = h.db.SetNextSecret(ctx, node.ID, "none", old) // no rotation is under way: that comes first
	wantCode(t, err, fleet.CodeConflict)
	stale := int64(1000)
	_, err = h.db.RotateNode(ctx, storetest.Actor, node.ID, "yearly", &stale)
	wantCode(t, err, fleet.CodePreconditionFail)
	begun, err := h.db.RotateNode(ctx, storetest.Actor, node.ID, "yearly", nil)
	h.must(err)
	if begun.Identity.Rotation == "" || begun.Version != node.Version+1 {
		t.Fatalf("begun %+v", begun)
	}
	again, err := h.db.RotateNode(ctx, storetest.Actor, node.ID, "yearly", nil)
	h.must(err)
	if again.Identity.Rotation != begun.Identity.Rotation {
		t.Fatal("a rotation that was under way began anew: its node may have put a secret for it")
	}
	_, err = h.db.SetNextSecret(ctx, node.ID, "another", next)
	wantCode(t, err, fleet.CodeConflict)
	_, err = h.db.SetNextSecret(ctx, node.ID, begun.Identity.Rotation, old)
	wantCode(t, err, fleet.CodeUnprocessable)
	for range 2 {
		put, err := h.db.SetNextSecret(ctx, node.ID, begun.Identity.Rotation, next)
		h.must(err)
		if put.Identity.NextSecret != next {
			t.Fatalf("put %+v", put.Identity)
		}
	}
	for _, sum := range []fleet.Sum{old, next} {
		if rec, err := h.db.NodeBySecret(ctx, sum); err != nil || rec.ID != node.ID {
			t.Fatalf("%x finds %+v, %v", sum[:4], rec, err)
		}
	}
	turn := core.IdentityWrite{Node: node.ID, Over: begun.Identity.Rotation, Secret: storetest.Sum()}
	h.commit(&core.Effects{Identities: []core.IdentityWrite{turn}}) // not the one that was put
	if rec, err := h.db.NodeBySecret(ctx, old); err != nil || rec.Identity.Rotation != "" {
		t.Fatalf("a secret that nobody put: %+v, %v", rec, err)
	}
	if facts, err := h.db.NodeFacts(ctx, node.ID); err != nil || facts != (record.NodeFacts{}) {
		t.Fatalf("of a secret that never changed, without a license: %+v, %v", facts, err)
	}
	begun, err = h.db.RotateNode(ctx, storetest.Actor, node.ID, "", nil)
	h.must(err)
	_, err = h.db.SetNextSecret(ctx, node.ID, begun.Identity.Rotation, next)
	h.must(err)
	h.commit(&core.Effects{Identities: []core.IdentityWrite{{Node: node.ID, Over: begun.Identity.Rotation, Secret: next}}})
	_, err = h.db.NodeBySecret(ctx, old)
	wantCode(t, err, fleet.CodeNotFound)
	if rec, err := h.db.NodeBySecret(ctx, next); err != nil || rec.Identity.Rotation != "" || rec.Identity.NextSecret != (fleet.Sum{}) {
		t.Fatalf("the new one: %+v, %v", rec, err)
	}
	if facts, err := h.db.NodeFacts(ctx, node.ID); err != nil || facts.RotatedAt == nil || time.Since(*facts.RotatedAt) > time.Hour {
		t.Fatalf("after the change: %+v, %v", facts, err)
	}
}

func TestRepair_ChoosesAClaimantThatIsThere(t *testing.T) {
	h := newHouse(t)
	_, err := h.db.RepairNode(ctx, storetest.Actor, h.node.ID, "aaaa0001", "", nil)
	wantCode(t, err, fleet.CodeConflict)
	id := claimed()
	h.commit(&core.Effects{
		Identities: []core.IdentityWrite{{Node: h.node.ID, Identity: id}},
		Holds:      []core.HoldWrite{{Node: h.node.ID, Hold: quarantine}},
	})
	_, err = h.db.RotateNode(ctx, storetest.Actor, h.node.ID, "", nil)
	wantCode(t, err, fleet.CodeConflict)
	_, err = h.db.RepairNode(ctx, storetest.Actor, h.node.ID, "cccc0003", "", nil)
	wantCode(t, err, fleet.CodeUnprocessable)
	first, err := h.db.RepairNode(ctx, storetest.Actor, h.node.ID, "aaaa0001", "the one in the rack", nil)
	h.must(err)
	_, err = h.db.SetNextSecret(ctx, h.node.ID, first.Identity.Rotation, storetest.Sum())
	h.must(err)
	second, err := h.db.RepairNode(ctx, storetest.Actor, h.node.ID, "bbbb0002", "no, the other", nil)
	h.must(err)
	if first.Identity.Keep != "aaaa0001" || second.Identity.Keep != "bbbb0002" || second.Identity.Rotation == first.Identity.Rotation ||
		second.Identity.NextSecret != (fleet.Sum{}) {
		t.Fatalf("what the first choice put is still good: %+v, then %+v", first.Identity, second.Identity)
	}
	_, err = h.db.SetNextSecret(ctx, h.node.ID, first.Identity.Rotation, storetest.Sum())
	wantCode(t, err, fleet.CodeConflict)
	entries := storetest.Query[int64](t, h.urls, `SELECT count(*) FROM audit_entries WHERE action = 'node_repaired' AND object = 'node:' || $1`, h.node.ID)
	shown := storetest.Query[bool](t, h.urls, `SELECT bool_or(after::text LIKE '%' || $1 || '%') FROM audit_entries WHERE action = 'node_repaired'`, second.Identity.Rotation)
	if entries != 2 || shown {
		t.Fatalf("%d entries, the rotation's name stands in one: %v", entries, shown)
	}
}

// Who registers anew begins anew: no old chain holds it, and no old choice.
func TestIdentity_GoesWithTheNodeThatLeft(t *testing.T) {
	h := newHouse(t)
	license := storetest.InsertLicense(t, h.db, h.user.ID, 2)
	node, err := register(h.db, license.ID, "back-1", storetest.Sum())
	h.must(err)
	h.commit(&core.Effects{Identities: []core.IdentityWrite{{Node: node.ID, Identity: claimed()}}})
	_, err = h.db.LeaveNode(ctx, storetest.Actor, node.ID, "")
	h.must(err)
	_, err = register(h.db, license.ID, "back-1", storetest.Sum())
	h.must(err)
	if id := identityOf(t, h.db, node.ID); !reflect.DeepEqual(id, fleet.Identity{}) {
		t.Fatalf("it came back with %+v", id)
	}
}
