package schedule

// Round goes once through the work that waits for a pool, best first, while
// its user places what fits. It ends with End.
type Round struct {
	queue *Queue
	pool  *poolQueue
	id    uint64
	aside []set
}

type set struct {
	line *line
	entry
}

// Round begins one for the pool.
func (q *Queue) Round(pool string) Round {
	q.round++
	return Round{queue: q, pool: q.pools[pool], id: q.round}
}

// Next gives the first work whose line was not passed over and which n could
// take (any work, if n is nil), or nil. What it gave before and what was
// neither placed, passed nor set aside comes again.
func (r *Round) Next(n *Node) *Waiter {
	if r.pool == nil {
		return nil
	}
	var best *Waiter
	for _, l := range r.pool.lines {
		if l.passed == r.id || n != nil && !n.Admits(&l.shape.request) {
			continue
		}
		if w := l.head(); w != nil && (best == nil || w.before(best)) {
			best = w
		}
	}
	return best
}

// Pass passes over all work of w's shape: nobody of the pool can take it.
func (r *Round) Pass(w *Waiter) {
	if l := r.lineOf(w); l != nil {
		l.passed = r.id
	}
}

// SetAside passes over w alone: it is w that keeps away from the node.
func (r *Round) SetAside(w *Waiter) {
	if l := r.lineOf(w); l != nil && l.head() == w {
		r.aside = append(r.aside, set{l, l.pop()})
	}
}

// End puts back what was set aside.
func (r *Round) End() {
	for _, s := range r.aside {
		if !s.stale() {
			s.line.push(s.entry)
		}
	}
}

func (r *Round) lineOf(w *Waiter) *line {
	for _, l := range w.lines {
		if l.pool == r.pool {
			return l
		}
	}
	return nil
}
