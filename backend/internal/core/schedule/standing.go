package schedule

import "slices"

// Standing is where work stands among what waits for a pool.
type Standing struct {
	Of         int64 // of its app, itself included
	AheadAlike int64 // of its app, ask for the same and are tried before it
	AheadOther int64 // of its app, ask for something else and are tried before it
	Apps       []AppWaits
}

// AppWaits is how much of another app waits for a pool.
type AppWaits struct {
	App  string
	Work int64
}

// Standing looks at all work of w's app that waits for the pool; nothing changes.
// false: w does not wait there.
func (q *Queue) Standing(w *Waiter, pool string) (s Standing, waits bool) {
	p := q.pools[pool]
	if p == nil || w.in(p) == nil {
		return Standing{}, false
	}
	for _, f := range p.list {
		if f.app != w.App {
			if work := f.live(); work > 0 {
				s.Apps = append(s.Apps, AppWaits{f.app, work})
			}
			continue
		}
		s.Of = f.live()
		for _, strand := range f.strands {
			if ahead := strand.before(w); strand.line.shape == w.shape {
				s.AheadAlike += ahead
			} else {
				s.AheadOther += ahead
			}
		}
	}
	return s, true
}

// live counts the work of the app that waits for the pool.
func (f *flow) live() (n int64) {
	for _, s := range f.strands {
		n += int64(s.live)
	}
	return n
}

// before counts the strand's work that is served before w.
func (s *strand) before(w *Waiter) (n int64) {
	own := w.entry()
	for i := range s.heap {
		if e := &s.heap[i]; e.before(&own) && !e.stale() {
			n++
		}
	}
	return n
}

// Firsts lists what is served first of each kind of request that waits for the
// pool, whatever waits longest before; work that is parked is left out.
func (q *Queue) Firsts(pool string) (list []*Waiter) {
	p := q.pools[pool]
	if p == nil {
		return nil
	}
	for _, l := range p.lines {
		if len(l.heap) > 0 {
			list = append(list, l.heap[0].peek())
		}
	}
	return slices.DeleteFunc(list, func(w *Waiter) bool { return w == nil })
}

// peek is the strand's work that is served first, or nil; unlike head it leaves
// stale entries where they are.
func (s *strand) peek() *Waiter {
	var best *entry
	for i := range s.heap {
		if e := &s.heap[i]; !e.stale() && (best == nil || e.before(best)) {
			best = e
		}
	}
	if best == nil {
		return nil
	}
	return best.w
}
