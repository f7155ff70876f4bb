package store_test

import (
	"reflect"
	"testing"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

func TestCommitInventories(t *testing.T) {
	h := newHouse(t)
	if i, err := h.db.NodeInventory(ctx, h.node.ID); err != nil || i != nil {
		t.Fatalf("before it told anything: %+v, %v", i, err)
	}
	h.commit(&core.Effects{Sessions: []core.SessionWrite{{Node: h.node.ID, Epoch: 7, Report: &fleet.NodeReport{BootID: "b"}}}})
	said := func(rev int64) *fleet.Inventory {
		return &fleet.Inventory{
			Rev: rev, Platform: "Debian", Archs: []string{"amd64"}, Memory: []fleet.MemoryDomain{{Name: "ram", Kind: "ram", Total: 2048}},
			Accelerators: []fleet.Accelerator{{Name: "nvidia0", Kind: "gpu", Model: "L4"}}, Links: []fleet.NodeLink{{Peer: "n2", Kind: "lan", Bandwidth: 10}},
			DiskTotal: 10, DiskFree: 5, Cached: []fleet.CachedArtifact{{Digest: "sha256:00", Size: 1}}, Commands: []string{"ffmpeg"}, Stale: rev == 2,
		}
	}
	write := func(epoch int64, i *fleet.Inventory) core.InventoryWrite {
		return core.InventoryWrite{Node: h.node.ID, Epoch: epoch, Inventory: i}
	}
	h.commit(&core.Effects{Inventories: []core.InventoryWrite{write(7, said(1)), write(7, said(2)), {Node: "nobody", Epoch: 1, Inventory: said(9)}}})
	first, err := h.db.NodeInventory(ctx, h.node.ID)
	h.must(err)
	if !reflect.DeepEqual(&first.Inventory, said(2)) || first.At.IsZero() {
		t.Fatalf("of two in a batch: %+v", first)
	}
	h.commit(&core.Effects{Inventories: []core.InventoryWrite{write(6, said(3))}}) // of a session that is over
	h.commit(&core.Effects{Inventories: []core.InventoryWrite{write(7, said(2))}}) // the same again
	if again, err := h.db.NodeInventory(ctx, h.node.ID); err != nil || !reflect.DeepEqual(again, first) {
		t.Errorf("%+v, %v, want it as it was, with its time", again, err)
	}
	// The next session's hello leaves it.
	h.commit(&core.Effects{Sessions: []core.SessionWrite{{Node: h.node.ID, Epoch: 8, Report: &fleet.NodeReport{BootID: "c"}}}})
	if again, err := h.db.NodeInventory(ctx, h.node.ID); err != nil || !reflect.DeepEqual(again, first) {
		t.Errorf("after the next hello: %+v, %v", again, err)
	}
}
