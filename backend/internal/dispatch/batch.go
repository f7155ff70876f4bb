package dispatch

import (
	"context"

	"golang.org/x/sync/errgroup"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// batch is what gathers for one transaction, and who waits for its commit.
type batch struct {
	effects core.Effects
	after   []func(o *outcome)
	refused []core.Refusal
	err     error
}

// outcome of a batch for those who wait for it: an error for all, or the
// refusals by job.
type outcome struct {
	batch   *batch
	err     error
	refused map[ids.JobID]core.RefusedWhy
}

func (b *batch) rows() int {
	e := &b.effects
	return len(e.Inserts) + len(e.Updates) + len(e.Sessions) + len(e.Inventories) + len(e.Placements) + len(e.Audits)
}

// onCommit calls fn, in the loop's goroutine, when the batch that gathers now
// has been committed, or will never be.
func (l *Loop) onCommit(fn func(o *outcome)) {
	l.pending.after = append(l.pending.after, fn)
}

// flush sends what may go out now, asks for what must be recalled, and hands
// the gathered writes to the writer when it is idle.
func (l *Loop) flush(helpers *errgroup.Group, ctx context.Context) {
	e := &l.pending.effects
	if len(e.Sends) > 0 {
		l.sender.Deliver(e.Sends)
		clear(e.Sends)
		e.Sends = e.Sends[:0]
	}
	if e.Reload && !l.inDoubt {
		e.Reload = false
		l.log.Warn("memory differs from the database: loading the fleet anew")
		l.doubt(helpers, ctx)
		return
	}
	if len(e.Recalls) > 0 && !l.inDoubt {
		l.recall(helpers, ctx, append([]core.Recall(nil), e.Recalls...))
		e.Recalls = e.Recalls[:0]
	}
	if l.inFlight != nil || l.inDoubt {
		return
	}
	if !e.Durable() {
		l.settleEmpty()
		return
	}
	b := l.pending
	l.inFlight, l.pending = b, l.freshBatch()
	helpers.Go(func() error {
		b.refused, b.err = l.writer.Commit(ctx, &b.effects)
		l.committed <- b
		return nil
	})
}

// freshBatch reuses the last settled batch's slices.
func (l *Loop) freshBatch() *batch {
	b := l.spare
	l.spare = nil
	if b == nil {
		b = &batch{}
	}
	return b
}

// settleEmpty answers those who wait although there was nothing to write.
func (l *Loop) settleEmpty() {
	if len(l.pending.after) == 0 {
		return
	}
	after := l.pending.after
	l.pending.after = nil
	for _, fn := range after {
		fn(&outcome{batch: l.pending})
	}
}

// settle takes a transaction's outcome: the core derives what follows from it,
// and those who waited get their answer.
func (l *Loop) settle(b *batch, helpers *errgroup.Group, ctx context.Context) error {
	l.inFlight = nil
	if b.err != nil {
		return l.settleFailed(b, helpers, ctx)
	}
	o := &outcome{batch: b, refused: refusedJobs(b.refused)}
	if !l.inDoubt {
		l.core.Committed(l.cfg.Clock.Now(), &b.effects, b.refused, &l.pending.effects)
	}
	for _, fn := range b.after {
		fn(o)
	}
	l.announceEnds(b, o)
	l.news.keep(&b.effects, o.refused)
	b.reset()
	l.spare = b
	if l.inDoubt {
		l.load(helpers, ctx)
	}
	return nil
}

func (l *Loop) settleFailed(b *batch, helpers *errgroup.Group, ctx context.Context) error {
	for _, fn := range b.after {
		fn(&outcome{batch: b, err: errUnknown})
	}
	if l.cfg.Fenced != nil && l.cfg.Fenced(b.err) {
		return b.err
	}
	l.log.Error("a batch was not committed: nothing is decided until the fleet is loaded anew", "error", b.err)
	l.doubt(helpers, ctx)
	return nil
}

func refusedJobs(refused []core.Refusal) map[ids.JobID]core.RefusedWhy {
	if len(refused) == 0 {
		return nil
	}
	byJob := make(map[ids.JobID]core.RefusedWhy, len(refused))
	for _, r := range refused {
		byJob[r.Job] = r.Why
	}
	return byJob
}

// announceEnds wakes those who wait for the end of a job that this batch ended.
func (l *Loop) announceEnds(b *batch, o *outcome) {
	if len(l.terminal) == 0 {
		return
	}
	announce := func(id ids.JobID, row *core.JobRow, result *fleet.Result) {
		waiting := l.terminal[id]
		if len(waiting) == 0 || !row.State.Terminal() {
			return
		}
		if _, refused := o.refused[id]; refused {
			return
		}
		for _, ended := range waiting {
			ended <- &core.Ended{Row: *row, Result: result}
		}
		delete(l.terminal, id)
	}
	for i := range b.effects.Inserts {
		announce(b.effects.Inserts[i].Spec.ID, &b.effects.Inserts[i].Row, nil)
	}
	for i := range b.effects.Updates {
		announce(b.effects.Updates[i].Job, &b.effects.Updates[i].Row, b.effects.Updates[i].Result)
	}
}

// reset forgets the batch's content and keeps its memory.
func (b *batch) reset() {
	b.effects.Reset()
	clear(b.after)
	b.after, b.refused, b.err = b.after[:0], nil, nil
}

// finish lets the transaction under way end and commits what has gathered, so
// that nothing that was decided is lost on a planned stop.
func (l *Loop) finish() error {
	if l.inFlight != nil {
		b := <-l.committed
		l.inFlight = nil
		l.answer(b, b.err)
	}
	if l.inDoubt || !l.pending.effects.Durable() {
		return nil
	}
	b := l.pending
	l.pending = l.freshBatch()
	b.refused, b.err = l.writer.Commit(context.Background(), &b.effects)
	l.answer(b, b.err)
	return nil
}

func (l *Loop) answer(b *batch, err error) {
	o := &outcome{batch: b, refused: refusedJobs(b.refused)}
	if err != nil {
		o.err = errUnknown
	}
	for _, fn := range b.after {
		fn(o)
	}
	b.after = nil
	if err == nil {
		l.announceEnds(b, o)
	}
}
