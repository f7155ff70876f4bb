package schedule

// Round goes once through the work that waits for a pool, first come what is
// first, while its user places what fits. It ends with End.
type Round struct {
	queue *Queue
	pool  *poolQueue
	id    uint64
	aside []set
}

type set struct {
	strand *strand
	entry
}

// Round begins one for the pool.
func (q *Queue) Round(pool string) Round {
	q.round++
	return Round{queue: q, pool: q.pools[pool], id: q.round}
}

// Next gives the first work whose line was not passed over and which n could
// take (any work, if n is nil), or nil. What it gave before and what was
// neither placed, parked, passed nor set aside comes again.
func (r *Round) Next(n *Node) *Waiter {
	if r.pool == nil {
		return nil
	}
	var best *strand
	for _, l := range r.pool.lines {
		if l.passed == r.id || len(l.heap) == 0 || n != nil && !n.Admits(&l.shape.request) {
			continue
		}
		if s := l.heap[0]; best == nil || s.first(best) {
			best = s
		}
	}
	if best == nil {
		return nil
	}
	return best.head()
}

// first compares the strands on top of two lines: by their apps, and of one app
// by their work.
func (s *strand) first(other *strand) bool {
	if s.flow != other.flow {
		return s.flow.before(other.flow)
	}
	s.head() // what is on top is not stale
	other.head()
	return s.heap[0].before(&other.heap[0])
}

// Pass passes over all work of w's shape: nobody of the pool can take it.
func (r *Round) Pass(w *Waiter) {
	if s := w.in(r.pool); s != nil {
		s.line.passed = r.id
	}
}

// SetAside passes over w alone: it is w that keeps away from the node.
func (r *Round) SetAside(w *Waiter) {
	s := w.in(r.pool)
	if s == nil || s.head() != w {
		return
	}
	r.aside = append(r.aside, set{s, s.pop()})
	if s.head() == nil {
		s.line.take(s)
	}
}

// End puts back what was set aside.
func (r *Round) End() {
	for _, a := range r.aside {
		if !a.stale() {
			a.strand.push(a.entry)
			a.strand.line.insert(a.strand)
		}
	}
}
