package store_test

import (
	"testing"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store/storetest"
)

// What a node may bring is the least of what its license and an operator allow; 0
// allows anything. Who has left is nobody.
func TestMembersBySecret(t *testing.T) {
	h := newHouse(t)
	want := map[[32]byte]record.Member{}
	var asked [][32]byte
	for _, c := range []struct{ license, operator, most int64 }{{8, 0, 8}, {0, 0, 0}, {8, 3, 3}, {3, 8, 3}, {0, 5, 5}} {
		license := storetest.InsertLicense(t, h.db, h.user.ID, 1, func(l *record.License) { l.MaxSlots = c.license })
		secret := storetest.Sum()
		node, err := register(h.db, license.ID, "", secret)
		h.must(err)
		h.urls.Exec(t, "UPDATE nodes SET max_slots = nullif($2::bigint, 0) WHERE id = $1", node.ID, c.operator)
		want[secret], asked = record.Member{ID: node.ID, Role: node.Role, MaxSlots: c.most}, append(asked, secret)
	}
	alone, left := storetest.Sum(), storetest.Sum()
	node, err := h.db.CreateNode(ctx, storetest.Actor, record.Node{NodeRecord: fleet.NodeRecord{ID: "rack-1", Role: "edge", MaxSlots: 6}}, alone)
	h.must(err)
	want[alone] = record.Member{ID: node.ID, Role: "edge", MaxSlots: 6}
	gone, err := h.db.CreateNode(ctx, storetest.Actor, record.Node{NodeRecord: fleet.NodeRecord{ID: "rack-2", Role: "edge"}}, left)
	h.must(err)
	_, err = h.db.LeaveNode(ctx, storetest.Actor, gone.ID, "")
	h.must(err)

	found, err := h.db.MembersBySecret(ctx, append(asked, alone, left, storetest.Sum()))
	h.must(err)
	if len(found) != len(want) {
		t.Errorf("%d were found, want %d", len(found), len(want))
	}
	for secret, member := range want {
		if found[secret] != member {
			t.Errorf("found %+v, want %+v", found[secret], member)
		}
	}
}

// A node that comes back with what it said before costs no row of its report.
func TestCommitReports_TheSameIsNotWrittenAgain(t *testing.T) {
	h := newHouse(t)
	hello := func(epoch int64, version string) string {
		t.Helper()
		report := &fleet.NodeReport{BootID: "b", AgentVersion: version, Runners: []string{"a", "b"}, Capacity: fleet.Vector{Slots: 4}}
		h.commit(&core.Effects{Sessions: []core.SessionWrite{{Node: h.node.ID, Epoch: epoch, Report: report}}})
		if node, err := h.db.Node(ctx, h.node.ID); err != nil || node.AgentVersion != version || node.Epoch != epoch {
			t.Errorf("after session %d of version %s: %+v, %v", epoch, version, node, err)
		}
		return storetest.Query[string](t, h.urls, "SELECT xmin::text FROM node_reports WHERE node_id = $1", h.node.ID)
	}
	first := hello(11, "1.0.0")
	if again := hello(12, "1.0.0"); again != first {
		t.Error("the same report was written again")
	}
	if newer := hello(13, "1.0.1"); newer == first {
		t.Error("another report was not written")
	}
}
