package core

import (
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// timerKind says what is due.
type timerKind uint8

const (
	offerDue    timerKind = iota // an offer is unanswered
	cancelDue                    // a canceling job ends without its node's word
	avoidDue                     // a job may be offered again to a node that it avoided
	leaseDue                     // a lease may move
	lookDue                      // alarms are looked at
	holdDue                      // a hold may end, or a drain's deadline pass
	ttlDue                       // a placement may expire
	wakeDue                      // a paused job may be offered
	expireDue                    // a job has waited longer than it may
	restoredDue                  // nothing was seen of a restored backup for long
)

// timer is one deadline. It is not taken back: when it is due, its owner looks
// whether it still means anything. It names its job and does not hold it: most
// jobs end long before their offer would have been due.
type timer struct {
	at      fleet.Time
	kind    timerKind
	attempt int32
	job     ids.JobID
	node    *node
}

// timers is a 4-ary heap by (at, seq). What it moves is small and has no pointers:
// the timers lie still in their places.
type timers struct {
	heap   []deadline
	places []timer
	free   []int32
	seq    uint64
}

type deadline struct {
	at    fleet.Time
	seq   uint64
	place int32
}

func (t *timers) first() fleet.Time {
	if len(t.heap) == 0 {
		return fleet.Never
	}
	return t.heap[0].at
}

func (t *timers) add(e timer) {
	t.seq++
	due := deadline{at: e.at, seq: t.seq, place: t.put(e)}
	t.heap = append(t.heap, due)
	i := len(t.heap) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !due.before(&t.heap[parent]) {
			break
		}
		t.heap[i] = t.heap[parent]
		i = parent
	}
	t.heap[i] = due
}

// put finds a place for a timer.
func (t *timers) put(e timer) int32 {
	if last := len(t.free) - 1; last >= 0 {
		place := t.free[last]
		t.free = t.free[:last]
		t.places[place] = e
		return place
	}
	t.places = append(t.places, e)
	return int32(len(t.places) - 1)
}

func (t *timers) pop() timer {
	place := t.heap[0].place
	top := t.places[place]
	t.places[place] = timer{}
	t.free = append(t.free, place)
	last := len(t.heap) - 1
	due := t.heap[last]
	t.heap = t.heap[:last]
	if last > 0 {
		t.sink(0, due)
	}
	return top
}

// sink puts a deadline where it belongs, from i down.
func (t *timers) sink(i int, due deadline) {
	for {
		first := 4*i + 1
		if first >= len(t.heap) {
			break
		}
		least := first
		for child := first + 1; child < min(first+4, len(t.heap)); child++ {
			if t.heap[child].before(&t.heap[least]) {
				least = child
			}
		}
		if !t.heap[least].before(&due) {
			break
		}
		t.heap[i] = t.heap[least]
		i = least
	}
	t.heap[i] = due
}

// delay moves the deadlines that others have to meet by the same time. What was
// promised of work's own time stays.
func (t *timers) delay(by fleet.Time) {
	for i := range t.heap {
		due := &t.heap[i]
		if e := &t.places[due.place]; e.kind != wakeDue && e.kind != expireDue {
			due.at += by
			e.at = due.at
		}
	}
	for i := len(t.heap) / 4; i >= 0; i-- {
		t.sink(i, t.heap[i])
	}
}

func (t *timers) reset() {
	clear(t.places)
	t.heap, t.places, t.free = t.heap[:0], t.places[:0], t.free[:0]
}

func (e *deadline) before(other *deadline) bool {
	return e.at < other.at || e.at == other.at && e.seq < other.seq
}
