package alarm

import (
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// Waiter is one piece of work in a Line. Its owner embeds it, sets Job once and
// Since before it is added, and changes it through the Line only.
type Waiter struct {
	Job   ids.JobID
	Since fleet.Time // when it began to wait
	Seen  bool       // an alarm has counted it

	prev, next *Waiter
	late       bool // it has waited too long
}

// Line is work that waits, the one that has waited longest first. It keeps count
// of those that have waited too long.
type Line struct {
	first, last *Waiter
	due         *Waiter // the first that has not waited too long
	len, late   int64
}

// Len is how much waits, and Late how much of it has waited too long.
func (l *Line) Len() int64  { return l.len }
func (l *Line) Late() int64 { return l.late }

// First is the one that has waited longest, or nil.
func (l *Line) First() *Waiter { return l.first }

// Next is the one behind w, or nil.
func (w *Waiter) Next() *Waiter { return w.next }

// Add puts w in its place. Work mostly comes in the order in which it began to
// wait, and then that is the end.
func (l *Line) Add(w *Waiter) {
	w.prev, w.next = l.last, nil
	for w.prev != nil && w.prev.Since > w.Since {
		w.prev, w.next = w.prev.prev, w.prev
	}
	l.link(w)
	l.len++
	switch {
	case w.next != nil && w.next.late:
		w.late = true
		l.late++
	case w.next == l.due:
		l.due = w
	}
}

func (l *Line) link(w *Waiter) {
	if w.prev == nil {
		l.first = w
	} else {
		w.prev.next = w
	}
	if w.next == nil {
		l.last = w
	} else {
		w.next.prev = w
	}
}

// Remove takes w out.
func (l *Line) Remove(w *Waiter) {
	if l.due == w {
		l.due = w.next
	}
	if w.late {
		l.late--
	}
	if w.prev == nil {
		l.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	l.len--
	w.prev, w.next, w.late, w.Seen = nil, nil, false, false
}

// Pass notes what has waited longer than limit by now: how much that is new, and
// how much of it no alarm has counted. It counts as seen from now on.
func (l *Line) Pass(now, limit fleet.Time) (late, unseen int64) {
	for ; l.due != nil && now-l.due.Since > limit; l.due = l.due.next {
		l.due.late = true
		late++
		if !l.due.Seen {
			l.due.Seen = true
			unseen++
		}
	}
	l.late += late
	return late, unseen
}

// Unsee forgets who was counted and who has waited too long: the alarm has ended
// while they wait on, and another would count them anew.
func (l *Line) Unsee() {
	l.Rewind()
	for w := l.first; w != nil; w = w.next {
		w.Seen = false
	}
}

// Rewind forgets who has waited too long: the limit is another one.
func (l *Line) Rewind() {
	for w := l.first; w != nil && w.late; w = w.next {
		w.late = false
	}
	l.due, l.late = l.first, 0
}
