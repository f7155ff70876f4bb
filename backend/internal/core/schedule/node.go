package schedule

import (
	"math/bits"
	"slices"
	"strings"

	"rockpool/backend/internal/core/fleet"
)

// Attrs is what a node is, as far as requests ask for it.
type Attrs struct {
	Role    string
	Backend string
	Region  string
	Runners []string // sorted
}

func (a *Attrs) equal(b *Attrs) bool {
	return a.Role == b.Role && a.Backend == b.Backend && a.Region == b.Region && slices.Equal(a.Runners, b.Runners)
}

// key is the same for equal attributes only: names have no control characters.
func (a *Attrs) key() string {
	return strings.Join([]string{a.Role, a.Backend, a.Region, strings.Join(a.Runners, "\x01")}, "\x00")
}

// Blocks is a set of reasons that hold for a node whatever is asked of it.
type Blocks uint32

// gone is no reason of its own but what stands beside one: the node has left.
const gone = fleet.NumReasons

// Gone marks a node that has left: it is not hoped for.
func (b Blocks) Gone() Blocks { return b.With(gone) }

// With adds reason r.
func (b Blocks) With(r fleet.Reason) Blocks { return b | 1<<r }

// Has reports reason r.
func (b Blocks) Has(r fleet.Reason) bool { return b&(1<<r) != 0 }

// First is the reason that counts, or Admitted.
func (b Blocks) First() fleet.Reason {
	if b == 0 {
		return Admitted
	}
	return fleet.Reason(bits.TrailingZeros32(uint32(b)))
}

// List gives the reasons in their order.
func (b Blocks) List() []fleet.Reason {
	var list []fleet.Reason
	for r := fleet.Reason(0); r < fleet.NumReasons; r++ {
		if b.Has(r) {
			list = append(list, r)
		}
	}
	return list
}

// Node is one node in the index. Its owner embeds it and changes it through
// the Index only.
type Node struct {
	pool   *Pool
	group  *group
	pos    int // in group.members
	level  int // whole free slots, 0..MaxSlots; -1 while blocked or kept
	blocks Blocks
	kept   bool // for one piece of work, until it fits
	ID     string

	capacity fleet.Vector
	reserved fleet.Vector

	Owner any // whoever embeds it, for whom it finds
}

// Reserved is a copy of what work holds on the node.
func (n *Node) Reserved() fleet.Vector {
	return fleet.Vector{
		Slots: n.reserved.Slots, Resources: slices.Clone(n.reserved.Resources), Memory: slices.Clone(n.reserved.Memory),
	}
}

// Free is what is left of the node's capacity.
func (n *Node) Free() fleet.Vector { return left(&n.capacity, &n.reserved) }

// FreeSlots is the whole slots left.
func (n *Node) FreeSlots() int64 { return max(0, n.capacity.Slots-n.reserved.Slots) }

// Blocks gives the reasons that hold whatever is asked.
func (n *Node) Blocks() Blocks { return n.blocks }

// Eligible reports that the node may get new work of some kind.
func (n *Node) Eligible() bool {
	return n.pool != nil && n.blocks == 0 && n.pool.State == fleet.PoolActive
}

// Short gives the first thing that the node has too little of, or Admitted.
func (n *Node) Short(demand *fleet.Vector) fleet.Reason {
	reason, _ := short(&n.capacity, &n.reserved, demand)
	return reason
}

// first is the reason under which a node without a level counts.
func (n *Node) first() fleet.Reason {
	if n.blocks == 0 {
		return fleet.Reserved
	}
	return n.blocks.First()
}

// levelOf is the node's place by rank.
func (n *Node) levelOf() int {
	if n.blocks != 0 || n.kept {
		return -1
	}
	return int(min(n.FreeSlots(), fleet.MaxSlots))
}
