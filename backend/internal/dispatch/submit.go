package dispatch

import (
	"context"
	"sync"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// Submit decides about new jobs and returns when they are committed. The answer
// has one entry a job, in their order. An error means that no job is known to
// have been taken (code unavailable).
func (l *Loop) Submit(ctx context.Context, jobs []core.JobInsert) ([]core.Submitted, error) {
	return ask(ctx, l, false, func(d *core.Dispatch, now fleet.Time, out *core.Effects, answer func([]core.Submitted, error)) {
		s := &submission{loop: l, answers: make([]core.Submitted, len(jobs)), settled: make([]bool, len(jobs)), answer: answer}
		for i := range jobs {
			jobs[i].At, jobs[i].NotBefore = now, l.notBefore(jobs[i].Spec)
			s.answers[i].ID = jobs[i].Spec.ID
			if why, refused := d.Submit(now, jobs[i], out); refused {
				s.answers[i].Refused, s.settled[i] = &why, true
				s.answers[i].RetryAfter = d.RetryAfter(now, jobs[i].Spec.App)
			} else {
				s.open++
			}
		}
		if s.open == 0 { // nothing is to be committed
			answer(s.answers, nil)
			return
		}
		l.onCommit(s.settle)
	})
}

// notBefore is the moment before which the job must not run; 0: it may at once.
func (l *Loop) notBefore(spec *fleet.JobSpec) fleet.Time {
	if spec.NotBeforeMs == 0 {
		return 0
	}
	return l.cfg.Clock.At(time.UnixMilli(spec.NotBeforeMs))
}

// submission waits for its jobs' commits. A job whose assignment the database
// refused is inserted again by the core, and waits for that batch.
type submission struct {
	loop    *Loop
	answers []core.Submitted
	settled []bool
	open    int
	answer  func([]core.Submitted, error)
}

func (s *submission) settle(o *outcome) {
	if o.err != nil {
		s.answer(nil, o.err)
		return
	}
	rows := insertedRows(&o.batch.effects, len(s.answers))
	for i := range s.answers {
		if s.settled[i] {
			continue
		}
		why, refused := o.refused[s.answers[i].ID]
		if refused && why == core.RefusedAssignment {
			continue
		}
		s.settled[i] = true
		s.open--
		if refused {
			s.answers[i].Refused = &why
		} else if row, ok := rows(s.answers[i].ID); ok {
			s.answers[i].Row = row
		}
	}
	if s.open > 0 {
		s.loop.onCommit(s.settle)
		return
	}
	s.answer(s.answers, nil)
}

// insertedRows finds the rows of a batch's inserts: by scan for a single job,
// by a map for many.
func insertedRows(e *core.Effects, wanted int) func(ids.JobID) (core.JobRow, bool) {
	if wanted == 1 {
		return func(id ids.JobID) (core.JobRow, bool) {
			for i := range e.Inserts {
				if e.Inserts[i].Spec.ID == id {
					return e.Inserts[i].Row, true
				}
			}
			return core.JobRow{}, false
		}
	}
	byID := make(map[ids.JobID]int, len(e.Inserts))
	for i := range e.Inserts {
		byID[e.Inserts[i].Spec.ID] = i
	}
	return func(id ids.JobID) (core.JobRow, bool) {
		i, ok := byID[id]
		if !ok {
			return core.JobRow{}, false
		}
		return e.Inserts[i].Row, true
	}
}

// SubmitAndWait decides about one new job as Submit does, calls taken, in the loop's
// goroutine, once the database has taken or refused it, and returns at the job's end:
// both in one event of the loop, which wakes the caller once. Without an end the job's row tells: it was
// refused, had ended already or did not end within wait (0: nobody waits). That ctx is
// over is an error only before the commit; who gives up at that very moment may be
// answered a moment before taken is called.
func (l *Loop) SubmitAndWait(ctx context.Context, job *core.JobInsert, wait time.Duration, taken func()) (core.Submitted, *core.Ended, error) {
	s := &single{loop: l, job: job, waits: wait > 0, taken: taken, ended: make(chan *core.Ended, 1)}
	s.answer.ID = job.Spec.ID
	if !l.post(ctx, event{apply: s.apply, doubt: s.drop}) {
		return core.Submitted{}, nil, stoppedOr(ctx)
	}
	var over <-chan time.Time
	if s.waits {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		over = timer.C
	}
	for {
		select {
		case end := <-s.ended:
			return s.answer, end, s.err
		case <-over:
			if s.giveUp() {
				return s.answer, nil, nil
			}
			over = nil // the commit is still to come
		case <-ctx.Done():
			if s.giveUp() {
				return s.answer, nil, nil
			}
			return core.Submitted{}, nil, ctx.Err()
		case <-l.done:
			return s.last()
		}
	}
}

// single is one job whose caller waits for its commit, and maybe for its end.
type single struct {
	loop   *Loop
	job    *core.JobInsert
	taken  func()
	ended  chan *core.Ended // takes one: the end, or that there is none to wait for
	answer core.Submitted
	err    error

	mu        sync.Mutex
	waits     bool // for the end
	committed bool
}

func (s *single) apply(d *core.Dispatch, now fleet.Time, out *core.Effects) {
	s.job.At, s.job.NotBefore = now, s.loop.notBefore(s.job.Spec)
	if why, refused := d.Submit(now, *s.job, out); refused {
		s.answer.Refused, s.answer.RetryAfter = &why, d.RetryAfter(now, s.job.Spec.App)
		s.ended <- nil
		return
	}
	s.loop.onCommit(s.settle)
}

// drop answers a job of which nothing was done.
func (s *single) drop() {
	s.err = errDatabaseAway
	s.ended <- nil
}

// settle takes the commit. A job whose assignment the database refused is inserted
// again by the core, and waits for that batch.
func (s *single) settle(o *outcome) {
	why, refused := o.refused[s.answer.ID]
	switch {
	case o.err != nil:
		s.err = o.err
	case refused && why == core.RefusedAssignment:
		s.loop.onCommit(s.settle)
		return
	case refused:
		s.answer.Refused = &why
	default:
		s.answer.Row, _ = insertedRows(&o.batch.effects, 1)(s.answer.ID)
	}
	waits := s.commit() // before anybody may act on it
	if s.err == nil {
		s.taken()
	}
	if waits {
		s.loop.terminal[s.answer.ID] = append(s.loop.terminal[s.answer.ID], s.ended)
		return
	}
	s.ended <- nil
}

// commit notes that the answer stands, and reports whether an end is waited for.
func (s *single) commit() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.committed = s.err == nil
	return s.committed && s.waits && s.answer.Refused == nil && !s.answer.Row.State.Terminal()
}

// giveUp ends the wait for the end, and reports whether the answer stands.
func (s *single) giveUp() bool {
	s.mu.Lock()
	s.waits = false
	committed := s.committed
	s.mu.Unlock()
	if committed {
		s.loop.forget(s.answer.ID, s.ended)
	}
	return committed
}

// last is what came of the job when the loop has ended.
func (s *single) last() (core.Submitted, *core.Ended, error) {
	select {
	case end := <-s.ended:
		return s.answer, end, s.err
	default:
		return core.Submitted{}, nil, errStopping
	}
}
