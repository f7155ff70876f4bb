package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

// Writer commits batches of effects, each in one transaction of set-based
// statements, sent together and without waiting for company. It has its own
// connection. Batches may be under way at the same time (order.go): the next one is
// sent while PostgreSQL works on the one before (line.go).
//
// It is optimistic: everything is sent as memory believes it, and each statement
// checks in SQL what memory believed (shard's epoch, node's pool, holds and
// capacity, job's state and attempt). A batch is first sent as a whole, with its
// commit, in one trip (whole.go), and PostgreSQL takes all of it or nothing. When it
// does not, the batch goes again step by step: what does not come back is left out,
// with everything else of the same job, and the rest is sent again.
type Writer struct {
	db    *DB
	epoch int64
	wall  func(fleet.Time) time.Time
	line  *line
	order order
	zero  time.Time // wall time of the core's 0, as the current batch has it

	inserts insertColumns // of the current batch
	updates updateColumns
	slots   slotColumns
	days    map[string]*forms // updates of jobs by partition
}

// writerName is the application_name of writers' connections.
const writerName = "rockpool writer"

const commitLimit = 30 * time.Second

// writerParams make the one plan that is right for statements that name their
// rows by key: look up the keys in the index (= ANY), hash them against what was
// sent. The planner's own choice rests on statistics, and those of a partition
// that was empty this morning, or of an array of unknown length, mislead it into
// comparing everything with everything. Generic plans are made once.
//
// A server that stopped in the middle must not keep its locks from the one that
// takes over. A backend that waits for the rest of a batch counts as active: who takes
// over ends it (AcquireShard).
var writerParams = map[string]string{
	"enable_nestloop": "off", "enable_mergejoin": "off", "enable_seqscan": "off", "enable_bitmapscan": "off",
	"plan_cache_mode":                     "force_generic_plan",
	"idle_in_transaction_session_timeout": "10s",
	"lock_timeout":                        "10s",
}

// NewWriter makes the writer of a shard's owner; wall tells the wall time of the
// core's. It connects when first used.
func NewWriter(db *DB, epoch int64, wall func(fleet.Time) time.Time) *Writer {
	w := &Writer{db: db, epoch: epoch, wall: wall}
	db.mu.Lock()
	db.writers = append(db.writers, w)
	db.mu.Unlock()
	return w
}

// Close gives the connection back; closing the DB does so too.
func (w *Writer) Close() {
	if w.line != nil {
		w.line.Close(context.Background())
	}
}

// Begin gives the batch its place: batches take effect in the order of these calls.
// What it returns commits the durable part of e, and must be called, from any goroutine.
// With a nil error e is committed but for what is refused. ErrFenced: another server owns
// the shard, nothing was written. ErrUnknown: it may be committed or not. Any other
// error: it is not. With a batch that fails fail those that had begun by then.
func (w *Writer) Begin(e *core.Effects) (commit func(context.Context) ([]core.Refusal, error)) {
	t := w.order.begin()
	return func(ctx context.Context) (refused []core.Refusal, err error) {
		defer func() { t.settle(err) }()
		if !e.Durable() {
			return nil, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		defer func() { // alone with the connection by now, with any error
			if err != nil && w.line != nil && !w.line.usable() {
				w.db.lose(int32(w.line.PgConn().PID()))
			}
		}()
		if taken, err := w.sendWhole(ctx, t, e); taken || err != nil {
			return nil, err
		}
		return w.stepByStep(ctx, e)
	}
}

// Commit begins a batch and commits it.
func (w *Writer) Commit(ctx context.Context, e *core.Effects) ([]core.Refusal, error) {
	return w.Begin(e)(ctx)
}

// stepByStep commits what the database takes, and says what it does not.
func (w *Writer) stepByStep(ctx context.Context, e *core.Effects) ([]core.Refusal, error) {
	if err := w.connect(ctx); err != nil {
		return nil, err
	}
	out := &leftOut{}
	for {
		refused, err := w.try(ctx, e, out, true)
		switch {
		case isDataError(err):
			if err := w.leaveOutBad(ctx, e, out, err); err != nil {
				return nil, err
			}
		case errors.Is(err, ErrFenced), errors.Is(err, ErrUnknown):
			return nil, err
		case err != nil:
			return nil, problem("write a batch", err)
		case len(refused) == 0:
			return out.list, nil
		default:
			out.add(refused...)
		}
	}
}

func (w *Writer) connect(ctx context.Context) error {
	if w.line.usable() {
		return nil
	}
	if w.line != nil {
		w.line.Close(ctx)
	}
	conn, err := w.db.dial(ctx, writerName, pgx.QueryExecModeCacheStatement, writerParams)
	if err != nil {
		return err
	}
	w.line = newLine(conn)
	return takeArrays(conn)
}

const fenceSQL = "SELECT FROM shards WHERE id = 1 AND epoch = $1 FOR KEY SHARE"

// try sends everything that is not left out, and commits it when all of it came
// back and keep is set. Otherwise it says what did not.
func (w *Writer) try(ctx context.Context, e *core.Effects, out *leftOut, keep bool) ([]core.Refusal, error) {
	w.zero = w.wall(0)
	r := &round{w: w, e: e, out: out, batch: &pgx.Batch{}}
	if conflicts := r.sumUp(); len(conflicts) > 0 {
		return conflicts, nil
	}
	r.batch.Queue("BEGIN")
	r.batch.Queue(fenceSQL, w.epoch).Exec(func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() != 1 {
			return ErrFenced
		}
		return nil
	})
	r.queue()
	err := w.line.SendBatch(ctx, r.batch).Close()
	refused := r.refused()
	if err != nil || len(refused) > 0 || !keep {
		return refused, errors.Join(err, w.rollback(ctx))
	}
	return nil, w.commit(ctx)
}

// at is the wall time of a moment of the core; within a batch the clock is read once.
func (w *Writer) at(t fleet.Time) time.Time { return w.zero.Add(time.Duration(t) * time.Millisecond) }

// rollback needs no connection to have happened.
func (w *Writer) rollback(ctx context.Context) error {
	if w.line.IsClosed() {
		return nil
	}
	_, err := w.line.Exec(ctx, "ROLLBACK")
	return err
}

// commit waits for the answer also when ctx ends: not to know is worse.
func (w *Writer) commit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitLimit)
	defer cancel()
	tag, err := w.line.Exec(ctx, "COMMIT")
	var pg *pgconn.PgError
	switch {
	case err == nil && tag.String() == "COMMIT":
		return nil
	case err == nil:
		return fmt.Errorf("the transaction was rolled back at commit (%s)", tag)
	case errors.As(err, &pg) && pg.Severity == "ERROR":
		return err
	}
	w.line.Close(ctx)
	return fmt.Errorf("%w: %w", ErrUnknown, err)
}
