package sim

import (
	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

// release gives back what the batch says is held no more.
func (s *store) release(e *core.Effects) {
	for i := range e.Reservations {
		r := &e.Reservations[i]
		if !r.Release || s.refused.has(r.Job) {
			continue
		}
		if g := s.grant(r.Job); g != nil {
			add(&s.held[i].reserved, r.Demand, -1) // its row says what it holds
			continue
		}
		j := s.job(r.Job)
		if j == nil || j.held != r.Node {
			s.w.fail("W2", "a release of what is not held: %s on %s", r.Job, r.Node)
			continue
		}
		j.held = ""
		add(&s.held[i].reserved, r.Demand, -1)
	}
}

// write takes the rows of jobs and of superseded attempts.
func (s *store) write(e *core.Effects) {
	for i := range e.Inserts {
		in := &e.Inserts[i]
		if s.refused.has(in.Spec.ID) {
			continue
		}
		j := s.job(in.Spec.ID)
		j.stored, j.submitted = true, s.wallOf(in.At)
		s.w.orders[j.order].taken = true
		s.put(j, &in.Row, e)
	}
	for i := range e.Updates {
		u := &e.Updates[i]
		if s.refused.has(u.Job) {
			continue
		}
		j := s.job(u.Job)
		s.judgeStep(j, u)
		s.w.counts.states[j.row.State]--
		s.put(j, &u.Row, e)
		if u.Result != nil {
			s.accept(j, u)
		}
	}
	for i := range e.Attempts {
		s.supersede(&e.Attempts[i])
	}
}

func (s *store) put(j *job, r *core.JobRow, e *core.Effects) {
	if r.State == fleet.JobRunning {
		s.w.fail("W3", "running is never stored: job %d", j.number)
	}
	if r.State == fleet.JobQueued && (r.Cause == fleet.CauseNone || r.Decision == nil) {
		s.w.fail("W8", "job %d waits without a reason", j.number)
	}
	if r.State.Terminal() && r.State != fleet.JobSucceeded && r.Cause == fleet.CauseNone {
		s.w.fail("W8", "job %d ended %v without a reason", j.number, r.State)
	}
	ended := r.State.Terminal()
	s.w.hash.word(uint64(j.number)<<16 | uint64(r.State)<<8 | uint64(r.Attempt))
	j.row = *r
	s.w.counts.states[r.State]++
	s.moments(&j.row, s.wallOf)
	if ended {
		s.w.ended(j)
	}
}

// judgeStep looks at a step of a job's row by the state machine.
func (s *store) judgeStep(j *job, u *core.JobUpdate) {
	was, is := j.row.State, u.Row.State
	switch {
	case was.Terminal():
		s.w.fail("W3", "job %d was %v and is written again as %v", j.number, was, is)
	case u.Row.Attempt < j.row.Attempt:
		s.w.fail("W10", "job %d goes back from attempt %d to %d", j.number, j.row.Attempt, u.Row.Attempt)
	case u.Row.Counted > u.Row.Attempt || u.Row.Counted < 0:
		s.w.fail("W3", "job %d: %d attempts counted of %d", j.number, u.Row.Counted, u.Row.Attempt)
	case was != is && !was.MayBecome(is) && !(was.MayBecome(fleet.JobRunning) && fleet.JobRunning.MayBecome(is)):
		s.w.fail("W3", "job %d: %v may not become %v", j.number, was, is)
	}
}

// accept takes the result that ends a job: one for a job, of its newest attempt,
// by the node that had it.
func (s *store) accept(j *job, u *core.JobUpdate) {
	node, attempt := resultOf(u.Result)
	switch {
	case j.hasResult:
		s.w.fail("W3", "job %d has a second result", j.number)
	case !u.Row.State.Terminal():
		s.w.fail("W3", "job %d has a result and is %v", j.number, u.Row.State)
	case attempt != u.Row.Attempt || s.w.nodes[node].id != u.Row.Node:
		s.w.fail("W10", "job %d: the result of attempt %d on %s was taken, its attempt %d is on %s", j.number, attempt, s.w.nodes[node].id, u.Row.Attempt, u.Row.Node)
	}
	j.hasResult, j.digest = true, u.Result.Digest
	s.w.counts.accepted++
	s.w.counts.usefulMs += u.Result.RunMs
}

func (s *store) supersede(a *core.AttemptRow) {
	if s.refused.has(a.Job) {
		return
	}
	j := s.job(a.Job)
	past := j.attempt(a.Attempt)
	switch {
	case past == nil || past.node != a.Node:
		s.w.fail("W10", "job %d: a superseded attempt %d on %s that was never assigned", j.number, a.Attempt, a.Node)
	case past.superseded != "" || a.Attempt >= j.row.Attempt || a.Outcome == fleet.AttemptOpen:
		s.w.fail("W10", "job %d: attempt %d is superseded and is not", j.number, a.Attempt)
	default:
		past.superseded, past.outcome = a.Node, a.Outcome
		s.w.counts.outcomes[a.Outcome]++
	}
}

// reserve takes the assignments.
func (s *store) reserve(e *core.Effects) {
	for i := range e.Reservations {
		r := &e.Reservations[i]
		if r.Release || s.refused.has(r.Job) {
			continue
		}
		j, n := s.job(r.Job), s.held[i]
		if g := s.grant(r.Job); g != nil {
			s.take(n, r)
			continue
		}
		if j.held != "" || j.row.Node != r.Node && !j.row.State.Terminal() {
			s.w.fail("W2", "job %d is assigned to %s; its row says %q, %q holds it", j.number, r.Node, j.row.Node, j.held)
		}
		j.held = r.Node
		s.take(n, r)
		if !r.Adopt {
			s.assigned(j, n, r)
		}
	}
	s.heldByEnded(e)
}

func (s *store) take(n *row, r *core.Reservation) {
	add(&n.reserved, r.Demand, 1)
	if !within(&n.reserved, &n.rec.Capacity) {
		s.w.fail("W2", "%s: %+v reserved of %+v", r.Node, n.reserved, n.rec.Capacity)
	}
}

// heldByEnded finds rows that hold something and must not.
func (s *store) heldByEnded(e *core.Effects) {
	for i := range e.Updates {
		if j := s.job(e.Updates[i].Job); j != nil && j.held != "" && j.row.State != fleet.JobOffered && j.row.State != fleet.JobCanceling {
			s.w.fail("W2", "job %d is %v and still holds room on %s", j.number, j.row.State, j.held)
		}
	}
}

// assigned notes a new attempt and proves that it may be where it is.
func (s *store) assigned(j *job, n *row, r *core.Reservation) {
	j.attempts = append(j.attempts, attempt{number: j.row.Attempt, node: r.Node, pool: j.row.Pool, at: s.w.now})
	s.w.counts.assigned++
	s.w.judgePlace(j, n.node, r)
	if j.row.Attempt == 1 {
		s.w.counts.waits = append(s.w.counts.waits, int64(s.w.now-j.asked))
	}
}

// records takes the fallback records: each has its assignment in the same batch,
// and each fallback its record.
func (s *store) records(e *core.Effects) {
	for i := range e.Fallbacks {
		f := &e.Fallbacks[i]
		if s.refused.has(f.Job) {
			continue
		}
		if g := s.grant(f.Job); g != nil {
			g.recorded = true
			s.w.counts.fallbacks++
			continue
		}
		j := s.job(f.Job)
		a := j.attempt(f.Attempt)
		switch {
		case a == nil || a.node != f.Node:
			s.w.fail("W8", "job %d: a fallback record of no assignment", j.number)
		case a.fallback:
			s.w.fail("W8", "job %d: two fallback records of attempt %d", j.number, f.Attempt)
		default:
			a.fallback = true
			s.w.counts.fallbacks++
		}
	}
	for i := range e.Reservations {
		r := &e.Reservations[i]
		if r.Release || r.Adopt || s.refused.has(r.Job) {
			continue
		}
		if g := s.grant(r.Job); g != nil {
			if g.recorded != g.row.Fallback {
				s.w.fail("W1", "placement %d: fallback is %v on its row and a record is %v", g.number, g.row.Fallback, g.recorded)
			}
			continue
		}
		j := s.job(r.Job)
		if a := j.attempt(j.row.Attempt); a != nil && a.fallback != j.row.Fallback {
			s.w.fail("W1", "job %d: fallback is %v on its row and a record is %v", j.number, j.row.Fallback, a.fallback)
		}
	}
}
