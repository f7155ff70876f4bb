package schedule

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
)

// line is the work of one shape in one pool: a heap of strands, the first app's
// on top. A parked strand is not in it, nor one whose work is all set aside.
type line struct {
	pool    *poolQueue
	shape   *shape
	heap    []*strand
	strands int        // also those that are not in the heap
	time    uint64     // the tag of the newest that was served from here
	since   fleet.Time // nothing was served from here
	era     *era       // of those who come now
	passed  uint64     // the round in which the whole line was passed over
}

// strand is the work of one app in a line: a heap by before, in which stale
// entries stay until they surface or are too many.
type strand struct {
	flow *flow
	line *line
	at   int // in line.heap, or -1
	heap []entry
	live int
	lead int64 // of live, work whose first pool this is

	parked   bool
	parkedAt fleet.Time
	parkedIn fleet.Time // how long it was, before
}

// entry has what orders it beside the work: a heap compares without a look at the
// work itself, which lies anywhere in memory.
type entry struct {
	w        *Waiter
	seq      uint64
	priority int32
	token    uint32
}

func (w *Waiter) entry() entry { return entry{w, w.Seq, w.Priority, w.token} }

func (e entry) stale() bool { return e.token != e.w.token }

// before is the order in which work of one app is served in a pool.
func (e *entry) before(other *entry) bool {
	if e.priority != other.priority {
		return e.priority > other.priority
	}
	return e.seq < other.seq
}

// insert puts a strand into the heap, unless it is there or parked.
func (l *line) insert(s *strand) {
	if s.at >= 0 || s.parked {
		return
	}
	s.at = len(l.heap)
	l.heap = append(l.heap, s)
	l.rise(s)
}

// take takes a strand out of the heap, if it is there.
func (l *line) take(s *strand) {
	if s.at < 0 {
		return
	}
	last := l.heap[len(l.heap)-1]
	l.heap[len(l.heap)-1] = nil
	l.heap = l.heap[:len(l.heap)-1]
	if last != s {
		l.heap[s.at], last.at = last, s.at
		l.fix(last)
	}
	s.at = -1
}

// fix puts a strand where its app's new tag belongs.
func (l *line) fix(s *strand) {
	if s.at >= 0 {
		l.rise(s)
		l.fall(s)
	}
}

func (l *line) rise(s *strand) {
	for s.at > 0 {
		above := l.heap[(s.at-1)/2]
		if !s.flow.before(above.flow) {
			return
		}
		l.swap(s, above)
	}
}

func (l *line) fall(s *strand) {
	for {
		child := 2*s.at + 1
		if child >= len(l.heap) {
			return
		}
		if right := child + 1; right < len(l.heap) && l.heap[right].flow.before(l.heap[child].flow) {
			child = right
		}
		below := l.heap[child]
		if !below.flow.before(s.flow) {
			return
		}
		l.swap(s, below)
	}
}

func (l *line) swap(a, b *strand) {
	a.at, b.at = b.at, a.at
	l.heap[a.at], l.heap[b.at] = a, b
}

// tidy drops stale entries when they are the most.
func (s *strand) tidy() {
	if len(s.heap) < 64 || len(s.heap) < 2*s.live {
		return
	}
	s.heap = slices.DeleteFunc(s.heap, entry.stale)
	for i := len(s.heap)/2 - 1; i >= 0; i-- {
		s.sink(i)
	}
}

// head gives the strand's next work, or nil.
func (s *strand) head() *Waiter {
	for len(s.heap) > 0 {
		if !s.heap[0].stale() {
			return s.heap[0].w
		}
		s.pop()
	}
	return nil
}

func (s *strand) push(e entry) {
	s.heap = append(s.heap, e)
	for i := len(s.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !s.heap[i].before(&s.heap[parent]) {
			return
		}
		s.heap[i], s.heap[parent] = s.heap[parent], s.heap[i]
		i = parent
	}
}

func (s *strand) pop() entry {
	top := s.heap[0]
	last := len(s.heap) - 1
	s.heap[0] = s.heap[last]
	s.heap[last] = entry{}
	s.heap = s.heap[:last]
	s.sink(0)
	return top
}

func (s *strand) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(s.heap) {
			return
		}
		if right := child + 1; right < len(s.heap) && s.heap[right].before(&s.heap[child]) {
			child = right
		}
		if !s.heap[child].before(&s.heap[i]) {
			return
		}
		s.heap[i], s.heap[child] = s.heap[child], s.heap[i]
		i = child
	}
}
