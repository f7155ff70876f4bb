package core

import (
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/hold"
	"rockpool/backend/internal/core/lease"
)

// LiftHold lifts a hold of the core's own, automatic or the node's, on a person's
// word; false: no such hold stands. Operators' are lifted in the store and come by
// PutNode.
func (d *Dispatch) LiftHold(now fleet.Time, node string, kind fleet.HoldKind, owner fleet.HoldOwner, by Actor, reason string, out *Effects) bool {
	n := d.nodes[node]
	if n == nil {
		return false
	}
	h, stands := hold.Find(n.rec.Holds, kind, owner)
	if !stands || !hold.OfCore(h) {
		return false
	}
	d.dropHold(now, n, h, out)
	detail := string(owner) + " " + string(kind)
	if reason != "" {
		detail += ": " + reason
	}
	out.Audits = append(out.Audits, AuditNote{Action: AuditHoldLifted, Node: node, Detail: detail, By: &by})
	d.settle(now, out)
	return true
}

// putHold holds the node. A node's own hold lives as long as its session is the
// newest, in memory.
func (d *Dispatch) putHold(now fleet.Time, n *node, h fleet.Hold, out *Effects) {
	n.rec.Holds = hold.With(n.rec.Holds, h)
	n.past.noteHold(now, NodeHeld, h)
	if !hold.InMemory(h) {
		writeHold(HoldWrite{Node: n.rec.ID, Hold: h}, out)
	}
	d.seen(n)
	d.reblock(n)
	d.passHolds(now, n, out)
}

func (d *Dispatch) dropHold(now fleet.Time, n *node, h fleet.Hold, out *Effects) {
	n.rec.Holds = hold.Without(n.rec.Holds, h.Kind, h.Owner)
	n.past.noteHold(now, NodeLifted, h)
	switch h.Kind {
	case fleet.HoldQuarantine:
		d.quarantineOver(now, n, out)
	case fleet.HoldAuto:
		d.autoOver(now, n, out)
	case fleet.HoldDeaf:
		n.silences.Answered() // whoever lifted it: three more make it deaf again
		d.nodeAlarmOver(now, fleet.AlarmNodeDeaf, n, out)
	}
	if !hold.InMemory(h) {
		writeHold(HoldWrite{Node: n.rec.ID, Hold: h, Lift: true}, out)
	}
	d.seen(n)
	d.reblock(n)
	d.turnPlacements(now, n, out)
}

// writeHold keeps one write of a hold in a batch: the newest.
func writeHold(w HoldWrite, out *Effects) {
	for i := range out.Holds {
		if o := &out.Holds[i]; o.Node == w.Node && o.Hold.Kind == w.Hold.Kind && o.Hold.Owner == w.Hold.Owner {
			*o = w
			return
		}
	}
	out.Holds = append(out.Holds, w)
}

// passHolds does what the node's holds ask for now: it lifts those whose time has
// passed, drains, and sets the timer of what they ask for next.
func (d *Dispatch) passHolds(now fleet.Time, n *node, out *Effects) {
	for _, h := range hold.Ended(n.rec.Holds, now) {
		d.dropHold(now, n, h, out)
	}
	d.drain(now, n, out)
	d.turnPlacements(now, n, out)
	if due := hold.Next(n.rec.Holds, now); due < n.holdTimer {
		n.holdTimer = due
		d.timers.add(timer{at: due, kind: holdDue, node: n})
	}
}

// holdDue looks at holds of which one may have passed.
func (d *Dispatch) holdDue(now fleet.Time, t timer, out *Effects) {
	n := t.node
	if t.at != n.holdTimer {
		return
	}
	n.holdTimer = fleet.Never
	d.passHolds(now, n, out)
}

// autoHold holds a node for a while for what it did, and raises the alarm.
func (d *Dispatch) autoHold(now fleet.Time, n *node, span fleet.Time, kind fleet.AlarmKind, reason string, out *Effects) {
	h := fleet.Hold{Kind: fleet.HoldAuto, Owner: fleet.OwnerAuto, Reason: reason, Until: now + span}
	d.putHold(now, n, hold.Longer(n.rec.Holds, h), out)
	d.alarmNode(now, kind, n, reason, out)
}

// autoOver resolves the alarms that go with automatic holds.
func (d *Dispatch) autoOver(now fleet.Time, n *node, out *Effects) {
	d.nodeAlarmOver(now, fleet.AlarmRejectingOffers, n, out)
	d.nodeAlarmOver(now, fleet.AlarmNodeFlapping, n, out)
}

// rejected counts an offer that came to nothing on the node.
func (d *Dispatch) rejected(now fleet.Time, n *node, out *Effects) {
	if n.rejections.Reject() {
		d.autoHold(now, n, hold.RejectionHold, fleet.AlarmRejectingOffers, hold.RejectionReason, out)
	}
}

// tried learns from a result whether the node can start work.
func (d *Dispatch) tried(now fleet.Time, n *node, res *fleet.Result, out *Effects) {
	switch {
	case causeOf(res) == fleet.CauseStartFailed:
		d.rejected(now, n, out)
	case res.Status != fleet.ResultCanceled:
		n.rejections.Ran()
	}
}

// returned counts a lease that came back from suspect. The node is not to blame
// when this server restarted or stood still, or when it had said goodbye.
func (d *Dispatch) returned(now fleet.Time, n *node, was fleet.LeaseState, out *Effects) {
	if was != fleet.LeaseSuspect || n.lease.State != fleet.LeaseReady {
		return
	}
	_, expected := hold.Find(n.rec.Holds, fleet.HoldDrain, fleet.OwnerSelf)
	expected = expected || n.quarantined() // we closed it
	if past := n.lease.Past; len(past) > 1 && past[len(past)-2].Event == lease.Granted {
		expected = true
	}
	stood := d.excused != 0 && now-d.excused <= d.cfg.Lost
	if !expected && !stood && n.flaps.Flap(now) {
		d.autoHold(now, n, hold.FlapHold, fleet.AlarmNodeFlapping, hold.FlapReason, out)
	}
}
