package core

import (
	"slices"
	"strconv"

	"rockpool/backend/internal/core/alarm"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/hold"
)

// alarmNode raises an alarm about the node, or counts the one that lasts. It
// keeps the pool in which it was raised, also when the node moves.
func (d *Dispatch) alarmNode(now fleet.Time, kind fleet.AlarmKind, n *node, detail string, out *Effects) {
	if c := n.alarm(kind); c != nil {
		c.Detail = detail
		d.alarms.Again(now, c, 1)
		return
	}
	f := fleet.Fingerprint{Kind: kind, Pool: n.rec.Pool, Node: n.rec.ID}
	c := d.newAlarm(now, f, 1, out)
	c.Detail = detail
	n.alarms = append(n.alarms, c)
	d.putAlarm(c, out)
}

// nodeAlarmOver resolves the node's alarm of the kind, if it lasts.
func (d *Dispatch) nodeAlarmOver(now fleet.Time, kind fleet.AlarmKind, n *node, out *Effects) {
	c := n.alarm(kind)
	if c == nil {
		return
	}
	d.endAlarm(now, c, out)
	n.alarms = slices.DeleteFunc(n.alarms, func(other *alarm.Case) bool { return other == c })
}

// alarm gives the node's lasting alarm of the kind, or nil.
func (n *node) alarm(kind fleet.AlarmKind) *alarm.Case {
	for _, c := range n.alarms {
		if c.Kind == kind {
			return c
		}
	}
	return nil
}

// alarmLost tells of a node whose lease ran out. One that lasts was raised the
// last time that the node was lost: it has not been back since.
func (d *Dispatch) alarmLost(now fleet.Time, n *node, out *Effects) {
	if n.alarm(fleet.AlarmNodeLost) != nil {
		return
	}
	detail := "nothing was heard of it for " + fleet.Span(now-n.lease.Seen)
	switch held := len(n.jobs); {
	case held == 1:
		detail += "; 1 attempt was taken from it"
	case held > 1:
		detail += "; " + strconv.Itoa(held) + " attempts were taken from it"
	}
	d.alarmNode(now, fleet.AlarmNodeLost, n, detail, out)
}

// reviewNode ends an alarm that was read back and whose cause is over.
func (d *Dispatch) reviewNode(now fleet.Time, c *alarm.Case, out *Effects) {
	n := d.nodes[c.Node]
	if n == nil {
		d.endAlarm(now, c, out)
		return
	}
	over := false
	switch c.Kind {
	case fleet.AlarmNodeLost:
		over = n.open && n.pending == nil
	case fleet.AlarmRejectingOffers, fleet.AlarmNodeFlapping:
		_, held := hold.Find(n.rec.Holds, fleet.HoldAuto, fleet.OwnerAuto)
		over = !held
	case fleet.AlarmNodeDeaf:
		over = !n.deaf()
	case fleet.AlarmDuplicate:
		over = !n.quarantined()
	}
	if over || n.lease.State == fleet.LeaseLeft {
		d.nodeAlarmOver(now, c.Kind, n, out)
	}
}
