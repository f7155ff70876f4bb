package core

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
)

func (d *Dispatch) sendOffer(now fleet.Time, j *job, out *Effects) {
	n := j.held
	j.stage = stageSent
	d.timers.add(timer{at: now + d.cfg.OfferTimeout, kind: offerDue, job: j.spec.ID, attempt: j.row.Attempt})
	out.Sends = append(out.Sends, Send{Kind: SendOffer, Node: n.slot.ID, Epoch: n.epoch, Job: j.spec.ID, Attempt: j.row.Attempt, Spec: j.spec})
}

func (d *Dispatch) sendStart(n *node, j *job, out *Effects) {
	out.Sends = append(out.Sends, Send{Kind: SendStart, Node: n.slot.ID, Epoch: n.epoch, Job: j.spec.ID, Attempt: j.row.Attempt})
}

func sendVoid(n *node, a Attempt, out *Effects) {
	if n.open {
		out.Sends = append(out.Sends, Send{Kind: SendVoid, Node: n.slot.ID, Epoch: n.epoch, Job: a.Job, Attempt: a.Attempt})
	}
}

// sendCancel tells the node to end the attempt; without a session its next
// hello or heartbeat does.
func (d *Dispatch) sendCancel(now fleet.Time, j *job, out *Effects) {
	j.cancelSent = true
	if n := j.held; n != nil && n.open && n.pending == nil {
		n.past.note(now, NodeCanceling, j.spec.ID, "")
		out.Sends = append(out.Sends, Send{Kind: SendCancel, Node: n.slot.ID, Epoch: n.epoch, Job: j.spec.ID, Attempt: j.row.Attempt, GraceMs: j.graceMs})
	}
}

// refuse answers what a node may not say, and leaves a note of it.
func refuse(n *node, a Attempt, action string, out *Effects) {
	const detail = "this attempt belongs to another node"
	out.Sends = append(out.Sends, Send{Kind: SendError, Node: n.slot.ID, Epoch: n.epoch, Job: a.Job, Attempt: a.Attempt, Code: fleet.CodeNotYours, Detail: detail})
	note(n.slot.ID, a, action, detail, out)
}

func note(node string, a Attempt, action, detail string, out *Effects) {
	out.Audits = append(out.Audits, AuditNote{Action: action, Node: node, Job: a.Job, Detail: detail})
}

// speaker finds the node that speaks over its open session, and renews its lease.
func (d *Dispatch) speaker(now fleet.Time, from Session, out *Effects) *node {
	n := d.nodeOver(from)
	if n != nil {
		d.renew(now, n, out)
	}
	return n
}

// Accept takes a node's yes to an offer and answers it with start. What is not
// offered to it any more is void.
func (d *Dispatch) Accept(now fleet.Time, from Session, a Attempt, out *Effects) {
	n := d.speaker(now, from, out)
	if n == nil {
		note(from.Node, a, AuditAcceptFenced, "over a session that is not the node's open one", out)
		return
	}
	d.probed(now, n, a, out)
	j := d.jobs[a.Job]
	switch {
	case j != nil && j.row.Attempt == a.Attempt && j.row.Node != n.slot.ID && j.row.Node != "":
		refuse(n, a, AuditAcceptNotYours, out)
	case j == nil || !d.claim(now, n, j, &Running{Job: a.Job, Attempt: a.Attempt, Phase: PhaseAccepted}, false, out):
		sendVoid(n, a, out)
	}
	d.settle(now, out)
}

// Decline takes a node's no. The job keeps away from it for a while.
func (d *Dispatch) Decline(now fleet.Time, from Session, a Attempt, reason string, out *Effects) {
	n := d.speaker(now, from, out)
	if n == nil {
		return
	}
	d.probed(now, n, a, out)
	j := d.jobs[a.Job]
	if j != nil && j.held == n && j.row.Attempt == a.Attempt && (j.stage == stageSent || j.stage == stageMaybe) {
		n.silences.Answered()
		j.row.Detail = reason
		n.past.note(now, NodeDeclined, a.Job, reason)
		d.rejected(now, n, out)
		d.keepAway(now, j, n, d.cfg.AvoidFor)
		d.giveUp(now, j, fleet.AttemptDeclined, fleet.CauseDeclined, out)
	}
	d.settle(now, out)
}

// offerUnanswered ends an attempt whose offer nobody answered in time. When the
// session that it went to has ended, that is not the node's silence.
func (d *Dispatch) offerUnanswered(now fleet.Time, j *job, attempt int32, out *Effects) {
	if j.row.Attempt != attempt || j.stage != stageSent || j.row.State != fleet.JobOffered {
		return
	}
	if n := j.held; n.open && n.pending == nil {
		n.past.note(now, NodeUnanswered, j.spec.ID, "")
		sendVoid(n, Attempt{Job: j.spec.ID, Attempt: attempt}, out)
		d.unanswered(now, n, out)
		d.keepAway(now, j, n, d.cfg.AvoidFor)
	}
	d.giveUp(now, j, fleet.AttemptUnanswered, fleet.CauseUnanswered, out)
}

// Progress notes how far a running attempt is.
func (d *Dispatch) Progress(now fleet.Time, from Session, a Attempt, percent int32, out *Effects) {
	n := d.speaker(now, from, out)
	if n == nil {
		return
	}
	j := d.jobs[a.Job]
	if j != nil && j.held == n && j.row.Attempt == a.Attempt && j.row.State == fleet.JobOffered && j.stage != stageUnsent {
		d.begun(now, j, percent)
	}
	d.settle(now, out)
}

// Result takes what a node reports of an attempt. Only the current attempt's
// node can end the job; everybody else is answered and noted, and nothing
// changes. The answer to an accepted result goes out when it is committed.
func (d *Dispatch) Result(now fleet.Time, from Session, a Attempt, res *fleet.Result, out *Effects) {
	n := d.speaker(now, from, out)
	if n == nil {
		note(from.Node, a, AuditResultFenced, "over a session that is not the node's open one", out)
		return
	}
	d.judge(now, n, a, res, out)
	d.settle(now, out)
}

func (d *Dispatch) judge(now fleet.Time, n *node, a Attempt, res *fleet.Result, out *Effects) {
	j := d.jobs[a.Job]
	switch {
	case j == nil:
		d.recall(n, a, res.Digest, out)
	case a.Attempt < j.row.Attempt:
		switch node, known := j.nodeOfPast(a.Attempt); {
		case !known:
			d.recall(n, a, res.Digest, out)
		case node != n.slot.ID:
			refuse(n, a, AuditResultNotYours, out)
		default:
			fence(n, a, "a newer attempt was assigned", out)
		}
	case a.Attempt > j.row.Attempt || j.row.Node != n.slot.ID:
		refuse(n, a, AuditResultNotYours, out)
	case j.row.State.Terminal():
		j.late = true // of the very result that ended it, or of another: known at the commit
	case j.row.State == fleet.JobQueued && !j.orphanOf(n), j.stage == stageUnsent:
		fence(n, a, "the attempt was given up or has ended", out)
	default:
		d.accept(now, n, j, res, out)
	}
}

func (d *Dispatch) recall(n *node, a Attempt, digest [32]byte, out *Effects) {
	out.Recalls = append(out.Recalls, Recall{Node: n.slot.ID, Epoch: n.epoch, Job: a.Job, Attempt: a.Attempt, Digest: digest})
}

func fence(n *node, a Attempt, detail string, out *Effects) {
	out.Sends = append(out.Sends, resultAck(n, a, VerdictFenced))
	note(n.slot.ID, a, AuditResultFenced, detail, out)
}

func resultAck(n *node, a Attempt, v Verdict) Send {
	return Send{Kind: SendResultAck, Node: n.slot.ID, Epoch: n.epoch, Job: a.Job, Attempt: a.Attempt, Verdict: v}
}

// accept ends the attempt by its result, and the job unless the fleet was at
// fault and attempts are left.
func (d *Dispatch) accept(now fleet.Time, n *node, j *job, res *fleet.Result, out *Effects) {
	a := Attempt{Job: j.spec.ID, Attempt: j.row.Attempt}
	cause := causeOf(res)
	n.past.note(now, NodeResult, a.Job, string(cause))
	if j.row.StartedAt == 0 {
		j.row.StartedAt = max(j.row.AssignedAt, now-fleet.Time(max(0, res.RunMs)))
	}
	d.tried(now, n, res, out)
	drained, canceling := j.drained(), j.row.State == fleet.JobCanceling
	if j.overrun {
		res = timedOut(res)
		cause = causeOf(res)
	}
	if j.row.Outcome == fleet.AttemptOrphaned && !drained {
		j.row.Counted-- // it counts once
	}
	j.draining = drained && res.Status != fleet.ResultSucceeded
	d.endAttempt(now, j, fleet.AttemptEnded, cause)
	verdict := VerdictStored
	switch {
	case canceling:
		verdict = VerdictCanceled
		d.finish(now, j, fleet.JobCanceled, fleet.CauseCanceledByUser, j.row.Detail, res, out)
	case j.row.Cause == fleet.CauseDrained:
		verdict = VerdictFenced
		d.queue.Remove(&j.wait)
		d.next(now, j, out)
	case !cause.Retryable():
		d.finish(now, j, endState[res.Status], cause, res.Detail, res, out)
	case j.usedUp():
		d.finish(now, j, fleet.JobDead, fleet.CauseAttemptsUsedUp, lastEnd(cause, res.Detail), res, out)
	default:
		verdict = VerdictFenced // kept as an attempt's end, not as the job's result
		d.shun(j, n)
		d.keepAway(now, j, n, d.cfg.AvoidFor)
		d.dequeue(j)
		d.again(now, j, out)
	}
	out.acks = append(out.acks, resultAck(n, a, verdict))
}

// endState is what a job becomes by a result that ends it.
var endState = [...]fleet.JobState{
	fleet.ResultSucceeded: fleet.JobSucceeded, fleet.ResultFailed: fleet.JobFailed,
	fleet.ResultTimedOut: fleet.JobTimedOut, fleet.ResultCanceled: fleet.JobFailed,
}

// defaultCause stands where a node names no cause, or one that it can't have.
// A canceled attempt that nobody canceled was ended by its node.
var defaultCause = [...]fleet.Cause{
	fleet.ResultSucceeded: fleet.CauseNone, fleet.ResultFailed: fleet.CauseExitCode,
	fleet.ResultTimedOut: fleet.CauseRunTimeout, fleet.ResultCanceled: fleet.CauseNodeShuttingDown,
}

var nodeCauses = fleet.NodeCauses()

func causeOf(res *fleet.Result) fleet.Cause {
	if res.Status != fleet.ResultSucceeded && slices.Contains(nodeCauses, res.Cause) {
		return res.Cause
	}
	return defaultCause[res.Status]
}

// Recalled judges a result of a job, or of an attempt, that is no longer in
// memory by what the database has.
func (d *Dispatch) Recalled(now fleet.Time, r Recall, row RecalledRow, out *Effects) {
	n := d.nodes[r.Node] // the database's answer is no word of the node: it renews no lease
	if n == nil || !n.speaks(r.Epoch) {
		return
	}
	a := Attempt{Job: r.Job, Attempt: r.Attempt}
	switch {
	case !row.Found || row.AttemptNode != r.Node:
		refuse(n, a, AuditResultNotYours, out)
	case r.Attempt < row.Attempt:
		fence(n, a, "a newer attempt was assigned", out)
	case !row.State.Terminal():
		// The job has come back to life in memory meanwhile; the node sends again.
	case row.State == fleet.JobCanceled:
		out.Sends = append(out.Sends, resultAck(n, a, VerdictCanceled))
	case row.HasResult && row.ResultDigest == r.Digest:
		out.Sends = append(out.Sends, resultAck(n, a, VerdictDuplicate))
	case row.HasResult:
		out.Sends = append(out.Sends, resultAck(n, a, VerdictFenced))
		note(r.Node, a, AuditResultConflict, "another result of this attempt is stored", out)
	default:
		fence(n, a, "the job ended without it", out)
	}
	d.settle(now, out)
}
