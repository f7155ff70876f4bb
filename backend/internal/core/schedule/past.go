package schedule

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
)

// era is the time in which work comes to a line between two nodes that the line
// could have used and that went to others. All who came in it were passed over
// for the first time together.
type era struct{ passed fleet.Time } // when; Never: not yet

// past is what work has waited for in places that it stands in no more.
type past struct {
	passed fleet.Time // when it was passed over first; Never: it was not
	parked fleet.Time // for how long
}

// newest gives the era of work that comes now.
func (l *line) newest() *era {
	if l.era == nil || l.era.passed != fleet.Never {
		l.era = &era{passed: fleet.Never}
	}
	return l.era
}

// PassedOver notes that the node went to w: it could have been other work's that
// waits for the pool, here and in w's own line. The node has w already.
func (q *Queue) PassedOver(now fleet.Time, pool string, n *Node, w *Waiter) {
	p := q.pools[pool]
	if p == nil {
		return
	}
	for _, l := range p.lines {
		if l.era != nil && l.era.passed == fleet.Never && (l.shape == w.shape || n.AdmitsInstead(&l.shape.request, w.Request.Demand)) {
			l.era.passed = now
		}
	}
}

// AdmitsInstead reports that the node could take the request if it had not what
// it holds of so much.
func (n *Node) AdmitsInstead(r *Request, of *fleet.Vector) bool {
	if !n.Eligible() || n.group.attrs.Role != r.Role || n.group.lacks(r) != Admitted {
		return false
	}
	if r.Demand.Plain() {
		return r.Demand.Slots <= n.capacity.Slots-n.reserved.Slots+of.Slots
	}
	rest := n.Reserved()
	addTo(&rest, of, -1)
	reason, _ := short(&n.capacity, &rest, r.Demand)
	return reason == Admitted
}

// Waited splits the time since w began to wait, or was banked, in milliseconds: for its app's
// quota, behind other work that was first, and for a node.
func (w *Waiter) Waited(now, since fleet.Time) (pool, fairness, quota int64) {
	all := int64(max(0, now-since))
	p := w.pastUntil(now)
	quota = min(all, int64(p.parked))
	if p.passed != fleet.Never {
		fairness = min(all-quota, int64(max(0, now-max(since, p.passed))))
	}
	return all - quota - fairness, fairness, quota
}

// Banked begins to count anew how long w has been parked.
func (w *Waiter) Banked(now fleet.Time) { w.past.parked -= w.pastUntil(now).parked }

// pastUntil is what w has waited for until now. A parked app is parked in all
// pools: the first one speaks for the others.
func (w *Waiter) pastUntil(now fleet.Time) past {
	p := w.past
	for i := range w.places {
		at := &w.places[i]
		p.passed = min(p.passed, at.era.passed)
		if i == 0 {
			p.parked += at.strand.parkedUntil(now) - at.parked
		}
	}
	return p
}

func (s *strand) parkedUntil(now fleet.Time) fleet.Time {
	if s.parked {
		return s.parkedIn + now - s.parkedAt
	}
	return s.parkedIn
}

// Park lets what is like w wait for its app's quota: no round gives it before
// Unpark.
func (q *Queue) Park(now fleet.Time, w *Waiter) {
	for i := range w.places {
		s := w.places[i].strand
		if s.parked {
			continue
		}
		s.line.take(s)
		s.parked, s.parkedAt = true, now
		q.parked[w.App] = append(q.parked[w.App], s)
	}
}

// Unpark lets an app's parked work wait for nodes again, and gives the pools of it.
func (q *Queue) Unpark(now fleet.Time, app string) (pools []string) {
	for _, s := range q.parked[app] {
		s.parkedIn = s.parkedUntil(now)
		s.parked = false
		s.line.insert(s)
		if s.flow.tag < s.line.time {
			q.retag(s.flow, s.line.time)
		}
		if !slices.Contains(pools, s.line.pool.id) {
			pools = append(pools, s.line.pool.id)
		}
	}
	delete(q.parked, app)
	return pools
}

// unlist forgets a parked strand.
func (q *Queue) unlist(s *strand) {
	app := s.flow.app
	q.parked[app] = slices.DeleteFunc(q.parked[app], func(other *strand) bool { return other == s })
	if len(q.parked[app]) == 0 {
		delete(q.parked, app)
	}
}

// Parked reports that the work waits for its app's quota.
func (w *Waiter) Parked() bool { return len(w.places) > 0 && w.places[0].strand.parked }

// ParkedOf counts, of the app's work of the role that waits for the pool before any
// other, what waits for the app's quota.
func (q *Queue) ParkedOf(pool, app, role string) (parked int64) {
	for _, s := range q.strandsOf(pool, app) {
		if s.parked && s.line.shape.request.Role == role {
			parked += s.lead
		}
	}
	return parked
}

// Heads calls visit with the next of each kind of the app's work of the role that
// waits for a node of the pool. What is alike stands behind one head.
func (q *Queue) Heads(pool, app, role string, visit func(*Waiter)) {
	for _, s := range q.strandsOf(pool, app) {
		if s.parked || s.line.shape.request.Role != role {
			continue
		}
		if w := s.head(); w != nil {
			visit(w)
		}
	}
}

func (q *Queue) strandsOf(pool, app string) []*strand {
	if p := q.pools[pool]; p != nil && p.byApp[app] != nil {
		return p.byApp[app].strands
	}
	return nil
}
