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
type timers struct{ agenda *due.Agenda[timer] }

func newTimers() timers { return timers{due.NewAgenda[timer]()} }

func (t *timers) first() fleet.Time { return t.agenda.First() }

func (t *timers) add(e timer) { t.agenda.Add(e.at, e) }

func (t *timers) pop() timer {
	_, e := t.agenda.Pop()
	return e
}

// delay moves the deadlines that others have to meet by the same time. What was
// promised of work's own time stays.
func (t *timers) delay(by fleet.Time) {
	t.agenda.Move(func(e *timer) fleet.Time {
		if e.kind != wakeDue && e.kind != expireDue {
			e.at += by
		}
		return e.at
	})
}

func (t *timers) reset() { t.agenda.Reset() }
