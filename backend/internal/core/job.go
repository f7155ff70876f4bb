package core

import (
	"cmp"
	"slices"

	"rockpool/backend/internal/core/alarm"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/schedule"
)

// stage is how far a job's current attempt is, as far as this process knows.
type stage uint8

const (
	stageNone    stage = iota // no open attempt
	stageUnsent               // assigned; its offer waits for the commit
	stageSent                 // offered; the answer is due
	stageStarted              // accepted, so it was or will be told to start
	stageMaybe                // read back from the database: may have been started
)

// job is an open job. Its row is as it should be stored: a running job's says
// offered.
type job struct {
	spec *fleet.JobSpec
	row  JobRow
	wait schedule.Waiter
	use  *use  // of its app
	kind *kind // among the app's open jobs

	reserve *reserve // a node is kept for it, or nil

	waits  alarm.Waiter // in the line of its cohort
	cohort *cohort      // in which it waits, or nil
	ledger ledger

	held   *node // that has a reservation for it
	heldAt int   // in held.jobs
	boot   string
	listed uint64 // the last report of its node that named it

	percent    int32
	stage      stage
	missed     uint8 // reports since then that should have named it
	startDue   bool  // start goes out when the adoption is committed
	cancelSent bool
	draining   bool // its node was asked to end the attempt because it is drained
	overrun    bool // or because it ran longer than it may
	late       bool // its node sent a result after the job had ended otherwise
	paused     bool // queued, and in no line

	graceMs    int64       // of a cancel
	cancelEnds fleet.Time  // when it ends without the node's word
	expires    fleet.Time  // when it will have waited longer than it may
	endCause   fleet.Cause // that ended the newest attempt

	placed  *fleet.Decision // of the current attempt
	ended   fleet.Time      // of the current attempt; 0: open or unknown
	avoid   []schedule.Exclusion
	past    []pastAttempt
	written stored // by the newest batch that names the job
	entry   entry
	refused uint64 // the last batch that the database did not take the job's part of
}

// pastAttempt is a superseded attempt that this process remembers.
type pastAttempt struct {
	attempt int32
	node    string
}

// maxIdle is how many records of ended jobs are kept for new ones.
const maxIdle = 256

// newJob makes the record of an open job, from that of one that has ended if there
// is one. Nothing leads to that any more but entries of lines that have passed, which
// its waiter's token tells from new ones.
func (d *Dispatch) newJob(spec *fleet.JobSpec) *job {
	d.arrived++
	var j *job
	if last := len(d.idle) - 1; last >= 0 {
		j, d.idle = d.idle[last], d.idle[:last]
		*j = job{wait: j.wait.Spent()}
	} else {
		j = &job{}
	}
	j.spec, j.waits.Job = spec, spec.ID
	j.wait.Job, j.wait.App, j.wait.Priority, j.wait.Seq, j.wait.Request = spec.ID, spec.App, spec.Priority, d.arrived, schedule.RequestOf(spec)
	d.jobs[spec.ID] = j
	return j
}

// forget drops a job that is over, in the database too.
func (d *Dispatch) forget(j *job) {
	delete(d.jobs, j.spec.ID)
	led := j.held != nil || j.cohort != nil || j.reserve != nil || j.wait.Waiting()
	if !led && len(d.idle) < maxIdle {
		d.idle = append(d.idle, j)
	}
}

// state is the job's state with what lives in memory only.
func (j *job) state() fleet.JobState {
	if j.row.State == fleet.JobOffered && j.stage == stageStarted {
		return fleet.JobRunning
	}
	return j.row.State
}

// orphanOf reports a waiting job whose newest attempt was orphaned on the node
// and not superseded: it may still come back, or its result when it was drained.
func (j *job) orphanOf(n *node) bool {
	return j.row.State == fleet.JobQueued && j.row.Outcome == fleet.AttemptOrphaned && j.row.Node == n.slot.ID
}

// usedUp reports that no attempt is left.
func (j *job) usedUp() bool { return j.row.Counted >= max(1, j.spec.MaxAttempts) }

// lastEnd is the detail of a job whose attempts are used up: why the last one ended.
func lastEnd(cause fleet.Cause, detail string) string {
	text := "the last attempt ended with " + string(cause)
	if detail != "" {
		text += ": " + detail
	}
	return text
}

// byService orders jobs as they would be served.
func byService(a, b *job) int {
	if a.wait.Priority != b.wait.Priority {
		return cmp.Compare(b.wait.Priority, a.wait.Priority)
	}
	return cmp.Compare(a.wait.Seq, b.wait.Seq)
}

// byWait orders jobs that wait by when they began to.
func byWait(a, b *job) int {
	return cmp.Or(cmp.Compare(a.waits.Since, b.waits.Since), cmp.Compare(a.wait.Seq, b.wait.Seq))
}

// nodeOfPast finds who had a superseded attempt.
func (j *job) nodeOfPast(attempt int32) (string, bool) {
	for _, p := range j.past {
		if p.attempt == attempt {
			return p.node, true
		}
	}
	return "", false
}

// hold gives the job's reservation to the node; the index has it already.
func (d *Dispatch) hold(j *job, n *node) {
	j.held, j.heldAt = n, len(n.jobs)
	n.jobs = append(n.jobs, j)
	d.useSlots(j.use, j.spec.Demands.Slots)
	d.seen(n)
}

// release gives back what the job holds, if anything.
func (d *Dispatch) release(j *job) {
	n := j.held
	if n == nil {
		return
	}
	last := n.jobs[len(n.jobs)-1]
	n.jobs[j.heldAt], last.heldAt = last, j.heldAt
	n.jobs[len(n.jobs)-1] = nil
	n.jobs = n.jobs[:len(n.jobs)-1]
	j.held = nil
	d.index.Release(&n.slot, &j.spec.Demands)
	d.useSlots(j.use, -j.spec.Demands.Slots)
	d.seen(n)
	d.free(n)
}

// endAttempt closes the open attempt. Ended and orphaned ones count, but for those
// that a drain ended.
func (d *Dispatch) endAttempt(now fleet.Time, j *job, outcome fleet.AttemptOutcome, cause fleet.Cause) {
	if j.draining {
		cause = fleet.CauseDrained
	}
	j.row.Outcome, j.row.Cause, j.endCause = outcome, cause, cause
	if !j.draining && (outcome == fleet.AttemptEnded || outcome == fleet.AttemptOrphaned) {
		j.row.Counted++
	}
	if j.ledger.cause == waitsOffer {
		d.waits(now, j, waitsNot)
	}
	j.stage, j.ended, j.startDue = stageNone, now, false
	j.draining, j.overrun, j.cancelSent = false, false, false
	d.release(j)
}

// giveUp ends an attempt without a result that counts for the job: the job ends
// as its policy says, or gets its next attempt here or elsewhere.
func (d *Dispatch) giveUp(now fleet.Time, j *job, outcome fleet.AttemptOutcome, cause fleet.Cause, out *Effects) {
	unsent := j.stage == stageUnsent
	d.endAttempt(now, j, outcome, cause)
	if unsent && d.inBatch(j, out) && j.entry.fresh {
		d.withdraw(j, out)
	}
	d.next(now, j, out)
}

// next decides on a job whose attempt has ended without ending the job.
func (d *Dispatch) next(now fleet.Time, j *job, out *Effects) {
	switch {
	case j.row.State == fleet.JobCanceling:
		d.finish(now, j, fleet.JobCanceled, fleet.CauseCanceledByUser, j.row.Detail, nil, out)
	case j.row.Cause == fleet.CauseDrained && j.row.Outcome != fleet.AttemptUnanswered && j.spec.OnNodeLost == fleet.OnLostFail:
		d.finish(now, j, fleet.JobFailed, fleet.CauseDrained, "", nil, out)
	case j.row.Outcome == fleet.AttemptOrphaned && j.spec.OnNodeLost == fleet.OnLostFail:
		d.finish(now, j, fleet.JobFailed, fleet.CauseNodeLost, "", nil, out)
	case j.row.Outcome == fleet.AttemptOrphaned && j.row.Cause != fleet.CauseDrained && j.spec.OnNodeLost == fleet.OnLostHold:
		d.pause(now, j, fleet.CauseHeld, 0, out)
	case j.usedUp():
		d.finish(now, j, fleet.JobDead, fleet.CauseAttemptsUsedUp, lastEnd(j.endCause, ""), nil, out)
	default:
		d.again(now, j, out)
	}
}

// lose ends the attempt of a node that is gone or denies it. An offer that
// nobody accepted can't have been started and does not count.
func (d *Dispatch) lose(now fleet.Time, j *job, out *Effects) {
	if j.stage == stageUnsent || j.stage == stageSent {
		d.giveUp(now, j, fleet.AttemptUnanswered, fleet.CauseNodeLost, out)
		return
	}
	if j.held != nil {
		j.held.past.note(now, NodeLostWork, j.spec.ID, "")
	}
	d.giveUp(now, j, fleet.AttemptOrphaned, fleet.CauseNodeLost, out)
}

// finish ends the job for good.
func (d *Dispatch) finish(now fleet.Time, j *job, state fleet.JobState, cause fleet.Cause, detail string, res *fleet.Result, out *Effects) {
	if j.row.Outcome == fleet.AttemptOpen && j.row.Attempt > 0 {
		j.row.Outcome = fleet.AttemptEnded
	}
	d.waits(now, j, waitsNot)
	d.closeJob(j)
	j.use.eased(now)
	j.stage = stageNone
	d.release(j)
	d.dequeue(j)
	j.row.State, j.row.Cause, j.row.Detail, j.row.EndedAt = state, cause, detail, now
	d.write(j, out)
	if res != nil && !j.entry.insert {
		out.Updates[j.entry.at].Result = res
	}
}

// keepAway lets the job avoid a node for a while.
func (d *Dispatch) keepAway(now fleet.Time, j *job, n *node, span fleet.Time) {
	forGood := func(e schedule.Exclusion) bool { return e.Node == &n.slot && e.Until == fleet.Never }
	if n == nil || span <= 0 || slices.ContainsFunc(j.avoid, forGood) {
		return
	}
	until := now + span
	j.avoid = append(j.avoid, schedule.Exclusion{Node: &n.slot, Until: until})
	d.timers.add(timer{at: until, kind: avoidDue, job: j.spec.ID})
}

// shun lets the job avoid a node for good on which an attempt of it has failed,
// when it asks for that.
func (d *Dispatch) shun(j *job, n *node) {
	if j.spec.AvoidFailedNode && n != nil {
		j.avoid = slices.DeleteFunc(j.avoid, func(e schedule.Exclusion) bool { return e.Node == &n.slot })
		j.avoid = append(j.avoid, schedule.Exclusion{Node: &n.slot, Until: fleet.Never})
	}
}

// avoidOver lets the job go where it kept away from.
func (d *Dispatch) avoidOver(now fleet.Time, j *job, out *Effects) {
	j.avoid = slices.DeleteFunc(j.avoid, func(e schedule.Exclusion) bool { return e.Until <= now })
	if j.wait.Waiting() {
		d.retry(now, j, out)
	}
}
