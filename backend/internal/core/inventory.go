package core

import "rockpool/backend/internal/core/fleet"

// InventoryWrite keeps what a node says that it has. It applies to the session
// that stands; what the database has already is not written again.
type InventoryWrite struct {
	Node      string
	Epoch     int64
	Inventory *fleet.Inventory
}

// Inventory takes what a node says that it has. Nothing is decided by it. It is
// remembered until the database has it, and written anew after a Load.
func (d *Dispatch) Inventory(now fleet.Time, from Session, inventory *fleet.Inventory, out *Effects) {
	n := d.speaker(now, from, out)
	if n == nil {
		return
	}
	n.inventory = inventory
	n.writeInventory(out)
	d.settle(now, out)
}

// writeInventory asks for what the database does not have yet.
func (n *node) writeInventory(out *Effects) {
	if n.inventory != nil && n.open {
		out.Inventories = append(out.Inventories, InventoryWrite{Node: n.rec.ID, Epoch: n.epoch, Inventory: n.inventory})
	}
}

// inventoryCommitted forgets what the database has.
func (d *Dispatch) inventoryCommitted(w *InventoryWrite) {
	if n := d.nodes[w.Node]; n != nil && n.inventory == w.Inventory {
		n.inventory = nil
	}
}
