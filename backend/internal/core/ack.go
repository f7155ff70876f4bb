package core

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
)

// An acknowledgement says what must be true of the node, as often as it is said; one
// covers all heartbeats before it. To a node whose heartbeats come in a row, one that
// has nothing to ask of it goes out ackPause after the one before at the earliest:
// each heartbeat is answered by then. None that asks for something waits.
func (d *Dispatch) ackPause() fleet.Time { return d.cfg.Heartbeat / 20 }

// acknowledge lets the answer to a heartbeat go out, from its place among the sends.
func (d *Dispatch) acknowledge(now fleet.Time, n *node, ack HeartbeatAck, at int, out *Effects) {
	kept := ack.kept()
	if due := n.acked + d.ackPause(); kept == plainAck && n.acked != 0 && now < due {
		out.Sends = slices.Delete(out.Sends, at, at+1)
		if !n.ackOwed {
			n.ackOwed = true
			d.timers.add(timer{at: due, kind: ackDue, node: n})
		}
		return
	}
	n.acked, n.ackOwed = now, false
	out.Sends[at].Ack = kept
}

// ackDue answers the heartbeats that came since the last answer, if none went out
// meanwhile.
func (d *Dispatch) ackDue(now fleet.Time, n *node, out *Effects) {
	if !n.ackOwed || !n.open || n.pending != nil {
		return
	}
	at := len(out.Sends)
	out.Sends = append(out.Sends, Send{Kind: SendHeartbeatAck, Node: n.slot.ID, Epoch: n.epoch})
	n.acked = 0 // this one does not wait
	d.acknowledge(now, n, n.ackNow(), at, out)
}

// ackNow is what is to be true of the node, whatever it reports.
func (n *node) ackNow() HeartbeatAck {
	ack := HeartbeatAck{OK: true}
	if n.slot.Blocks() != 0 { // else it has no holds
		ack.Holds = n.rec.Holds
	}
	for _, j := range n.jobs {
		if j.cancelSent {
			ack.Cancel = append(ack.Cancel, Attempt{Job: j.spec.ID, Attempt: j.row.Attempt, GraceMs: j.graceMs})
		}
	}
	return ack
}
