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
	ended   bool // its commit is over
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
// the gathered writes to the writer when it takes them.
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
	switch {
	case l.inDoubt, len(l.inFlight) == mostUnderWay:
	case len(l.inFlight) > 0:
		if l.goesBehind() {
			l.handOver(helpers, ctx)
		}
	case e.Durable():
		l.handOver(helpers, ctx)
	default:
		l.settleEmpty()
	}
}

// goesBehind reports that so much has gathered that it goes to the database while the
// batch before is still under way there.
func (l *Loop) goesBehind() bool {
	rows := l.pending.rows()
	return rows >= behindRows && 2*rows >= l.inFlight[0].rows()
}

// handOver gives the writer what has gathered.
func (l *Loop) handOver(helpers *errgroup.Group, ctx context.Context) {
	b := l.pending
	l.inFlight, l.pending = append(l.inFlight, b), l.freshBatch()
	commit := l.writer.Begin(&b.effects)
	helpers.Go(func() error {
		b.refused, b.err = commit(ctx)
		l.committed <- b
		return nil
	})
}

// freshBatch reuses a settled batch's slices.
func (l *Loop) freshBatch() *batch {
	last := len(l.spare) - 1
	if last < 0 {
		return &batch{}
	}
	b := l.spare[last]
	l.spare = l.spare[:last]
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

// settleAfter settles a batch whose commit is over once those before it are settled, and
// the next ones that waited for that.
func (l *Loop) settleAfter(b *batch, helpers *errgroup.Group, ctx context.Context) error {
	b.ended = true
	for len(l.inFlight) > 0 && l.inFlight[0].ended {
		if err := l.settle(l.takeOldest(), helpers, ctx); err != nil {
			return err
		}
		l.flush(helpers, ctx) // what the one showed counts for the next
	}
	if l.inDoubt && len(l.inFlight) == 0 {
		l.load(helpers, ctx)
	}
	return nil
}

// takeOldest takes the batch out whose turn it is to be settled.
func (l *Loop) takeOldest() *batch {
	b := l.inFlight[0]
	l.inFlight = append(l.inFlight[:0], l.inFlight[1:]...)
	return b
}

// settle takes a transaction's outcome: the core derives what follows from it,
// and those who waited get their answer.
func (l *Loop) settle(b *batch, helpers *errgroup.Group, ctx context.Context) error {
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
	l.spare = append(l.spare, b)
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
	b.after, b.refused, b.err, b.ended = b.after[:0], nil, nil, false
}

// finish lets the transactions under way end and commits what has gathered, so
// that nothing that was decided is lost on a planned stop.
func (l *Loop) finish() error {
	failed := false
	for len(l.inFlight) > 0 {
		(<-l.committed).ended = true
		for len(l.inFlight) > 0 && l.inFlight[0].ended {
			b := l.takeOldest()
			l.answer(b)
			failed = failed || b.err != nil
		}
	}
	if failed || l.inDoubt || !l.pending.effects.Durable() {
		return nil
	}
	b := l.pending
	l.pending = l.freshBatch()
	b.refused, b.err = l.writer.Begin(&b.effects)(context.Background())
	l.answer(b)
	return nil
}

// answer tells those who wait for a batch what came of it, where nothing more follows.
func (l *Loop) answer(b *batch) {
	o := &outcome{batch: b, refused: refusedJobs(b.refused)}
	if b.err != nil {
		o.err = errUnknown
	}
	for _, fn := range b.after {
		fn(o)
	}
	b.after = nil
	if b.err == nil {
		l.announceEnds(b, o)
	}
}
