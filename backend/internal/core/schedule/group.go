package schedule

import (
	"cmp"
	"math/bits"
	"slices"

	"rockpool/backend/internal/core/fleet"
)

const levels = fleet.MaxSlots + 1

// group is the nodes of one pool with the same attributes. Members are sorted
// by id; a node that goes leaves a hole. Unblocked members that are not kept stand in the set of
// their free slots. Counts are always right; positions and sets are made anew at
// the next search when the order was disturbed.
type group struct {
	attrs   Attrs
	crew    *crew // counts the blocked ones
	members []*Node
	live    int32 // members without holes

	eligible int32          // neither blocked nor kept
	count    [levels]int32  // eligible by level
	sets     [levels]bitset // of positions; made when first needed
	top      uint64         // bit l-1: level l has somebody

	disturbed bool

	most       int64 // slots of the largest member that has not left; -1: there is none
	unmeasured bool  // most is to be found anew
}

func (g *group) add(n *Node) {
	n.group, n.pos = g, len(g.members)
	if last := len(g.members) - 1; last >= 0 && (g.members[last] == nil || g.members[last].ID > n.ID) {
		g.disturbed = true
	}
	if len(g.members) == cap(g.members) {
		g.disturbed = true
		g.members = slices.Grow(g.members, max(64, len(g.members)))
	}
	g.members = append(g.members, n)
	g.live++
	g.crew.nodes++
	g.grew(n)
	n.level = n.levelOf()
	g.enter(n)
}

func (g *group) remove(n *Node) {
	g.leave(n)
	g.members[n.pos] = nil
	g.live--
	g.crew.nodes--
	g.shrank(n)
	n.group = nil
}

// shift puts a member where its blocks and free slots now belong.
func (g *group) shift(n *Node, blocks Blocks) {
	g.leave(n)
	n.blocks = blocks
	n.level = n.levelOf()
	g.grew(n)
	g.enter(n)
}

func (g *group) enter(n *Node) {
	if n.level < 0 {
		g.crew.blocked[n.first()]++
		return
	}
	g.eligible++
	g.count[n.level]++
	if n.level > 0 {
		g.top |= 1 << (n.level - 1)
	}
	if !g.disturbed {
		g.place(n)
	}
}

func (g *group) leave(n *Node) {
	if n.level < 0 {
		g.crew.blocked[n.first()]--
		return
	}
	g.eligible--
	g.count[n.level]--
	if n.level > 0 && g.count[n.level] == 0 {
		g.top &^= 1 << (n.level - 1)
	}
	if !g.disturbed {
		g.sets[n.level].clear(n.pos)
	}
}

func (g *group) place(n *Node) {
	if g.sets[n.level].tiers == nil {
		g.sets[n.level] = newBitset(cap(g.members))
	}
	g.sets[n.level].set(n.pos)
}

// arrange sorts the members and makes the sets anew.
func (g *group) arrange() {
	if !g.disturbed {
		return
	}
	g.disturbed = false
	g.members = slices.DeleteFunc(g.members, func(n *Node) bool { return n == nil })
	slices.SortFunc(g.members, func(a, b *Node) int { return cmp.Compare(a.ID, b.ID) })
	g.sets = [levels]bitset{}
	for i, n := range g.members {
		n.pos = i
		if n.level >= 0 {
			g.place(n)
		}
	}
}

// lacks gives the reason for which no member can take the request.
func (g *group) lacks(r *Request) fleet.Reason {
	if r.Runner != "" {
		if _, found := slices.BinarySearch(g.attrs.Runners, r.Runner); !found {
			return fleet.NoRunner
		}
	}
	if r.Backend != "" && r.Backend != g.attrs.Backend {
		return fleet.WrongBackend
	}
	if r.Region != "" && r.Region != g.attrs.Region {
		return fleet.WrongRegion
	}
	return Admitted
}

// countBelow counts the eligible members of a level under floor.
func (g *group) countBelow(floor int) int32 {
	if floor == 0 {
		return 0
	}
	few := g.count[0]
	for under := g.top & (1<<(floor-1) - 1); under != 0; under &= under - 1 {
		few += g.count[bits.TrailingZeros64(under)+1]
	}
	return few
}

// below gives the highest level under l that has somebody and is not under
// floor, or -1.
func (g *group) below(l, floor int) int {
	under := g.top
	if l <= fleet.MaxSlots {
		under &= 1<<max(0, l-1) - 1
	}
	next := bits.Len64(under)
	if next == 0 && (l == 0 || g.count[0] == 0) {
		return -1
	}
	if next < floor {
		return -1
	}
	return next
}
