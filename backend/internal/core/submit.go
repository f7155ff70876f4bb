package core

import (
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// Submit takes a validated job: it is offered at once when a node is free, and
// waits or fails with the reasons when none is. The batch gets its row; ins.Row
// and ins.At are not read. The id must be new.
func (d *Dispatch) Submit(now fleet.Time, ins JobInsert, out *Effects) {
	id := ins.Spec.ID
	if d.jobs[id] != nil {
		return
	}
	d.arrived++
	j := newJob(ins.Spec, d.arrived)
	d.jobs[id] = j
	ins.At = now
	d.insert(j, ins, out)
	d.placeOrQueue(now, j, out)
	d.settle(now, out)
}

// insert makes the job's entry in the batch that of a new row.
func (d *Dispatch) insert(j *job, ins JobInsert, out *Effects) {
	d.inBatch(j, out) // numbers the batch
	j.entry = entry{gen: out.gen, insert: true, at: len(out.Inserts), assign: -1, release: -1}
	out.Inserts = append(out.Inserts, ins)
}

// Cancel ends a job: at once when no node can have it, else when its node says
// so, is lost, or has had the grace and some more. It is final and has one
// effect however often it is asked for. It gives the job's state afterwards; not
// open: the job ended before, or never was. An open job in a terminal state has
// its end in a batch that is not committed yet.
func (d *Dispatch) Cancel(now fleet.Time, id ids.JobID, actor string, graceMs int64, out *Effects) (state fleet.JobState, open bool) {
	j := d.jobs[id]
	if j == nil {
		return 0, false
	}
	switch {
	case j.row.State.Terminal() || j.row.State == fleet.JobCanceling:
		return j.row.State, true
	case j.row.State == fleet.JobQueued || j.stage == stageUnsent:
		d.cancelNow(now, j, actor, out)
	default:
		d.cancelOnNode(now, j, actor, graceMs, out)
	}
	d.settle(now, out)
	return j.row.State, true
}

// cancelNow cancels a job that no node has been offered.
func (d *Dispatch) cancelNow(now fleet.Time, j *job, actor string, out *Effects) {
	j.row.CancelBy = actor
	if j.stage == stageUnsent {
		d.endAttempt(now, j, fleet.AttemptUnanswered, fleet.CauseNone)
		if d.inBatch(j, out) && j.entry.fresh {
			d.withdraw(j, out)
		}
	}
	d.finish(now, j, fleet.JobCanceled, fleet.CauseCanceledByUser, "", nil, out)
}

// cancelOnNode asks the node to end it, once that is committed.
func (d *Dispatch) cancelOnNode(now fleet.Time, j *job, actor string, graceMs int64, out *Effects) {
	if graceMs <= 0 {
		graceMs = int64(d.cfg.DefaultGrace)
	}
	j.graceMs = graceMs
	j.draining, j.cancelSent = false, false // a person's word goes before a drain's
	j.row.State, j.row.CancelBy = fleet.JobCanceling, actor
	d.write(j, out)
	d.awaitCancel(now, j)
}

func (d *Dispatch) awaitCancel(now fleet.Time, j *job) {
	j.cancelEnds = now + fleet.Time(j.graceMs) + d.cfg.CancelSlack
	d.timers.add(timer{at: j.cancelEnds, kind: cancelDue, job: j.spec.ID, attempt: j.row.Attempt})
}

// cancelUnanswered ends a canceled job, or a drained attempt, without its node's
// word.
func (d *Dispatch) cancelUnanswered(now fleet.Time, j *job, attempt int32, out *Effects) {
	switch {
	case j.row.Attempt != attempt || now < j.cancelEnds:
	case j.draining:
		d.giveUp(now, j, fleet.AttemptOrphaned, fleet.CauseDrained, out)
	case j.row.State == fleet.JobCanceling:
		d.endAttempt(now, j, fleet.AttemptOrphaned, fleet.CauseNone)
		d.finish(now, j, fleet.JobCanceled, fleet.CauseCanceledByUser, "its node did not confirm in time", nil, out)
	}
}
