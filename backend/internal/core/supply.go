package core

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/pool"
)

// supply is what the pools have for new work, as things are or as they would be.
type supply struct {
	ids    []string // of pools, sorted
	pools  map[string]*poolSupply
	owners map[int64]int32 // nodes that count as a user's own
}

// poolSupply sums up one pool. Usable nodes may get new work, busy ones too.
type poolSupply struct {
	shape poolShape
	nodes int32 // that have not left
	roles []roleSupply
}

// poolShape is what a pool has to offer: slots of all its nodes, the free ones of
// usable nodes and those of the others.
type poolShape struct {
	usable                int32
	slots, free, outOfUse int64
}

// roleSupply is a role that nodes of the pool have, usable or not.
type roleSupply struct {
	role   string
	usable int32
}

var noSupply = &poolSupply{}

// standing is where a node would be and whether it might get new work.
type standing struct {
	pool   string
	usable bool
}

// asIs is where the node is.
func asIs(n *node) standing { return standing{n.rec.Pool, n.slot.Eligible()} }

// supplyOf sums up all nodes, each as it stands.
func (d *Dispatch) supplyOf(stand func(n *node) standing) *supply {
	s := &supply{ids: slices.Clone(d.poolIDs), pools: map[string]*poolSupply{}, owners: map[int64]int32{}}
	for _, n := range d.order {
		s.add(n, stand(n))
	}
	return s
}

func (s *supply) add(n *node, at standing) {
	p := s.pools[at.pool]
	if p == nil {
		p = &poolSupply{}
		s.pools[at.pool] = p
		if i, known := slices.BinarySearch(s.ids, at.pool); !known {
			s.ids = slices.Insert(s.ids, i, at.pool)
		}
	}
	usable := at.usable && at.pool != fleet.PoolUnassigned
	p.shape.add(n, usable)
	if n.lease.State == fleet.LeaseLeft {
		return
	}
	p.nodes++
	p.addRole(n.rec.Role, usable)
	if n.rec.Owner != 0 && at.pool != fleet.PoolUnassigned {
		s.owners[n.rec.Owner]++
	}
}

func (p *poolShape) add(n *node, usable bool) {
	p.slots += n.rec.Capacity.Slots
	if usable {
		p.usable++
		p.free += n.slot.FreeSlots()
	} else {
		p.outOfUse += n.slot.FreeSlots()
	}
}

func (p *poolSupply) addRole(role string, usable bool) {
	i := slices.IndexFunc(p.roles, func(r roleSupply) bool { return r.role == role })
	if i < 0 {
		i = len(p.roles)
		p.roles = append(p.roles, roleSupply{role: role})
	}
	if usable {
		p.roles[i].usable++
	}
}

func (s *supply) pool(id string) *poolSupply {
	if p := s.pools[id]; p != nil {
		return p
	}
	return noSupply
}

// usable counts the pool's usable nodes of a role; the empty one is any.
func (s *supply) usable(id, role string) int32 {
	p := s.pool(id)
	if role == "" {
		return p.shape.usable
	}
	for i := range p.roles {
		if p.roles[i].role == role {
			return p.roles[i].usable
		}
	}
	return 0
}

// reach counts the usable nodes of a role in all pools of a chain.
func (s *supply) reach(c pool.Chain, role string) (usable int32) {
	for _, id := range c.Tries() {
		usable += s.usable(id, role)
	}
	return usable
}
