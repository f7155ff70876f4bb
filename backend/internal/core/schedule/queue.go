package schedule

import (
	"slices"
	"strconv"
	"strings"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// Waiter is one piece of work in the queue. Its owner embeds it, fills in the
// exported fields once and changes it through the Queue only.
type Waiter struct {
	Job      ids.JobID
	Priority int32
	Seq      uint64 // of arrival
	Request  Request

	shape *shape
	lines []*line
	token uint32 // entries with an older one are stale
	at    int    // in Queue.all; valid while waiting
}

// Waiting reports that the work is in the queue.
func (w *Waiter) Waiting() bool { return w.shape != nil }

// Alike reports that both ask for the same.
func (w *Waiter) Alike(other *Waiter) bool { return w.shape == other.shape }

// before is the order in which work of one pool is served.
func (w *Waiter) before(other *Waiter) bool {
	if w.Priority != other.Priority {
		return w.Priority > other.Priority
	}
	return w.Seq < other.Seq
}

// shape is what equal requests have in common: a node that can't take one of
// them can take none.
type shape struct {
	request Request
	waiting int
	key     shapeKey
}

type shapeKey struct {
	role, runner, backend, region string
	slots                         int64
	more                          string // demands beyond slots
}

// Queue holds the work that waits. Each pool has one line per shape; a piece of
// work stands in the lines of all its pools.
type Queue struct {
	pools  map[string]*poolQueue
	shapes map[shapeKey]*shape
	all    []*Waiter
	round  uint64
}

type poolQueue struct {
	lines []*line
	first int64 // work whose first pool this is
}

// line is the work of one shape in one pool: a heap by before, in which stale
// entries stay until they surface or are too many.
type line struct {
	pool   *poolQueue
	shape  *shape
	heap   []entry
	live   int
	passed uint64 // the round in which the whole line was passed over
}

type entry struct {
	w     *Waiter
	token uint32
}

func (e entry) stale() bool { return e.token != e.w.token }

// NewQueue makes an empty one.
func NewQueue() *Queue {
	return &Queue{pools: map[string]*poolQueue{}, shapes: map[shapeKey]*shape{}}
}

// Len is the number of pieces of work that wait.
func (q *Queue) Len() int { return len(q.all) }

// All lists what waits, in no meaningful but a repeatable order. The caller
// does not change the list nor the queue while it uses it.
func (q *Queue) All() []*Waiter { return q.all }

// First counts the work that waits for the pool before any other.
func (q *Queue) First(pool string) int64 {
	if p := q.pools[pool]; p != nil {
		return p.first
	}
	return 0
}

// Add puts w in the lines of its pools, in the order in which they are tried.
// Without a pool it waits in none and can be found by All alone.
func (q *Queue) Add(w *Waiter, pools []string) {
	q.Remove(w)
	w.shape = q.shapeOf(&w.Request)
	w.shape.waiting++
	w.at = len(q.all)
	q.all = append(q.all, w)
	for i, id := range pools {
		p := q.pools[id]
		if p == nil {
			p = &poolQueue{}
			q.pools[id] = p
		}
		if i == 0 {
			p.first++
		}
		l := p.lineOf(w.shape)
		l.live++
		l.push(entry{w, w.token})
		w.lines = append(w.lines, l)
	}
}

// Remove takes w out, if it waits.
func (q *Queue) Remove(w *Waiter) {
	if w.shape == nil {
		return
	}
	w.token++
	for i, l := range w.lines {
		if i == 0 {
			l.pool.first--
		}
		l.live--
		l.tidy()
	}
	w.lines = w.lines[:0]
	if w.shape.waiting--; w.shape.waiting == 0 {
		delete(q.shapes, w.shape.key)
	}
	w.shape = nil
	last := q.all[len(q.all)-1]
	q.all[w.at], last.at = last, w.at
	q.all[len(q.all)-1] = nil
	q.all = q.all[:len(q.all)-1]
}

func (q *Queue) shapeOf(r *Request) *shape {
	key := shapeKey{role: r.Role, runner: r.Runner, backend: r.Backend, region: r.Region, slots: r.Demand.Slots}
	if !r.Demand.Plain() {
		key.more = spell(r.Demand)
	}
	s := q.shapes[key]
	if s == nil {
		s = &shape{request: *r, key: key}
		q.shapes[key] = s
	}
	return s
}

// spell writes the demands beyond slots so that equal ones read equal.
func spell(v *fleet.Vector) string {
	var b strings.Builder
	for _, list := range [][]fleet.Quantity{v.Resources, v.Memory} {
		for _, q := range list {
			b.WriteString(q.Name)
			b.WriteByte('=')
			b.WriteString(strconv.FormatInt(q.Amount, 10))
			b.WriteByte(',')
		}
		b.WriteByte(';')
	}
	return b.String()
}

func (p *poolQueue) lineOf(s *shape) *line {
	for _, l := range p.lines {
		if l.shape == s {
			return l
		}
	}
	l := &line{pool: p, shape: s}
	p.lines = append(p.lines, l)
	return l
}

// tidy drops an empty line, and stale entries when they are the most.
func (l *line) tidy() {
	if l.live == 0 {
		l.pool.lines = slices.DeleteFunc(l.pool.lines, func(other *line) bool { return other == l })
		return
	}
	if len(l.heap) < 64 || len(l.heap) < 2*l.live {
		return
	}
	l.heap = slices.DeleteFunc(l.heap, entry.stale)
	for i := len(l.heap)/2 - 1; i >= 0; i-- {
		l.sink(i)
	}
}

// head gives the line's next work, or nil.
func (l *line) head() *Waiter {
	for len(l.heap) > 0 {
		if !l.heap[0].stale() {
			return l.heap[0].w
		}
		l.pop()
	}
	return nil
}

func (l *line) push(e entry) {
	l.heap = append(l.heap, e)
	for i := len(l.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !l.heap[i].w.before(l.heap[parent].w) {
			return
		}
		l.heap[i], l.heap[parent] = l.heap[parent], l.heap[i]
		i = parent
	}
}

func (l *line) pop() entry {
	top := l.heap[0]
	last := len(l.heap) - 1
	l.heap[0] = l.heap[last]
	l.heap[last] = entry{}
	l.heap = l.heap[:last]
	l.sink(0)
	return top
}

func (l *line) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(l.heap) {
			return
		}
		if right := child + 1; right < len(l.heap) && l.heap[right].w.before(l.heap[child].w) {
			child = right
		}
		if !l.heap[child].w.before(l.heap[i].w) {
			return
		}
		l.heap[i], l.heap[child] = l.heap[child], l.heap[i]
		i = child
	}
}
