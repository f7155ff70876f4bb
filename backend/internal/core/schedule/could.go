package schedule

import "rockpool/backend/internal/core/fleet"

// Could reports that some node of the pool might take the request one day, as
// nodes are now: it has what is asked for, and so much in all. What holds it,
// fills it or keeps it away does not count; a disabled pool is as if empty.
func (p *Pool) Could(r *Request) bool {
	c := p.crewOf(r.Role)
	if c == nil || p.State == fleet.PoolIsClosed {
		return false
	}
	for _, g := range c.groups {
		if g.lacks(r) == Admitted && g.could(r.Demand) {
			return true
		}
	}
	return false
}

// could compares with the largest members; a demand beyond slots looks at them
// one by one.
func (g *group) could(demand *fleet.Vector) bool {
	g.measure()
	if demand.Slots > g.most {
		return false
	}
	if demand.Plain() {
		return g.most >= 0
	}
	var none fleet.Vector
	for _, n := range g.members {
		if n == nil || n.blocks.Has(gone) {
			continue
		}
		if reason, _ := short(&n.capacity, &none, demand); reason == Admitted {
			return true
		}
	}
	return false
}

// grew and shrank keep up with a member that came or has more, and with one that
// goes or will have less.
func (g *group) grew(n *Node) {
	if !n.blocks.Has(gone) {
		g.most = max(g.most, n.capacity.Slots)
	}
}

func (g *group) shrank(n *Node) {
	if n.capacity.Slots >= g.most {
		g.unmeasured = true
	}
}

// measure finds the most slots of a member anew, after one may have become less.
func (g *group) measure() {
	if !g.unmeasured {
		return
	}
	g.unmeasured, g.most = false, -1
	for _, n := range g.members {
		if n != nil && !n.blocks.Has(gone) {
			g.most = max(g.most, n.capacity.Slots)
		}
	}
}

// FreeSlots sums up the free slots of the nodes that may get new work.
func (p *Pool) FreeSlots() int64 {
	if p.closed() != Admitted {
		return 0
	}
	var sum int64
	for _, c := range p.roles {
		for _, g := range c.groups {
			for level, nodes := range g.count {
				sum += int64(level) * int64(nodes)
			}
		}
	}
	return sum
}
