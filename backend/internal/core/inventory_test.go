package core

import (
	"testing"

	"rockpool/backend/internal/core/fleet"
)

func TestInventory_IsWrittenUntilTheDatabaseHasIt(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	first, second := &fleet.Inventory{Rev: 1}, &fleet.Inventory{Rev: 2}
	epoch := w.agents[0].epoch
	say := func(epoch int64, i *fleet.Inventory) *Effects {
		out := &Effects{}
		w.d.Inventory(w.now, Session{Node: "n1", Epoch: epoch}, i, out)
		return out
	}
	batch := say(epoch, first)
	if len(batch.Inventories) != 1 || batch.Inventories[0].Inventory != first || !batch.Durable() {
		t.Fatalf("wants written %+v", batch.Inventories)
	}
	if late := say(epoch-1, second); late.Durable() {
		t.Error("a session that is over changed the inventory")
	}
	// The commit of the first does not take the second one for stored.
	say(epoch, second)
	w.d.Committed(w.now, batch, nil, &Effects{})
	w.d.Load(w.now, w.store.snapshot())
	after := &Effects{}
	w.d.Tick(w.now, after)
	if len(after.Inventories) != 1 || after.Inventories[0].Inventory != second {
		t.Fatalf("after a Load it wants written %+v, want the second one", after.Inventories)
	}
	w.d.Committed(w.now, after, nil, &Effects{})
	w.d.Load(w.now, w.store.snapshot())
	again := &Effects{}
	w.d.Tick(w.now, again)
	if len(again.Inventories) != 0 {
		t.Errorf("what is stored is written again: %+v", again.Inventories)
	}
}
