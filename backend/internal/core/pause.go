package core

import "rockpool/backend/internal/core/fleet"

// A job that may not be offered yet is queued and stands in no line: no node is
// missing for it, so that it raises no alarm and keeps nobody waiting. Its row says
// why and until when, and brings it back on time after a restart.

// pause keeps the job out of the lines until then; 0: until a person resolves it.
func (d *Dispatch) pause(now fleet.Time, j *job, cause fleet.Cause, until fleet.Time, out *Effects) {
	d.dequeue(j)
	j.row.State, j.row.Cause, j.row.NotBefore = fleet.JobQueued, cause, until
	if cause == fleet.CauseHeld {
		d.waits(now, j, waitsHold)
	} else {
		d.waits(now, j, waitsPause)
	}
	d.rest(now, j)
	d.write(j, out)
}

// rest sets the timer of a paused job; one that is held has none.
func (d *Dispatch) rest(now fleet.Time, j *job) {
	j.paused = true
	d.paused++
	j.use.paused++
	if j.row.NotBefore > 0 {
		d.timers.add(timer{at: max(now, j.row.NotBefore), kind: wakeDue, job: j.spec.ID})
	}
}

// unpause ends the job's pause, if it has one.
func (d *Dispatch) unpause(j *job) {
	if j.paused {
		j.paused, j.row.NotBefore = false, 0
		d.paused--
		j.use.paused--
	}
}

// wake lets a job whose time has come be offered, or wait for a node like others.
func (d *Dispatch) wake(now fleet.Time, j *job, out *Effects) {
	if j.paused && j.row.NotBefore > 0 && j.row.NotBefore <= now {
		d.requeue(now, j, out)
	}
}

// requeue ends the job's pause: it waits for what its last attempt left it with.
func (d *Dispatch) requeue(now fleet.Time, j *job, out *Effects) {
	d.unpause(j)
	j.row.Cause = j.endCause
	d.placeOrQueue(now, j, out)
}

// again gives a job its next attempt: at once, or after a pause when the last one
// counted.
func (d *Dispatch) again(now fleet.Time, j *job, out *Effects) {
	counted := j.row.Outcome == fleet.AttemptEnded || j.row.Outcome == fleet.AttemptOrphaned
	if span := j.backoff(); span > 0 && counted && j.row.Cause != fleet.CauseDrained {
		d.pause(now, j, fleet.CauseBackoff, now+span, out)
		return
	}
	d.placeOrQueue(now, j, out)
}

// backoff is the pause after the job's newest counted attempt: it doubles with
// each.
func (j *job) backoff() fleet.Time {
	span := j.spec.RetryBackoffMs
	switch {
	case span == fleet.NoBackoff:
		return 0
	case span == 0:
		span = fleet.DefaultBackoffMs
	}
	for n := int32(1); n < j.row.Counted && span < fleet.MaxBackoffMs; n++ {
		span *= 2
	}
	return fleet.Time(min(span, fleet.MaxBackoffMs))
}

// paused reports the cause of a pause.
func paused(c fleet.Cause) bool {
	return c == fleet.CauseNotBefore || c == fleet.CauseBackoff || c == fleet.CauseHeld
}
