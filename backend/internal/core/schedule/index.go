package schedule

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
)

// Index is the nodes of all pools.
type Index struct{ pools map[string]*Pool }

// NewIndex makes an empty one.
func NewIndex() *Index { return &Index{pools: map[string]*Pool{}} }

// Pool is one pool's nodes. A pool that nobody put is active and empty.
type Pool struct {
	ID    string
	State fleet.PoolState

	nodes int32
	roles []*crew // those that its nodes have
	byKey map[string]*group
}

// crew is a pool's nodes of one role, with the counts of all their groups.
type crew struct {
	role    string
	nodes   int32
	blocked [fleet.NumReasons]int32 // by first reason
	groups  []*group
}

// crewOf gives the nodes of a role, or nil.
func (p *Pool) crewOf(role string) *crew {
	for _, c := range p.roles {
		if c.role == role {
			return c
		}
	}
	return nil
}

// closed gives the reason for which the pool takes nothing, or Admitted.
func (p *Pool) closed() fleet.Reason {
	switch p.State {
	case fleet.PoolIsClosed:
		return fleet.PoolDisabled
	case fleet.PoolDrains:
		return fleet.PoolDraining
	}
	return Admitted
}

// Pool gives the pool of that id; it is the same pointer until it is dropped.
func (x *Index) Pool(id string) *Pool {
	p := x.pools[id]
	if p == nil {
		p = newPool(id)
		x.pools[id] = p
	}
	return p
}

// Look is Pool without keeping one that is not there.
func (x *Index) Look(id string) *Pool {
	if p := x.pools[id]; p != nil {
		return p
	}
	return newPool(id)
}

func newPool(id string) *Pool {
	return &Pool{ID: id, State: fleet.PoolActive, byKey: map[string]*group{}}
}

// Drop forgets a pool. One that still has nodes is only active again.
func (x *Index) Drop(id string) {
	if p := x.pools[id]; p != nil {
		p.State = fleet.PoolActive
		if p.nodes == 0 {
			delete(x.pools, id)
		}
	}
}

// Usable counts the pool's nodes that may get new work of the role, busy ones
// too. The empty role is any.
func (p *Pool) Usable(role string) int32 {
	var usable int32
	if p.closed() != Admitted {
		return 0
	}
	for _, c := range p.roles {
		if role == "" || c.role == role {
			usable += c.usable()
		}
	}
	return usable
}

func (c *crew) usable() (nodes int32) {
	for _, g := range c.groups {
		nodes += g.eligible
	}
	return nodes + c.blocked[fleet.Reserved]
}

// Put adds the node, or moves it to another pool or other attributes, and sets
// its capacity and what blocks it. Reservations stay.
func (x *Index) Put(n *Node, pool string, attrs Attrs, capacity fleet.Vector, blocks Blocks) {
	if n.group != nil && (capacity.Slots < n.capacity.Slots || blocks.Has(gone)) {
		n.group.shrank(n)
	}
	n.capacity = capacity
	p := x.Pool(pool)
	if n.group != nil && n.pool == p && n.group.attrs.equal(&attrs) {
		n.group.shift(n, blocks)
		return
	}
	x.Remove(n)
	n.blocks, n.pool = blocks, p
	p.nodes++
	p.groupOf(&attrs).add(n)
}

func (p *Pool) groupOf(attrs *Attrs) *group {
	key := attrs.key()
	g := p.byKey[key]
	if g == nil {
		c := p.crewOf(attrs.Role)
		if c == nil {
			c = &crew{role: attrs.Role}
			p.roles = append(p.roles, c)
		}
		g = &group{attrs: *attrs, crew: c, most: -1}
		p.byKey[key] = g
		c.groups = append(c.groups, g)
	}
	return g
}

// Remove takes the node out.
func (x *Index) Remove(n *Node) {
	g, p := n.group, n.pool
	if g == nil {
		return
	}
	g.remove(n)
	p.nodes--
	n.pool = nil
	if g.live == 0 {
		delete(p.byKey, g.attrs.key())
		g.crew.groups = slices.DeleteFunc(g.crew.groups, func(other *group) bool { return other == g })
	}
	if g.crew.nodes == 0 {
		p.roles = slices.DeleteFunc(p.roles, func(other *crew) bool { return other == g.crew })
	}
}

// Block sets what keeps all work from the node.
func (x *Index) Block(n *Node, blocks Blocks) {
	if n.group != nil && n.blocks != blocks {
		if blocks.Has(gone) {
			n.group.shrank(n)
		}
		n.group.shift(n, blocks)
	}
}

// Reserve takes the demand from the node's free capacity whatever blocks it;
// false, and nothing taken, when it does not fit.
func (x *Index) Reserve(n *Node, demand *fleet.Vector) bool {
	if n.Short(demand) != Admitted {
		return false
	}
	x.change(n, demand, 1)
	return true
}

// Charge is Reserve of what is held already, as read back: it always succeeds.
func (x *Index) Charge(n *Node, demand *fleet.Vector) { x.change(n, demand, 1) }

// Release gives the demand back.
func (x *Index) Release(n *Node, demand *fleet.Vector) { x.change(n, demand, -1) }

func (x *Index) change(n *Node, demand *fleet.Vector, sign int64) {
	addTo(&n.reserved, demand, sign)
	if level := n.levelOf(); n.group != nil && n.level != level {
		n.group.leave(n)
		n.level = level
		n.group.enter(n)
	}
}
