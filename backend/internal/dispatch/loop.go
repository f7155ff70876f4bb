package dispatch

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"time"
	"weak"

	"golang.org/x/sync/errgroup"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// Store reads the truth back.
type Store interface {
	// LoadSnapshot reads the fleet, in times of the loop's clock.
	LoadSnapshot(ctx context.Context) (*core.Snapshot, error)
	Recall(ctx context.Context, asked []core.Recall) ([]core.RecalledRow, error)
}

// Writer commits batches, each in one transaction, in the order in which they begin.
// What Begin returns is called once, from any goroutine. What the database does not take
// is left out and named; an error means that nothing is known to be committed, and that
// batches which began before it came are not either.
type Writer interface {
	Begin(batch *core.Effects) (commit func(ctx context.Context) ([]core.Refusal, error))
}

// Sender delivers messages to sessions without waiting.
type Sender interface {
	Deliver(sends []core.Send)
}

// Config of the loop.
type Config struct {
	Core   core.Config
	Clock  Clock
	Logger *slog.Logger
	// Fenced reports the error of a write under an epoch that is no longer the
	// shard's: the loop ends with it, everything else it survives.
	Fenced func(error) bool
}

const (
	// eventBuffer is how many events may wait for the loop before their senders do.
	eventBuffer = 1024
	// batchRows is how many rows gather behind a running transaction before the
	// loop stops taking events; beyond some hundred a larger batch saves nothing.
	batchRows = 2048
	// behindRows is how many rows must have gathered, and half as many as are under way,
	// for a batch to go behind the one before: a smaller one costs more as a commit of its
	// own than the database's pause between two.
	behindRows = 256
	// mostUnderWay is how many batches the writer has at a time: the database works on
	// one, and the next one waits for it there.
	mostUnderWay = 2
	// eventRun is how many waiting events are applied before the loop looks at
	// its other sources again.
	eventRun = 512
)

// event is one thing that happened. Events that trust the core's picture of
// jobs are not applied while that picture is in doubt (see recover.go).
type event struct {
	apply func(d *core.Dispatch, now fleet.Time, out *core.Effects)
	// doubt is called instead of apply while the database is away; nil: dropped.
	doubt func()
	// liveness events are applied always: they touch sessions and leases only.
	liveness bool
}

// Loop owns the core. Its methods may be called from any goroutine.
type Loop struct {
	cfg    Config
	store  Store
	writer Writer
	sender Sender
	log    *slog.Logger

	events    chan event
	committed chan *batch
	loaded    chan *core.Snapshot
	recalled  chan recallAnswer
	ready     chan struct{} // closed after the first load
	done      chan struct{} // closed when Run ends
	news      news

	// Owned by the goroutine of Run.
	core      *core.Dispatch
	pending   *batch   // gathers effects
	inFlight  []*batch // are being committed, the oldest first
	spare     []*batch
	inDoubt   bool
	loading   bool
	terminal  map[ids.JobID][]chan *core.Ended // who waits for a job's end; each takes one
	view      weak.Pointer[core.FleetView]     // the newest; until the next collection after its readers are done
	downSince time.Time
	freezes   freezeLog
}

// New makes a loop that starts with Run.
func New(cfg Config, store Store, writer Writer, sender Sender) *Loop {
	return &Loop{
		cfg: cfg, store: store, writer: writer, sender: sender, log: cfg.Logger,
		events:    make(chan event, eventBuffer),
		committed: make(chan *batch, mostUnderWay),
		loaded:    make(chan *core.Snapshot, 1),
		recalled:  make(chan recallAnswer, 16),
		ready:     make(chan struct{}),
		done:      make(chan struct{}),
		core:      core.New(cfg.Core),
		terminal:  map[ids.JobID][]chan *core.Ended{},
		pending:   &batch{},
	}
}

// Ready is closed once the fleet was loaded and events are taken.
func (l *Loop) Ready() <-chan struct{} { return l.ready }

// Run loads the fleet and then owns it until ctx ends or another server has
// taken over the shard. It returns nil on ctx's end, after the last commit.
func (l *Loop) Run(ctx context.Context) error {
	defer close(l.done)
	snapshot, err := l.store.LoadSnapshot(ctx)
	if err != nil {
		return fmt.Errorf("load the fleet from the database: %w", err)
	}
	l.begin(snapshot)
	close(l.ready)
	// The store's calls outlive ctx: what was handed to the writer is finished.
	helperCtx, stopHelpers := context.WithCancel(context.WithoutCancel(ctx))
	helpers := &errgroup.Group{}
	err = l.turn(ctx, helpers, helperCtx)
	stopHelpers()
	l.answerAll(errStopping)
	if waitErr := helpers.Wait(); err == nil {
		err = waitErr
	}
	return err
}

// turn is the loop itself. helpers carry the blocking calls to the store.
func (l *Loop) turn(ctx context.Context, helpers *errgroup.Group, helperCtx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		l.flush(helpers, helperCtx)
		timer.Reset(l.untilNext())
		select {
		case ev := <-l.eventSource():
			l.apply(ev)
			runtime.Gosched() // who has something to say already says it: together it costs less
			l.applyWaiting()
		case b := <-l.committed:
			if err := l.settleAfter(b, helpers, helperCtx); err != nil {
				return err
			}
		case snapshot := <-l.loaded:
			l.resume(snapshot)
		case answer := <-l.recalled:
			l.applyRecalled(answer)
		case <-timer.C:
		case <-ctx.Done():
			return l.finish()
		}
		l.tick()
		l.freezes.note(l.core.Frozen(l.cfg.Clock.Now()), l.cfg.Clock, l.log)
	}
}

// eventSource is nil, and so never ready, while enough has gathered behind the
// running transactions: backpressure on everyone who sends events.
func (l *Loop) eventSource() <-chan event {
	if l.full() {
		return nil
	}
	return l.events
}

func (l *Loop) full() bool { return len(l.inFlight) > 0 && l.pending.rows() >= batchRows }

// applyWaiting applies what else is there, without waiting for company.
func (l *Loop) applyWaiting() {
	for range eventRun {
		if l.full() {
			return
		}
		select {
		case ev := <-l.events:
			l.apply(ev)
		default:
			return
		}
	}
}

func (l *Loop) apply(ev event) {
	if l.inDoubt && !ev.liveness {
		if ev.doubt != nil {
			ev.doubt()
		}
		return
	}
	ev.apply(l.core, l.cfg.Clock.Now(), &l.pending.effects)
}

// tick lets deadlines pass; not while in doubt, when nothing may expire.
func (l *Loop) tick() {
	if l.inDoubt {
		return
	}
	if now := l.cfg.Clock.Now(); l.core.Next() <= now {
		l.core.Tick(now, &l.pending.effects)
	}
}

func (l *Loop) untilNext() time.Duration {
	next := l.core.Next()
	if l.inDoubt || next == fleet.Never {
		return time.Hour
	}
	return max(0, time.Duration(next-l.cfg.Clock.Now())*time.Millisecond)
}

// post hands an event to the loop. It blocks for backpressure only, and reports
// false when ctx or the loop ended first.
func (l *Loop) post(ctx context.Context, ev event) bool {
	select {
	case l.events <- ev:
		return true
	case <-ctx.Done():
		return false
	case <-l.done:
		return false
	}
}

// ask posts an event that answers, and waits for the answer.
func ask[T any](ctx context.Context, l *Loop, liveness bool, question func(d *core.Dispatch, now fleet.Time, out *core.Effects, answer func(T, error))) (T, error) {
	type reply struct {
		value T
		err   error
	}
	replies := make(chan reply, 1)
	answer := func(value T, err error) { replies <- reply{value, err} }
	var zero T
	posted := l.post(ctx, event{
		liveness: liveness,
		apply: func(d *core.Dispatch, now fleet.Time, out *core.Effects) {
			question(d, now, out, answer)
		},
		doubt: func() { answer(zero, errDatabaseAway) },
	})
	if !posted {
		return zero, stoppedOr(ctx)
	}
	select {
	case r := <-replies:
		return r.value, r.err
	case <-ctx.Done():
		return zero, ctx.Err()
	case <-l.done:
		select {
		case r := <-replies:
			return r.value, r.err
		default:
			return zero, errStopping
		}
	}
}

func stoppedOr(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return errStopping
}

var (
	errStopping     = fleet.Errorf(fleet.CodeUnavailable, "the server is stopping; try again")
	errDatabaseAway = fleet.Errorf(fleet.CodeUnavailable, "the database is away; nothing was done, try again")
	errUnknown      = fleet.Errorf(fleet.CodeUnavailable, "the database did not confirm; ask again with the same Idempotency-Key")
)
