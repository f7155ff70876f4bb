package core

import "rockpool/backend/internal/core/fleet"

// limitWait sets the timer of a job that may wait for a node only so long in all.
// Pauses, and the wait for a person, are none of that time.
func (d *Dispatch) limitWait(now fleet.Time, j *job) {
	if j.spec.QueueTimeoutMs > 0 && j.wait.Waiting() {
		j.expires = now + max(0, fleet.Time(j.spec.QueueTimeoutMs)-d.waitedForNodes(now, j))
		d.timers.add(timer{at: j.expires, kind: expireDue, job: j.spec.ID})
	}
}

// expire ends a job that has waited longer than it may.
func (d *Dispatch) expire(now fleet.Time, t timer, j *job, out *Effects) {
	switch {
	case t.at != j.expires || !j.wait.Waiting():
	case d.waitedForNodes(now, j) < fleet.Time(j.spec.QueueTimeoutMs):
		d.limitWait(now, j)
	default:
		d.finish(now, j, fleet.JobExpired, fleet.CauseQueueTimeout, "", nil, out)
	}
}
