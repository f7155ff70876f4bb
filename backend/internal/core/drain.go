package core

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/hold"
)

// A drain leaves no trace in a job's row until the attempt has ended: while its
// node is asked to end it, the row stays offered. A restart finds the hold with
// its deadline and asks again.

// drain does what a drain asks for now. What the node was offered and has not
// taken is taken back at once; what runs may, until the deadline.
func (d *Dispatch) drain(now fleet.Time, n *node, out *Effects) {
	drains, over := hold.Drains(n.rec.Holds, now)
	if !drains || len(n.jobs) == 0 {
		return
	}
	held := slices.Clone(n.jobs)
	slices.SortFunc(held, byService)
	for _, j := range held {
		switch {
		case j.row.State != fleet.JobOffered || j.ending():
		case j.stage == stageUnsent || j.stage == stageSent:
			d.takeBack(now, j, out)
		case over:
			d.drainJob(now, j, out)
		}
	}
}

// takeBack gives an offer that nobody has accepted to another node.
func (d *Dispatch) takeBack(now fleet.Time, j *job, out *Effects) {
	if j.stage == stageSent {
		sendVoid(j.held, Attempt{Job: j.spec.ID, Attempt: j.row.Attempt}, out)
	}
	d.giveUp(now, j, fleet.AttemptUnanswered, fleet.CauseDrained, out)
}

// drainJob asks the node to end the attempt, and gives it the grace of a cancel
// and some more. The order is repeated with each of its hellos and heartbeats.
func (d *Dispatch) drainJob(now fleet.Time, j *job, out *Effects) {
	j.draining, j.graceMs = true, int64(d.cfg.DefaultGrace)
	d.seenOf(j)
	d.sendCancel(now, j, out)
	d.awaitCancel(now, j)
}

// drained reports a job whose attempt a drain is ending or has ended without its
// node's word. Only a success of it still counts.
func (j *job) drained() bool {
	return j.draining || j.row.Outcome == fleet.AttemptOrphaned && j.endCause == fleet.CauseDrained
}
