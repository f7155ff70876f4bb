package core

import (
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// Cancel ends a job: at once when no node can have it, else when its node says
// so, is lost, or has had the grace and some more. It is final and has one
// effect however often it is asked for. It gives the job's state afterwards; not
// open: the job ended before, or never was. An open job in a terminal state has
// its end in a batch that is not committed yet.
func (d *Dispatch) Cancel(now fleet.Time, id ids.JobID, actor string, graceMs int64, out *Effects) (state fleet.JobState, open bool) {
	state, open = d.cancel(now, id, actor, graceMs, out)
	d.settle(now, out)
	return state, open
}

// Canceled is one job of a selection: its state after the cancel. Not open: it
// ended before, or never was.
type Canceled struct {
	Job   ids.JobID
	State fleet.JobState
	Open  bool
}

// CancelMany cancels each of the jobs, and answers in their order. Nothing takes
// the place of one that ends before all are canceled.
func (d *Dispatch) CancelMany(now fleet.Time, jobs []ids.JobID, actor string, graceMs int64, out *Effects) []Canceled {
	list := make([]Canceled, len(jobs))
	for i, id := range jobs {
		state, open := d.cancel(now, id, actor, graceMs, out)
		list[i] = Canceled{Job: id, State: state, Open: open}
	}
	d.settle(now, out)
	return list
}

func (d *Dispatch) cancel(now fleet.Time, id ids.JobID, actor string, graceMs int64, out *Effects) (state fleet.JobState, open bool) {
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
	j.draining, j.overrun, j.cancelSent = false, false, false // a person's word goes first
	j.row.State, j.row.CancelBy = fleet.JobCanceling, actor
	d.write(j, out)
	d.awaitCancel(now, j)
}

func (d *Dispatch) awaitCancel(now fleet.Time, j *job) {
	j.cancelEnds = now + fleet.Time(j.graceMs) + d.cfg.CancelSlack
	d.timers.add(timer{at: j.cancelEnds, kind: cancelDue, job: j.spec.ID, attempt: j.row.Attempt})
}

// cancelUnanswered ends a canceled job, or an attempt that is drained or ran too
// long, without its node's word.
func (d *Dispatch) cancelUnanswered(now fleet.Time, j *job, attempt int32, out *Effects) {
	switch {
	case j.row.Attempt != attempt || now < j.cancelEnds:
	case j.draining:
		d.giveUp(now, j, fleet.AttemptOrphaned, fleet.CauseDrained, out)
	case j.overrun:
		d.endAttempt(now, j, fleet.AttemptOrphaned, fleet.CauseRunTimeout)
		d.finish(now, j, fleet.JobTimedOut, fleet.CauseRunTimeout, "its node did not end it in time", nil, out)
	case j.row.State == fleet.JobCanceling:
		d.endAttempt(now, j, fleet.AttemptOrphaned, fleet.CauseNone)
		d.finish(now, j, fleet.JobCanceled, fleet.CauseCanceledByUser, "its node did not confirm in time", nil, out)
	}
}
