package core

import (
	"rockpool/backend/internal/core/alarm"
	"rockpool/backend/internal/core/fleet"
)

// lookPause is the least time between two looks at the alarms: so often, at the
// most, is what was counted written.
const lookPause = fleet.Time(1000)

// look is when the alarms are looked at next, and when they were last.
type look struct {
	at   fleet.Time // Never: nothing asks for it
	last fleet.Time
}

// lookBy asks for a look at that time, or as soon after it as looks may follow
// one another.
func (d *Dispatch) lookBy(at fleet.Time) {
	at = max(at, d.look.last+lookPause)
	if at < d.look.at {
		d.look.at = at
		d.timers.add(timer{at: at, kind: lookDue})
	}
}

// awaitLook ends an event: what it counted is written by the next look.
func (d *Dispatch) awaitLook(now fleet.Time) {
	if d.alarms.Untold() {
		d.lookBy(now)
	}
}

func (d *Dispatch) lookDue(now fleet.Time, t timer, out *Effects) {
	if t.at != d.look.at {
		return
	}
	d.look = look{at: fleet.Never, last: now}
	d.alarms.Tell(func(c *alarm.Case) { d.writeAlarm(c, out) })
}
