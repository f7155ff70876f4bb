package schedule

import "rockpool/backend/internal/core/fleet"

// lookPause lies between two searches for a node that could be reserved, in one
// pool, when the first found none.
const lookPause = fleet.Time(1000)

// Stuck finds work that needs a node of its own to become free enough: of a line
// from which nothing was served since `before`, while work that asks for less
// (placed) was; of several lines, the one that is stuck longest. The node is the
// one that could take it with the fewest others gone: the most free slots of those
// large enough, the lowest id first.
func (q *Queue) Stuck(now, before fleet.Time, pool *Pool, placed *fleet.Vector) (*Waiter, *Node) {
	p := q.pools[pool.ID]
	if p == nil || now < p.again || pool.closed() != Admitted {
		return nil, nil
	}
	var line *line
	var node *Node
	looked := false
	for _, l := range p.lines {
		if l.since > before || len(l.heap) == 0 || line != nil && l.since >= line.since || !less(placed, l.shape.request.Demand) {
			continue
		}
		looked = true
		if n := pool.roomiest(&l.shape.request); n != nil {
			line, node = l, n
		}
	}
	if line == nil {
		if looked {
			p.again = now + lookPause
		}
		return nil, nil
	}
	return line.heap[0].head(), node
}

// less reports that a asks for less of something than b.
func less(a, b *fleet.Vector) bool {
	return a.Slots < b.Slots || shortOf(a.Resources, nil, b.Resources) != "" || shortOf(a.Memory, nil, b.Memory) != ""
}

// roomiest gives the node with the most free slots, by rank, of those that may
// get work and could take the request if they were empty; or nil.
func (p *Pool) roomiest(r *Request) *Node {
	c := p.crewOf(r.Role)
	if c == nil {
		return nil
	}
	var best *Node
	for _, g := range c.groups {
		if g.lacks(r) != Admitted || !g.could(r.Demand) {
			continue
		}
		for _, n := range g.members {
			if n == nil || n.level < 0 || best != nil && (n.level < best.level || n.level == best.level && n.ID > best.ID) {
				continue
			}
			if n.couldTake(r.Demand) {
				best = n
			}
		}
	}
	return best
}

// couldTake reports that the node, empty, has so much.
func (n *Node) couldTake(demand *fleet.Vector) bool {
	var none fleet.Vector
	reason, _ := short(&n.capacity, &none, demand)
	return reason == Admitted
}

// CouldTake reports that the node may get work of the kind, and could take the
// request if it were empty.
func (n *Node) CouldTake(r *Request) bool {
	return n.Eligible() && n.group.attrs.Role == r.Role && n.group.lacks(r) == Admitted && n.couldTake(r.Demand)
}

// Keep keeps all new work from the node, for the sake of one piece of work that
// does not fit yet; or lets it in again.
func (x *Index) Keep(n *Node, kept bool) {
	if n.kept == kept {
		return
	}
	if n.group == nil {
		n.kept = kept
		return
	}
	n.group.leave(n)
	n.kept = kept
	n.level = n.levelOf()
	n.group.enter(n)
}
