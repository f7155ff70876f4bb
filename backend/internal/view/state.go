package view

import (
	"slices"
	"strconv"
	"strings"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

// state is what the view knows of nodes, pools, alarms and placements.
type state struct {
	rev     uint64
	nodes   map[string]*nodeState
	kept    map[string]*record.Node // as the database had them when the view began
	pools   []core.PoolView         // by id
	history history
	waits   core.Waits
	frozen  core.Freeze
	alarms  map[string]fleet.Alarm // that last, by id
	placed  placements
}

func newState() state {
	s := state{kept: map[string]*record.Node{}, history: history{}}
	s.rest()
	return s
}

// rest forgets nodes and placements: the next answer of the loop has them all.
func (s *state) rest() { s.rev, s.nodes, s.placed = 0, map[string]*nodeState{}, placements{} }

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

// news is what an answer of the loop changed.
type news struct {
	nodes  []changed
	pools  []string // whose sums changed
	alarms []changed
	placed []changed // placements
	waits  bool      // or the freeze
}

// moved reports that a node's lease, pool or holds became others.
func (n *news) moved() bool {
	return slices.ContainsFunc(n.nodes, func(c changed) bool { return c.urgent })
}

// take brings the state up to an answer of the loop and says what changed.
func (s *state) take(c *core.Changes) (n news) {
	s.rev = c.Rev
	n.nodes, n.placed = s.takeNodes(c), s.placed.take(c)
	if c.Pools != nil {
		n.pools, n.waits = differing(s.pools, c.Pools), s.waits != c.Waits || s.frozen != c.Frozen
		s.pools, s.waits, s.frozen = c.Pools, c.Waits, c.Frozen
		n.alarms = s.takeAlarms(c.Alarms)
	}
	return n
}

func (s *state) takeNodes(c *core.Changes) (list []changed) {
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
	return list
}

// takeAlarms keeps the alarms that last. It is urgent that one is raised, resolved,
// acknowledged or silenced, not that it is counted on.
func (s *state) takeAlarms(now []fleet.Alarm) (list []changed) {
	was := s.alarms
	s.alarms = make(map[string]fleet.Alarm, len(now))
	for i := range now {
		id := alarmID(&now[i])
		s.alarms[id] = now[i]
		old, there := was[id]
		delete(was, id)
		if !there || !sameAlarm(&old, &now[i]) {
			list = append(list, changed{id, !there || old.AckedAt != now[i].AckedAt || old.SilencedUntil != now[i].SilencedUntil})
		}
	}
	for id := range was {
		list = append(list, changed{id, true})
	}
	return list
}

// sameAlarm reports that the rows of both say the same.
func sameAlarm(a, b *fleet.Alarm) bool {
	return alarmRow(a, 0) == alarmRow(b, 0) && a.SilencedUntil == b.SilencedUntil
}

func (s *state) pool(id string) *core.PoolView {
	i, found := slices.BinarySearchFunc(s.pools, id, func(p core.PoolView, id string) int { return strings.Compare(p.Pool.ID, id) })
	if !found {
		return nil
	}
	return &s.pools[i]
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
		b.WriteString("\x00" + strconv.FormatInt(int64(max(h.Until, h.Deadline)), 36))
	}
	return b.String()
}
