package view

import (
	"slices"
	"strings"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

// sparkTicks is how many points a sparkline has, one each sparkEvery.
const (
	sparkTicks = 60
	sparkEvery = 10 * time.Second
)

// state is what the view knows of nodes and pools.
type state struct {
	rev   uint64
	nodes map[string]*nodeState
	kept  map[string]*record.Node // as the database had them when the view began
	pools []core.PoolView
	spark map[string][]int64
}

// nodeState is a node with what of it is urgent.
type nodeState struct {
	view   core.NodeView
	urgent string // lease, pool and holds
}

// changed is one row that became different.
type changed struct {
	id     string
	urgent bool
}

// take brings the state up to an answer of the loop and says which nodes and which
// pools' sums changed.
func (s *state) take(c *core.Changes) (list []changed, pools []string) {
	s.rev = c.Rev
	if c.Whole {
		list = s.forget(c.Nodes)
	}
	for i := range c.Nodes {
		v := &c.Nodes[i]
		urgent := urgentPart(v)
		n := s.nodes[v.Record.ID]
		if n == nil {
			n = &nodeState{}
			s.nodes[v.Record.ID] = n
		}
		list = append(list, changed{v.Record.ID, n.urgent != urgent})
		n.view, n.urgent = *v, urgent
	}
	if c.Pools != nil {
		pools = differing(s.pools, c.Pools)
		s.pools = c.Pools
	}
	return list, pools
}

// differing lists the pools that are not the same in both.
func differing(before, after []core.PoolView) (ids []string) {
	was := make(map[string]core.PoolView, len(before))
	for i := range before {
		was[before[i].Pool.ID] = before[i]
	}
	for i := range after {
		id := after[i].Pool.ID
		if old, there := was[id]; !there || old != after[i] {
			ids = append(ids, id)
		}
		delete(was, id)
	}
	for id := range was {
		ids = append(ids, id)
	}
	return ids
}

// forget drops nodes that are no more.
func (s *state) forget(there []core.NodeView) (gone []changed) {
	for id := range s.nodes {
		_, found := slices.BinarySearchFunc(there, id, func(n core.NodeView, id string) int { return strings.Compare(n.Record.ID, id) })
		if !found {
			delete(s.nodes, id)
			gone = append(gone, changed{id, true})
		}
	}
	return gone
}

// urgentPart is what goes out at once when it changes.
func urgentPart(v *core.NodeView) string {
	var b strings.Builder
	b.WriteString(v.Lease.String() + "\x00" + v.Record.Pool)
	for _, h := range v.Record.Holds {
		b.WriteString("\x00" + string(h.Kind) + "\x00" + string(h.Owner) + "\x00" + h.Reason)
	}
	return b.String()
}

// sample adds a point to each pool's sparkline.
func (s *state) sample() {
	spark := make(map[string][]int64, len(s.pools))
	for i := range s.pools {
		p := &s.pools[i]
		line := append(slices.Clip(s.spark[p.Pool.ID]), p.SlotsFree)
		spark[p.Pool.ID] = line[max(0, len(line)-sparkTicks):]
	}
	s.spark = spark
}

// poolsSeenBy tells which pools a user sees: their own, the shared one, and those
// that their nodes are in. Owner 0 sees all.
func (s *state) poolsSeenBy(owner int64) func(pool string) bool {
	if owner == 0 {
		return func(string) bool { return true }
	}
	mine := map[string]bool{fleet.OwnerPool(owner): true, fleet.PoolDefault: true}
	for _, n := range s.nodes {
		if n.view.Record.Owner == owner {
			mine[n.view.Record.Pool] = true
		}
	}
	return func(pool string) bool { return mine[pool] }
}
