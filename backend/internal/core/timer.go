package core

import (
	"rockpool/backend/internal/core/due"
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

// timers holds them in the order of their times.
type timers struct {
	heap   due.Heap
	places []timer
	free   []int32
}

func (t *timers) first() fleet.Time { return t.heap.First() }

func (t *timers) add(e timer) {
	if last := len(t.free) - 1; last >= 0 {
		place := t.free[last]
		t.free = t.free[:last]
		t.places[place] = e
		t.heap.Push(e.at, place)
		return
	}
	t.places = append(t.places, e)
	t.heap.Push(e.at, int32(len(t.places)-1))
}

func (t *timers) pop() timer {
	place := t.heap.Pop().Place
	top := t.places[place]
	t.places[place] = timer{}
	t.free = append(t.free, place)
	return top
}

// delay moves the deadlines that others have to meet by the same time. What was
// promised of work's own time stays.
func (t *timers) delay(by fleet.Time) {
	t.heap.Move(func(d due.Deadline) fleet.Time {
		e := &t.places[d.Place]
		if e.kind != wakeDue && e.kind != expireDue {
			e.at += by
		}
		return e.at
	})
}

func (t *timers) reset() {
	clear(t.places)
	t.heap.Reset()
	t.places, t.free = t.places[:0], t.free[:0]
}
