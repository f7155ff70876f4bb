package core

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// Committed tells that a batch is in the database, but for what was refused of
// it, and lets out what had to wait for that: offers, starts of adopted
// attempts, cancels, answers to results, welcomes. out is another batch than
// the committed one. A batch that failed, or of which nobody knows, is not told
// of: everything is loaded anew.
func (d *Dispatch) Committed(now fleet.Time, batch *Effects, refused []Refusal, out *Effects) {
	for i := range refused {
		d.refuse(now, batch, &refused[i], out)
	}
	for i := range batch.Sessions {
		d.sessionCommitted(now, &batch.Sessions[i], refused, out)
	}
	for i := range batch.Inventories {
		d.inventoryCommitted(&batch.Inventories[i])
	}
	for i := range batch.acks {
		if j := d.jobs[batch.acks[i].Job]; j != nil && j.refused != batch.gen {
			out.Sends = append(out.Sends, batch.acks[i])
		}
	}
	for i := range batch.Placements {
		d.placementCommitted(batch, &batch.Placements[i])
	}
	for i := range batch.Inserts {
		d.rowCommitted(now, batch, batch.Inserts[i].Spec.ID, &batch.Inserts[i].Row, nil, out)
	}
	for i := range batch.Updates {
		d.rowCommitted(now, batch, batch.Updates[i].Job, &batch.Updates[i].Row, batch.Updates[i].Result, out)
	}
	d.settle(now, out)
}

func (d *Dispatch) sessionCommitted(now fleet.Time, s *SessionWrite, refused []Refusal, out *Effects) {
	n := d.nodes[s.Node]
	if n == nil || s.Left || slices.ContainsFunc(refused, func(r Refusal) bool { return r.Job.IsZero() && r.Node == s.Node }) {
		return
	}
	n.reported(now, s.Epoch, s.Report)
	if n.speaks(s.Epoch) && n.pending != nil {
		d.opened(now, n, out)
		return
	}
	d.reindex(now, n)
}

// rowCommitted does what waited for a job's row.
func (d *Dispatch) rowCommitted(now fleet.Time, batch *Effects, id ids.JobID, row *JobRow, res *fleet.Result, out *Effects) {
	j := d.jobs[id]
	if j == nil || j.refused == batch.gen {
		return
	}
	switch {
	case row.State.Terminal():
		if j.late && res == nil {
			d.answerLate(j, out)
		}
		d.forget(j)
	case row.State == fleet.JobOffered && j.row.State == fleet.JobOffered && j.row.Attempt == row.Attempt:
		d.assignmentCommitted(now, j, out)
	case row.State == fleet.JobCanceling && j.row.State == fleet.JobCanceling && !j.cancelSent:
		d.sendCancel(now, j, out)
	}
}

// assignmentCommitted offers the attempt, unless its node may not get new work
// any more: held, moved or gone since.
func (d *Dispatch) assignmentCommitted(now fleet.Time, j *job, out *Effects) {
	n := j.held
	switch {
	case j.stage == stageUnsent && n.slot.Eligible() && n.rec.Pool == j.row.Pool:
		d.sendOffer(now, j, out)
	case j.stage == stageUnsent:
		d.giveUp(now, j, fleet.AttemptUnanswered, fleet.CauseAssignmentRefused, out)
	case j.startDue && !j.ending():
		j.startDue = false
		d.sendStart(n, j, out)
	}
}

// answerLate answers a result that came while the end of its job, caused by
// something else, was on its way to the database.
func (d *Dispatch) answerLate(j *job, out *Effects) {
	n := d.nodes[j.row.Node]
	if n == nil || !n.open {
		return
	}
	a := Attempt{Job: j.spec.ID, Attempt: j.row.Attempt}
	if j.row.State == fleet.JobCanceled {
		out.Sends = append(out.Sends, resultAck(n, a, VerdictCanceled))
		return
	}
	fence(n, a, "the job ended without it", out)
}

// refuse undoes what the database did not take.
func (d *Dispatch) refuse(now fleet.Time, batch *Effects, r *Refusal, out *Effects) {
	if n := d.nodes[r.Node]; r.Job.IsZero() && n != nil {
		d.close(n, fleet.CodeUnavailable, CloseLost, out)
		out.Reload = true
		return
	}
	if p := d.placements[r.Job]; p != nil {
		d.refusePlacement(now, batch, r, p, out)
		return
	}
	j := d.jobs[r.Job]
	if j == nil {
		return
	}
	j.refused = batch.gen
	was, insert := batch.wasIn(r.Job)
	switch {
	case r.Why == RefusedAssignment:
		d.unassign(now, j, batch, was, insert, out)
	case r.Why == RefusedIdempotency, r.Why == RefusedData && insert != nil:
		d.drop(j, out)
	default:
		out.Reload = true
	}
}

// unassign takes back an assignment that the database refused, with the whole
// of the job's part of that batch, and decides again.
func (d *Dispatch) unassign(now fleet.Time, j *job, batch *Effects, was stored, insert *JobInsert, out *Effects) {
	newer := d.inBatch(j, out)
	if !newer && j.entry.gen != batch.gen {
		out.Reload = true // a batch in between builds on the refused one
		return
	}
	adopted := slices.ContainsFunc(batch.Reservations, func(r Reservation) bool { return r.Job == j.spec.ID && r.Adopt })
	attempt := batch.attemptOf(j.spec.ID)
	d.rebase(j, newer, was, insert, out)
	out.Attempts = slices.DeleteFunc(out.Attempts, func(a AttemptRow) bool { return a.Job == j.spec.ID && a.Attempt == attempt && !adopted })
	for i := range batch.Attempts {
		if batch.Attempts[i].Job == j.spec.ID {
			out.Attempts = append(out.Attempts, batch.Attempts[i])
		}
	}
	if j.row.Attempt != attempt || j.held == nil {
		if j.row.Attempt == attempt && !adopted {
			j.disown()
		}
		d.write(j, out)
		return
	}
	d.keepAway(now, j, j.held, refusedFor)
	if adopted {
		d.endAttempt(now, j, fleet.AttemptOrphaned, fleet.CauseAssignmentRefused)
	} else {
		d.endAttempt(now, j, fleet.AttemptUnanswered, fleet.CauseAssignmentRefused)
		j.disown()
	}
	d.next(now, j, out)
}

// rebase makes the job's entry in the batch lead from what the database still
// has: an older row, or none.
func (d *Dispatch) rebase(j *job, newer bool, was stored, insert *JobInsert, out *Effects) {
	j.written = was
	e := &j.entry
	switch {
	case !newer && insert != nil:
		d.insert(j, *insert, out)
	case !newer:
		d.open(j, out)
	case insert != nil:
		d.dropUpdate(e.at, out)
		e.insert, e.at, e.from = true, len(out.Inserts), stored{}
		out.Inserts = append(out.Inserts, *insert)
	default:
		e.from = was
		out.Updates[e.at].FromState, out.Updates[e.at].FromAttempt = was.state, was.attempt
	}
}

// drop forgets a job that the database does not take.
func (d *Dispatch) drop(j *job, out *Effects) {
	id := j.spec.ID
	d.release(j)
	d.dequeue(j)
	if !j.row.State.Terminal() {
		d.closeJob(j)
	}
	j.stage, j.row.State = stageNone, fleet.JobCanceled
	if d.inBatch(j, out) {
		d.setReservation(&j.entry.release, false, Reservation{}, out)
		d.setReservation(&j.entry.assign, false, Reservation{}, out)
		d.dropUpdate(j.entry.at, out)
		out.Attempts = slices.DeleteFunc(out.Attempts, func(a AttemptRow) bool { return a.Job == id })
		out.Fallbacks = slices.DeleteFunc(out.Fallbacks, func(f FallbackRecord) bool { return f.Job == id })
	}
	d.forget(j)
	d.rev++
}
