package core

import (
	"rockpool/backend/internal/core/alarm"
	"rockpool/backend/internal/core/fleet"
)

// lookPause lies between two looks at what alarms are about, and so between two
// writes of one that is only counted.
const lookPause = fleet.Time(1000)

// look is when the next one is due, and what it has to look at.
type look struct {
	at      fleet.Time // Never: nothing asks for it
	nodes   bool       // leases, pools or thresholds have changed
	nodesBy fleet.Time // when more nodes will have been silent for long
	pools   bool       // a pool's wait or its slots have an alarm that lasts
	hopes   bool       // what nodes are has changed, or where work may go
	counted fleet.Time // when the nodes were counted last
	calm    fleet.Time // until then nodes may still come back from a restart
}

// awaitLook ends an event: while anything may change, a look follows within a
// second.
func (d *Dispatch) awaitLook(now fleet.Time) {
	l := &d.look
	by := fleet.Never
	switch {
	case d.alarms.Untold(), l.nodes, l.hopes, l.pools, len(d.cohorts) > 0:
		by = now + lookPause
	case l.nodesBy != fleet.Never:
		by = max(l.nodesBy, now+lookPause)
	}
	if by < l.at {
		l.at = by
		d.timers.add(timer{at: by, kind: lookDue})
	}
}

// lookDue looks at everything that passes without an event: how long work has
// waited, what is free meanwhile, how long nodes have been silent, and what was
// counted and not written.
func (d *Dispatch) lookDue(now fleet.Time, t timer, out *Effects) {
	l := &d.look
	if t.at != l.at {
		return
	}
	l.at, l.pools = fleet.Never, false
	d.settleCohorts(now, out)
	d.lookAtCohorts(now, out)
	if l.nodes || l.nodesBy <= now {
		d.countNodes(now, out)
	}
	d.lookAtPools(now, out)
	d.alarms.Tell(func(c *alarm.Case) { d.writeAlarm(now, c, out) })
}

// countNodes counts the nodes that are not ready, and sees what that makes of their
// pools.
func (d *Dispatch) countNodes(now fleet.Time, out *Effects) {
	l := &d.look
	l.nodes, l.nodesBy = false, d.lookAtNodes(now)
	if d.settling(now) {
		l.nodesBy = min(l.nodesBy, d.settled())
	}
	d.lookAtMass(now, out)
}
