package core

import "rockpool/backend/internal/core/fleet"

// placeOrQueue gives the job its next attempt, or lets it wait or fail.
func (d *Dispatch) placeOrQueue(now fleet.Time, j *job, out *Effects) {
	r, over := d.routeOf(j.spec), d.overQuota(j.spec)
	n := d.decide(now, r, &j.wait.Request, j.avoid)
	waits := j.spec.WhenExhausted != fleet.WhenExhaustedFail
	if n != nil && !over && !(waits && d.contested(r)) {
		d.assign(now, j, r, n, out)
		return
	}
	d.unchoose()
	if !waits {
		d.failExhausted(now, j, r, over, out)
		return
	}
	j.row.Decision = d.keptWaiting()
	d.wait(now, j, r, over, out)
	d.bank(now, j)
	d.limitWait(now, j)
	d.write(j, out)
	if !over {
		d.noHope(now, j, r, out)
	}
}

// wait puts the job into the queue.
func (d *Dispatch) wait(now fleet.Time, j *job, r *route, over bool, out *Effects) {
	j.row.State = fleet.JobQueued
	if j.row.Cause == fleet.CauseNone {
		j.row.Cause = waitCauseOf(over)
	}
	d.enqueue(now, j, r, now)
	if over {
		d.queue.Park(now, &j.wait)
	}
	for _, id := range r.tries {
		if !over && d.contested(r) {
			d.wakePool(id)
		}
	}
}

func waitCauseOf(overQuota bool) fleet.Cause {
	if overQuota {
		return fleet.CauseQuota
	}
	return fleet.CausePoolExhausted
}

// failExhausted ends a job that does not want to wait, with the alarm when it is
// for nodes; not for its app's quota.
func (d *Dispatch) failExhausted(now fleet.Time, j *job, r *route, over bool, out *Effects) {
	j.row.Decision = d.kept()
	j.row.Decision.Outcome = fleet.OutcomeFailed
	d.finish(now, j, fleet.JobFailed, waitCauseOf(over), "", nil, out)
	if !over {
		d.notPlaced(now, d.cohortFor(j.spec, r), keyOf(j.spec), j.spec.Owner, j.row.Decision, out)
	}
}

// assign reserves the node that the scratch decision chose and makes it the
// job's next attempt. The offer goes out when this is committed.
func (d *Dispatch) assign(now fleet.Time, j *job, r *route, n *node, out *Effects) {
	d.waits(now, j, waitsOffer)
	d.supersede(j, out)
	d.index.Reserve(&n.slot, &j.spec.Demands)
	d.served(now, j, n)
	d.succeeded(now, j, r, out)
	d.hold(j, n)
	j.placed = d.kept()
	n.past.choose(j.choice(now))
	row := &j.row
	row.State, row.Cause, row.Detail = fleet.JobOffered, fleet.CauseNone, ""
	row.Attempt++
	row.Outcome, row.AssignedAt, row.StartedAt = fleet.AttemptOpen, now, 0
	row.Node, row.Pool, row.Fallback, row.Decision = n.rec.ID, n.rec.Pool, j.placed.Fallback, j.placed
	j.stage, j.boot, j.percent, j.missed, j.ended = stageUnsent, n.rec.BootID, 0, 0, 0
	e := d.open(j, out)
	e.fresh, e.adopt = true, false
	d.write(j, out)
	if row.Fallback {
		out.Fallbacks = append(out.Fallbacks, FallbackRecord{
			Job: j.spec.ID, Attempt: row.Attempt, App: j.spec.App, Role: j.spec.Role,
			From: r.chain.Pools, Node: row.Node, At: now,
		})
	}
}

// served lets the job's app pay for the place, if others wanted it too, and notes
// where small work may keep large work waiting.
func (d *Dispatch) served(now fleet.Time, j *job, n *node) {
	pool := n.rec.Pool
	if j.wait.Waiting() {
		d.queue.PassedOver(now, pool, &n.slot, &j.wait)
		d.queue.Served(now, &j.wait, pool, d.weightOf(j.spec))
	}
	d.crowd(pool, &j.spec.Demands)
}

// supersede keeps the attempt that the next one fences off.
func (d *Dispatch) supersede(j *job, out *Effects) {
	if j.row.Node == "" {
		return
	}
	j.past = append(j.past, pastAttempt{j.row.Attempt, j.row.Node})
	out.Attempts = append(out.Attempts, AttemptRow{
		Job: j.spec.ID, Attempt: j.row.Attempt, Node: j.row.Node, Pool: j.row.Pool, Fallback: j.row.Fallback,
		Outcome: j.row.Outcome, Cause: j.endCause, Decision: j.placed,
		AssignedAt: j.row.AssignedAt, StartedAt: j.row.StartedAt, EndedAt: j.ended,
	})
}

// readopt gives a waiting job back to the node that still has its newest
// attempt; false: the node has no room for it any more.
func (d *Dispatch) readopt(now fleet.Time, j *job, n *node, out *Effects) bool {
	if !d.index.Reserve(&n.slot, &j.spec.Demands) {
		return false
	}
	d.waits(now, j, waitsNot)
	d.dequeue(j)
	d.hold(j, n)
	row := &j.row
	row.State, row.Outcome, row.Cause = fleet.JobOffered, fleet.AttemptOpen, fleet.CauseNone
	row.Counted--
	if j.placed != nil {
		row.Decision = j.placed
	}
	j.stage, j.boot, j.missed, j.ended = stageStarted, n.rec.BootID, 0, 0
	e := d.open(j, out)
	e.fresh, e.adopt = true, true
	d.write(j, out)
	return true
}
