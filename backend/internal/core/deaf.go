package core

import (
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/hold"
	"rockpool/shared/ids"
)

// A node whose heartbeats come while it answers no offers is deaf: what would run
// its work is dead. It gets no offers until it has answered a probe, an offer of no
// job with a runner that nobody has.

// probePause lies between two probes of a node.
const probePause = fleet.Time(10_000)

// probeJob is the job that there is none of.
var probeJob = ids.JobID{15: 1}

var probeSpec = &fleet.JobSpec{ID: probeJob, App: "rockpool", Runner: "rockpool-probe", Demands: fleet.Vector{Slots: 1}}

// probe is the newest one of a node.
type probe struct {
	epoch   int64 // of the session that owes the answer; 0: none does
	attempt int32
	at      fleet.Time // when it was sent; 0: none was over this session
}

// deaf reports the hold.
func (n *node) deaf() bool { return n.slot.Blocks().Has(fleet.Deaf) }

// unanswered counts an offer to the node.
func (d *Dispatch) unanswered(now fleet.Time, n *node, out *Effects) {
	n.silences.Silent(now - d.cfg.OfferTimeout)
	d.deafen(now, n, out)
}

// deafen holds a node that has left too many offers unanswered.
func (d *Dispatch) deafen(now fleet.Time, n *node, out *Effects) {
	if !n.ready() || !n.silences.Deaf(n.lease.Heard) || n.deaf() {
		return
	}
	d.putHold(now, n, fleet.Hold{Kind: fleet.HoldDeaf, Owner: fleet.OwnerAuto, Reason: hold.DeafReason}, out)
	d.alarmNode(now, fleet.AlarmNodeDeaf, n, hold.DeafReason, out)
}

// probeDeaf asks a deaf node, whose heartbeat came, once more whether it hears.
func (d *Dispatch) probeDeaf(now fleet.Time, n *node, out *Effects) {
	d.deafen(now, n, out)
	if !n.deaf() || n.probe.at != 0 && now-n.probe.at < probePause {
		return
	}
	n.probe = probe{epoch: n.epoch, attempt: n.probe.attempt + 1, at: now}
	out.Sends = append(out.Sends, Send{Kind: SendProbe, Node: n.rec.ID, Epoch: n.epoch, Job: probeJob, Attempt: n.probe.attempt, Spec: probeSpec})
}

// probed takes an answer of the node's open session: once, in time and over the
// session that was asked, to the newest probe, it ends the hold. Whether it is a yes
// or a no is all the same.
func (d *Dispatch) probed(now fleet.Time, n *node, a Attempt, out *Effects) {
	if a.Job != probeJob || a.Attempt != n.probe.attempt || n.probe.epoch != n.epoch {
		return
	}
	n.probe.epoch = 0
	if now-n.probe.at <= d.cfg.OfferTimeout {
		d.undeafen(now, n, out)
	}
}

// undeafen ends the hold, if it stands.
func (d *Dispatch) undeafen(now fleet.Time, n *node, out *Effects) {
	if h, stands := hold.Find(n.rec.Holds, fleet.HoldDeaf, fleet.OwnerAuto); stands {
		d.dropHold(now, n, h, out)
	}
}
