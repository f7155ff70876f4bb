package core

import (
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// timerKind says what is due.
type timerKind uint8

const (
	offerDue  timerKind = iota // an offer is unanswered
	cancelDue                  // a canceling job ends without its node's word
	avoidDue                   // a job may be offered again to a node that it avoided
	leaseDue                   // a lease may move
	lookDue                    // alarms are looked at
	holdDue                    // a hold may end, or a drain's deadline pass
	ttlDue                     // a placement may expire
	wakeDue                    // a paused job may be offered
	expireDue                  // a job has waited longer than it may
)

// timer is one deadline. It is not taken back: when it is due, its owner looks
// whether it still means anything. It names its job and does not hold it: most
// jobs end long before their offer would have been due.
type timer struct {
	at      fleet.Time
	seq     uint64
	kind    timerKind
	attempt int32
	job     ids.JobID
	node    *node
}

// timers is a 4-ary heap by (at, seq).
type timers struct {
	heap []timer
	seq  uint64
}

func (t *timers) first() fleet.Time {
	if len(t.heap) == 0 {
		return fleet.Never
	}
	return t.heap[0].at
}

func (t *timers) add(e timer) {
	t.seq++
	e.seq = t.seq
	t.heap = append(t.heap, e)
	i := len(t.heap) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&t.heap[parent]) {
			break
		}
		t.heap[i] = t.heap[parent]
		i = parent
	}
	t.heap[i] = e
}

func (t *timers) pop() timer {
	top := t.heap[0]
	last := len(t.heap) - 1
	e := t.heap[last]
	t.heap[last] = timer{}
	t.heap = t.heap[:last]
	if last > 0 {
		t.sink(0, e)
	}
	return top
}

// sink puts e where it belongs, from i down.
func (t *timers) sink(i int, e timer) {
	for {
		least := -1
		for child := 4*i + 1; child <= 4*i+4 && child < len(t.heap); child++ {
			if least < 0 || t.heap[child].before(&t.heap[least]) {
				least = child
			}
		}
		if least < 0 || !t.heap[least].before(&e) {
			break
		}
		t.heap[i] = t.heap[least]
		i = least
	}
	t.heap[i] = e
}

// delay moves the deadlines that others have to meet by the same time. What was
// promised of work's own time stays.
func (t *timers) delay(by fleet.Time) {
	for i := range t.heap {
		if kind := t.heap[i].kind; kind != wakeDue && kind != expireDue {
			t.heap[i].at += by
		}
	}
	for i := len(t.heap) / 4; i >= 0; i-- {
		t.sink(i, t.heap[i])
	}
}

func (t *timers) reset() {
	clear(t.heap)
	t.heap = t.heap[:0]
}

func (e *timer) before(other *timer) bool {
	return e.at < other.at || e.at == other.at && e.seq < other.seq
}
