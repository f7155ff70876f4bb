package schedule

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// Waiter is one piece of work in the queue. Its owner embeds it, fills in the
// exported fields once and changes it through the Queue only.
type Waiter struct {
	Job      ids.JobID
	App      string
	Priority int32
	Seq      uint64 // of arrival
	Request  Request

	shape  *shape
	places []place
	token  uint32 // entries with an older one are stale
	at     int    // in Queue.all; valid while waiting
	past   past
}

// place is where work stands in one pool.
type place struct {
	strand *strand
	era    *era       // it came in
	parked fleet.Time // how long the strand had been parked by then
}

// Spent is what can become the waiter of other work where this one lies: entries that
// it left in lines stay stale. It must not wait.
func (w *Waiter) Spent() Waiter { return Waiter{token: w.token, places: w.places} }

// Waiting reports that the work is in the queue.
func (w *Waiter) Waiting() bool { return w.shape != nil }

// in gives the strand in which the work waits for the pool, or nil.
func (w *Waiter) in(p *poolQueue) *strand {
	for i := range w.places {
		if s := w.places[i].strand; s.line.pool == p {
			return s
		}
	}
	return nil
}

// Queue holds the work that waits. Each pool has one line a shape, and each line
// one strand an app; a piece of work stands in a strand of each of its pools.
// Whose strand is first is the apps' matter (flow), what of it is first the
// app's: by priority, then by arrival.
type Queue struct {
	pools  map[string]*poolQueue
	shapes map[Kind]*shape
	all    []*Waiter
	parked map[string][]*strand // by app
	round  uint64
	stamps uint64
}

// poolQueue is the work that waits for one pool. It is forgotten when none does.
type poolQueue struct {
	id    string
	lines []*line
	first int64 // work whose first pool this is
	flows
	again fleet.Time // not before is a node looked for that could be reserved
}

// NewQueue makes an empty one.
func NewQueue() *Queue {
	return &Queue{pools: map[string]*poolQueue{}, shapes: map[Kind]*shape{}, parked: map[string][]*strand{}}
}

// Len is the number of pieces of work that wait.
func (q *Queue) Len() int { return len(q.all) }

// All lists what waits, in no meaningful but a repeatable order. The caller
// does not change the list nor the queue while it uses it.
func (q *Queue) All() []*Waiter { return q.all }

// Busy reports that work waits for the pool.
func (q *Queue) Busy(pool string) bool { return q.pools[pool] != nil }

// First counts the work that waits for the pool before any other.
func (q *Queue) First(pool string) int64 {
	if p := q.pools[pool]; p != nil {
		return p.first
	}
	return 0
}

// FirstOf counts the app's work that waits for the pool before any other.
func (q *Queue) FirstOf(pool, app string) int64 {
	if p := q.pools[pool]; p != nil && p.byApp[app] != nil {
		return p.byApp[app].first
	}
	return 0
}

// Add puts w behind its like in its pools, in the order in which they are tried.
// It has waited since; when it waits already, it is led elsewhere. Without a pool
// it waits in none and can be found by All alone. An app that begins to wait with
// it owes that much already.
func (q *Queue) Add(now fleet.Time, w *Waiter, pools []string, since fleet.Time, owes uint64) {
	if w.Waiting() {
		w.past = w.pastUntil(now)
	} else {
		w.past = past{passed: fleet.Never}
	}
	q.Remove(w)
	w.shape = q.shapeOf(&w.Request)
	w.shape.waiting++
	w.at = len(q.all)
	q.all = append(q.all, w)
	for i, id := range pools {
		p := q.pools[id]
		if p == nil {
			p = &poolQueue{id: id, flows: flows{byApp: map[string]*flow{}}}
			q.pools[id] = p
		}
		s := q.strandOf(p, w, since, owes)
		if i == 0 {
			p.first++
			s.lead++
			s.flow.first++
		}
		s.live++
		s.push(w.entry())
		w.places = append(w.places, place{strand: s, era: s.line.newest(), parked: s.parkedUntil(now)})
	}
}

// Remove takes w out, if it waits.
func (q *Queue) Remove(w *Waiter) {
	if w.shape == nil {
		return
	}
	w.token++
	for i := range w.places {
		s := w.places[i].strand
		if i == 0 {
			s.line.pool.first--
			s.lead--
			s.flow.first--
		}
		if s.live--; s.live == 0 {
			q.drop(s)
		} else if s.tidy(); s.head() == nil {
			s.line.take(s) // what is left is set aside
		}
	}
	clear(w.places)
	w.places = w.places[:0]
	if w.shape.waiting--; w.shape.waiting == 0 {
		delete(q.shapes, w.shape.key)
	}
	w.shape = nil
	last := q.all[len(q.all)-1]
	q.all[w.at], last.at = last, w.at
	q.all[len(q.all)-1] = nil
	q.all = q.all[:len(q.all)-1]
}

// strandOf finds or makes the strand for w in the pool.
func (q *Queue) strandOf(p *poolQueue, w *Waiter, since fleet.Time, owes uint64) *strand {
	f := p.flowOf(w.App)
	for _, s := range f.strands {
		if s.line.shape == w.shape {
			return s
		}
	}
	l := p.lineOf(w.shape, since)
	if len(f.strands) == 0 && f.tag < l.time+owes {
		q.retag(f, l.time+owes)
	}
	s := &strand{flow: f, line: l, at: -1}
	f.strands = append(f.strands, s)
	l.strands++
	l.insert(s)
	return s
}

// drop forgets a strand in which nothing waits any more, and what it leaves empty.
func (q *Queue) drop(s *strand) {
	l, f := s.line, s.flow
	l.take(s)
	if s.parked {
		q.unlist(s)
	}
	f.strands = slices.DeleteFunc(f.strands, func(other *strand) bool { return other == s })
	if l.strands--; l.strands > 0 {
		return
	}
	p := l.pool
	p.lines = slices.DeleteFunc(p.lines, func(other *line) bool { return other == l })
	if len(p.lines) == 0 {
		delete(q.pools, p.id)
	}
}

func (p *poolQueue) lineOf(s *shape, since fleet.Time) *line {
	for _, l := range p.lines {
		if l.shape == s {
			return l
		}
	}
	l := &line{pool: p, shape: s, time: p.time, since: since}
	p.lines = append(p.lines, l)
	return l
}
