package schedule

import "rockpool/backend/internal/core/fleet"

// Request is what work asks of a node. Empty fields ask for nothing, but Role.
type Request struct {
	Role    string
	Runner  string
	Backend string
	Region  string
	Pool    string // that a canary job names, or empty
	Demand  *fleet.Vector
}

// RequestOf reads a job's request.
func RequestOf(spec *fleet.JobSpec) Request {
	return Request{Role: spec.Role, Runner: spec.Runner, Backend: spec.Backend, Region: spec.Region, Pool: spec.Pool, Demand: &spec.Demands}
}

// Exclusion keeps one piece of work away from one node until a time.
type Exclusion struct {
	Node  *Node
	Until fleet.Time
}

// Pick is a pool's best node for a request; no node: nobody can take it.
type Pick struct {
	Node *Node
	Tie  bool // another candidate has as many free slots
}

// countProbes bounds the nodes that are looked at only to count candidates of a
// demand beyond slots, once the best is known.
const countProbes = 256

// Find ranks the pool's candidates for r and counts every node of the pool in
// tally, each under its first reason. For a demand beyond slots, nodes further
// down the rank than countProbes are counted as candidates by their slots alone.
func (p *Pool) Find(r *Request, excluded []Exclusion, tally *fleet.Tally) Pick {
	*tally = fleet.Tally{Pool: p.ID, Nodes: p.nodes}
	if reason := p.closed(); reason != Admitted {
		tally.Rejected[reason] = p.nodes
		return Pick{}
	}
	c := p.crewOf(r.Role)
	if c == nil {
		tally.Rejected[fleet.WrongRole] = p.nodes
		return Pick{}
	}
	tally.Rejected = c.blocked
	tally.Rejected[fleet.WrongRole] = p.nodes - c.nodes
	var best Pick
	for _, g := range c.groups {
		if g.eligible == 0 {
			continue
		}
		if reason := g.lacks(r); reason != Admitted {
			tally.Rejected[reason] += g.eligible
			continue
		}
		best.improve(g.find(r, excluded, tally))
	}
	return best
}

// improve keeps the better of two picks of different groups.
func (best *Pick) improve(other Pick) {
	switch {
	case other.Node == nil:
	case best.Node == nil || other.Node.level > best.Node.level:
		*best = other
	case other.Node.level == best.Node.level:
		if other.Node.ID < best.Node.ID {
			best.Node = other.Node
		}
		best.Tie = true
	}
}

// find is Find within one group that has what is asked for.
func (g *group) find(r *Request, excluded []Exclusion, tally *fleet.Tally) Pick {
	g.arrange()
	floor := int(min(r.Demand.Slots, levels))
	candidates := g.countSlots(floor, excluded, tally)
	var best Pick
	probes, plain := 0, r.Demand.Plain()
	for level := g.below(levels, floor); level >= 0; level = g.below(level, floor) {
		known := best.Node != nil
		if known && (plain || probes >= countProbes) {
			break
		}
		set := &g.sets[level]
		for pos := set.next(0); pos >= 0; pos = set.next(pos + 1) {
			n := g.members[pos]
			if isExcluded(n, excluded) {
				continue
			}
			probes++
			if plain && floor > 0 {
				// its level says that it has the slots
			} else if reason, name := short(&n.capacity, &n.reserved, r.Demand); reason != Admitted {
				reject(tally, reason, name)
				candidates--
				continue
			}
			if best.Node == nil {
				best.Node = n
			} else if level == best.Node.level {
				best.Tie = true
			}
			if best.Tie && (plain || probes >= countProbes) {
				break
			}
		}
	}
	tally.Candidates += candidates
	return best
}

// countSlots counts the eligible members that have too few slots or are
// excluded, and gives the number of the others.
func (g *group) countSlots(floor int, excluded []Exclusion, tally *fleet.Tally) int32 {
	few := g.countBelow(floor)
	others := g.eligible - few
	for i := range excluded {
		n := excluded[i].Node
		if n.group != g || n.level < 0 || isExcluded(n, excluded[:i]) {
			continue
		}
		tally.Rejected[fleet.Excluded]++
		if n.level < floor {
			few--
		} else {
			others--
		}
	}
	tally.Rejected[fleet.NoSlots] += few
	return others
}

func isExcluded(n *Node, excluded []Exclusion) bool {
	for i := range excluded {
		if excluded[i].Node == n {
			return true
		}
	}
	return false
}

// Admits reports that the node, as it is, could take the request.
func (n *Node) Admits(r *Request) bool {
	return n.Eligible() && !n.kept && n.group.attrs.Role == r.Role && n.group.lacks(r) == Admitted && n.Short(r.Demand) == Admitted
}

// Reasons lists everything that keeps the node from the request, in order.
func (n *Node) Reasons(r *Request, excluded []Exclusion) []fleet.Reason {
	all := n.blocks
	if reason := n.pool.closed(); reason != Admitted {
		all = all.With(reason)
	}
	if n.group.attrs.Role != r.Role {
		all = all.With(fleet.WrongRole)
	}
	if n.kept {
		all = all.With(fleet.Reserved)
	}
	one := Request{Runner: r.Runner}
	for _, part := range []Request{one, {Backend: r.Backend}, {Region: r.Region}} {
		if reason := n.group.lacks(&part); reason != Admitted {
			all = all.With(reason)
		}
	}
	if isExcluded(n, excluded) {
		all = all.With(fleet.Excluded)
	}
	for _, part := range []fleet.Vector{{Slots: r.Demand.Slots}, {Resources: r.Demand.Resources}, {Memory: r.Demand.Memory}} {
		if reason := n.Short(&part); reason != Admitted {
			all = all.With(reason)
		}
	}
	return all.List()
}

// reject counts one node, and keeps the least name of what was short: which node
// is looked at first does not matter.
func reject(tally *fleet.Tally, reason fleet.Reason, name string) {
	tally.Rejected[reason]++
	if reason == fleet.NoResource && (tally.Resource == "" || name < tally.Resource) {
		tally.Resource = name
	}
	if reason == fleet.NoMemory && (tally.Domain == "" || name < tally.Domain) {
		tally.Domain = name
	}
}
