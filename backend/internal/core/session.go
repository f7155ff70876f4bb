package core

import (
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/hold"
	"rockpool/backend/internal/core/lease"
	"rockpool/shared/ids"
)

// Session names a session of a node, as Hello gave it: all that comes over it comes
// with its name.
type Session struct {
	Node  string
	Epoch int64 // 0: it is none
	place int32 // where Hello found the node; where it is not, its name is looked up
}

// nodeOver finds the node that has this session open, or nil.
func (d *Dispatch) nodeOver(s Session) *node {
	var n *node
	if at := int(s.place); at < len(d.places) && d.places[at].slot.ID == s.Node {
		n = d.places[at]
	} else {
		n = d.nodes[s.Node]
	}
	if n == nil || !n.speaks(s.Epoch) {
		return nil
	}
	return n
}

// Hello opens a session under the next epoch of the node, and closes the one
// before. The node gets its welcome, and work, when the session is committed.
// Refused (it is none): nobody told of such a node, it has left and must
// register first, or says hello too often, and nothing was done; or it is a duplicate.
func (d *Dispatch) Hello(now fleet.Time, ev HelloEvent, out *Effects) (opened Session, refused *fleet.Error) {
	n := d.nodes[ev.Node]
	if n == nil || n.rec.Left {
		return Session{}, fleet.Errorf(fleet.CodeUnavailable, "the node is not known to the dispatch loop yet: try again")
	}
	last, refused := d.identify(now, n, &ev, out)
	if refused != nil {
		d.settle(now, out)
		return Session{}, refused
	}
	if n.ready() && n.rec.BootID != ev.Report.BootID {
		n.doubt = now + d.cfg.Suspect // a restart would have broken the connection: the other may be alive, and say so
	}
	d.close(n, fleet.CodeConflict, CloseSuperseded, out)
	n.epoch = max(n.epoch, n.rec.Epoch, last) + 1
	n.open, n.pending = true, &ev
	n.lease.Seen, n.lease.Heard = now, now
	n.spooled = ev.Spooled
	d.reblock(n)
	d.seen(n)
	out.Sessions = append(out.Sessions, SessionWrite{Node: n.rec.ID, Epoch: n.epoch, Report: ev.Report})
	d.settle(now, out)
	return Session{Node: n.slot.ID, Epoch: n.epoch, place: n.place}, nil
}

// opened makes a committed session the node's own: its report replaces what
// was known, and what the node says it runs is compared with what it should.
func (d *Dispatch) opened(now fleet.Time, n *node, out *Effects) {
	ev := n.pending
	n.pending = nil
	was := n.lease.State
	n.lease.On(lease.Opened, now, d.leases())
	d.nodeAlarmOver(now, fleet.AlarmNodeLost, n, out)
	if !n.rotates() { // else it ended the session before because it was asked for another secret
		d.returned(now, n, was, out)
	}
	n.rec.Holds = hold.Without(n.rec.Holds, fleet.HoldDrain, fleet.OwnerSelf)
	d.turnPlacements(now, n, out)
	n.accepting, n.acceptReason, n.healthy, n.healthReasons, n.roundTrip = true, "", true, nil, 0
	n.past.noteSession(now, n.epoch, ev.Report.AgentVersion)
	n.silences, n.probe.at = hold.Silences{}, 0
	welcome := &Welcome{Pool: n.rec.Pool, Holds: n.rec.Holds}
	out.Sends = append(out.Sends, Send{Kind: SendWelcome, Node: n.rec.ID, Epoch: n.epoch, Welcome: welcome})
	welcome.Void = d.reconcile(now, n, ev.Running, ev.Spooled, true, nil, out)
	d.turnSecret(now, n, out)
	d.reindex(now, n)
	d.watch(now, n)
}

// reported takes over what a hello said, once the database has it.
func (n *node) reported(now fleet.Time, epoch int64, r *fleet.NodeReport) {
	if epoch < n.rec.Epoch {
		return
	}
	n.booted(now, r.BootID)
	n.rec.Epoch, n.rec.Left = epoch, false
	n.rec.BootID, n.rec.MachineID, n.rec.Region, n.rec.Backend = r.BootID, r.MachineID, r.Region, r.Backend
	n.rec.Capacity, n.rec.Runners = r.Capacity, r.Runners
	n.report = r
}

// booted notes when the node's process is another than the one on record.
func (n *node) booted(now fleet.Time, boot string) {
	if boot != n.rec.BootID {
		n.bootSince = now
	}
}

// Heartbeat renews the lease and compares what the node runs with what it
// should. The answer repeats what must be true of the node.
func (d *Dispatch) Heartbeat(now fleet.Time, from Session, hb HeartbeatEvent, out *Effects) {
	n := d.nodeOver(from)
	at := len(out.Sends)
	out.Sends = append(out.Sends, Send{Kind: SendHeartbeatAck, Node: from.Node, Epoch: from.Epoch, Ack: unknownSession})
	if n == nil {
		return
	}
	d.renew(now, n, out)
	if n.pending != nil {
		out.Sends[at].Ack = n.ackNow().kept()
		return
	}
	if !hb.Unsaved {
		d.confirm(n, out)
	}
	turned := n.accepting != hb.Accepting || n.healthy != hb.Healthy
	n.accepting, n.acceptReason = hb.Accepting, hb.Reason
	n.healthy, n.healthReasons = hb.Healthy, hb.HealthReasons
	n.spooled = hb.Spooled
	n.loadMilli, n.memoryMiB = hb.LoadMilli, hb.MemoryMiB
	n.roundTrip = hb.RoundTripMs
	n.skewed(hb.SkewMs)
	d.seen(n)
	void := d.reconcile(now, n, hb.Running, hb.Spooled, false, nil, out)
	d.probeDeaf(now, n, out)
	ack := n.ackNow()
	ack.Void = void
	out.Sends[at].Ack = ack.kept()
	if turned {
		d.reblock(n)
	}
	d.settle(now, out)
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

// skewStep is what a clock has to differ from what is shown of it: less comes and goes
// with the network.
const skewStep = 500

// skewed notes how far the node's clock is ahead, for people to see.
func (n *node) skewed(ms int64) {
	if ms < n.skewMs-skewStep || ms > n.skewMs+skewStep {
		n.skewMs = ms
	}
}

// Alive renews the lease for any other frame of the node.
func (d *Dispatch) Alive(now fleet.Time, from Session, out *Effects) {
	if d.speaker(now, from, out) != nil {
		d.settle(now, out)
	}
}

func (d *Dispatch) renew(now fleet.Time, n *node, out *Effects) {
	if n.pending != nil {
		n.lease.Seen, n.lease.Heard = now, now
		return
	}
	was := n.lease.State
	if n.lease.On(lease.Renewed, now, d.leases()) {
		d.watch(now, n)
		d.returned(now, n, was, out)
		d.reblock(n)
	}
}

// SessionClosed tells that a connection ended: of the open session, its node is
// suspect at once; of an older one, nothing changes.
func (d *Dispatch) SessionClosed(now fleet.Time, from Session, out *Effects) {
	n := d.nodeOver(from)
	if n == nil {
		return
	}
	n.open, n.pending = false, nil
	if n.lease.On(lease.Broken, now, d.leases()) {
		n.fall(now)
	}
	d.seen(n)
	d.reblock(n)
	d.watch(now, n)
	d.settle(now, out)
}

// Goodbye tells that the node goes: for good when it has left, else a hold of its
// own keeps new work from it until it is back.
func (d *Dispatch) Goodbye(now fleet.Time, from Session, kind string, out *Effects) {
	n := d.nodeOver(from)
	if n == nil {
		return
	}
	d.seen(n)
	n.past.note(now, NodeGoodbye, ids.JobID{}, kind)
	if kind == GoodbyeLeft {
		n.open, n.pending = false, nil
		out.Sessions = append(out.Sessions, SessionWrite{Node: from.Node, Epoch: from.Epoch, Left: true})
		d.leave(now, n, out)
	} else {
		d.putHold(now, n, fleet.Hold{Kind: fleet.HoldDrain, Owner: fleet.OwnerSelf, Reason: kind}, out)
	}
	d.settle(now, out)
}

// reconcile compares what a node says it runs with what it should run, adds to
// void what it should not, and ends what it denies. A hello denies at once,
// heartbeats only twice in a row; while results wait in the node's spool, or
// another process may run it, nothing counts as denied.
func (d *Dispatch) reconcile(now fleet.Time, n *node, running []Running, spooled int64, hello bool, void []Attempt, out *Effects) []Attempt {
	d.serial++
	for i := range running {
		r := &running[i]
		j := d.jobs[r.Job]
		if j == nil || !d.claim(now, n, j, r, hello, out) {
			void = append(void, Attempt{Job: r.Job, Attempt: r.Attempt})
			continue
		}
		j.listed, j.missed = d.serial, 0
	}
	missing := d.missing[:0]
	for _, j := range n.jobs {
		if j.listed != d.serial {
			missing = append(missing, j)
		}
	}
	for _, j := range missing {
		d.miss(now, n, j, spooled, hello, out)
	}
	clear(missing)
	d.missing = missing[:0]
	return void
}

// claim takes a node's word that it has an attempt; false: it must not.
func (d *Dispatch) claim(now fleet.Time, n *node, j *job, r *Running, hello bool, out *Effects) bool {
	if j.row.Attempt != r.Attempt || j.row.Node != n.slot.ID {
		return false
	}
	switch j.row.State {
	case fleet.JobQueued:
		if !j.orphanOf(n) || j.drained() || !d.readopt(now, j, n, out) {
			return false
		}
		j.startDue = r.Phase == PhaseAccepted
		d.begun(now, j, r.Percent)
		if _, over := hold.Drains(n.rec.Holds, now); over {
			d.drainJob(now, j, out)
		}
		return true
	case fleet.JobOffered:
		if j.stage == stageUnsent {
			return false
		}
		d.begun(now, j, r.Percent)
		if r.Phase == PhaseAccepted && !j.startDue && !j.ending() {
			d.sendStart(n, j, out)
		}
		if d.overran(now, j) {
			d.stopOverrun(now, j, out)
			return true
		}
	}
	if hello && j.cancelSent {
		d.sendCancel(now, j, out)
	}
	return true
}

// begun notes that the node has the attempt.
func (d *Dispatch) begun(now fleet.Time, j *job, percent int32) {
	if j.stage != stageStarted || j.percent != percent {
		d.seenOf(j)
	}
	if j.stage != stageStarted {
		j.held.past.note(now, NodeStarted, j.spec.ID, j.spec.Runner)
		d.waits(now, j, waitsNot)
		j.held.silences.Answered()
	}
	j.stage, j.percent = stageStarted, percent
	if j.row.StartedAt == 0 {
		j.row.StartedAt = now
	}
}

// miss counts a report that does not name an attempt which its node should have.
func (d *Dispatch) miss(now fleet.Time, n *node, j *job, spooled int64, hello bool, out *Effects) {
	if j.stage == stageUnsent {
		return
	}
	if j.stage == stageSent && j.row.State == fleet.JobOffered {
		if hello { // the offer went with the session before, and what was never started has no result
			d.giveUp(now, j, fleet.AttemptUnanswered, fleet.CauseUnanswered, out)
		}
		return // its answer has a deadline of its own
	}
	// A process can't deny what another one was given while that one may still run.
	doubted := now < n.doubt && j.boot != n.rec.BootID
	if spooled > 0 || doubted {
		j.missed = 0
		return
	}
	if !hello {
		if j.missed++; j.missed < 2 {
			return
		}
	}
	// The process that was offered the attempt would still list it, or have its
	// result, if it had ever begun.
	sameProcess := j.boot == n.rec.BootID
	if sameProcess && (hello || j.stage == stageMaybe) {
		d.giveUp(now, j, fleet.AttemptUnanswered, fleet.CauseUnanswered, out)
		return
	}
	d.lose(now, j, out)
}
