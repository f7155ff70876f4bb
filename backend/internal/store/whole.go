package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"rockpool/backend/internal/core"
)

// countedSQL is a statement that gives back a row for each of what it did, and the
// same as one that fails when they are not as many as its last parameter says.
type countedSQL struct{ rows, whole string }

// counted makes both of a statement with that many parameters; how counts its rows.
// PostgreSQL has no assertion, but nothing can be divided by zero.
func counted(sql, how string, params int) countedSQL {
	if how == "" {
		return countedSQL{rows: sql, whole: sql}
	}
	return countedSQL{rows: sql, whole: "WITH done AS (" + sql + ") SELECT 1 / (" + how + " = $" + strconv.Itoa(params+1) + ")::int FROM done"}
}

const fenceWholeSQL = "SELECT 1 / count(*)::int FROM (" + fenceSQL + ") AS mine"

// expect queues a statement of which that many rows must come back; read finds out
// which do not where PostgreSQL does not count them itself.
func (r *round) expect(sql countedSQL, want int, read func(pgx.Rows) error, args ...any) {
	if r.whole {
		r.batch.Queue(sql.whole, append(args, want)...)
		return
	}
	r.batch.Queue(sql.rows, args...).Query(read)
}

// fitsWhole reports a batch all of whose statements check themselves.
func fitsWhole(e *core.Effects) bool { return len(e.Placements) == 0 }

// sendWhole commits the batch in one trip, and all of it or nothing: what is sent up to
// the protocol's sync is one transaction, which ends with it. Not taken, without an
// error: nothing was written, and step by step it shows what the database refuses.
// ErrUnknown: it may be committed. Any other error: it is not.
func (w *Writer) sendWhole(ctx context.Context, e *core.Effects) (taken bool, err error) {
	if err := ctx.Err(); err != nil || !fitsWhole(e) {
		return false, err
	}
	w.zero = w.wall(0)
	r := &round{w: w, e: e, out: &leftOut{}, batch: &pgx.Batch{}, whole: true}
	if conflicts := r.sumUp(); len(conflicts) > 0 {
		return false, nil
	}
	r.batch.Queue(fenceWholeSQL, w.epoch)
	r.queue()
	ctx, cancel := outlast(ctx, commitLimit)
	defer cancel()
	switch err := w.sendAll(ctx, r.batch); {
	case err == nil:
		return true, nil
	case errors.Is(err, ErrUnknown):
		return false, err
	case isDataError(err):
		return false, nil
	case isNoTable(err) && r.day != "":
		w.db.log.Warn("a day's jobs are looked for among all: its partition is gone, or the server's role has no rights on it, which migrating gives",
			"partition", r.day, "sqlstate", sqlState(err))
		w.keepDay(r.day, &updateJobs)
		return false, nil
	default:
		return false, problem("write a batch", err)
	}
}

// sendAll reads the answers in their order. The commit comes when all statements are
// done: what the server says before that says that there was none.
func (w *Writer) sendAll(ctx context.Context, batch *pgx.Batch) error {
	answers := w.conn.SendBatch(ctx, batch)
	var err error
	for range batch.Len() {
		if _, err = answers.Exec(); err != nil {
			break
		}
	}
	done := err == nil
	err = answers.Close() // it repeats the first error
	var pg *pgconn.PgError
	refused := errors.As(err, &pg)
	switch {
	case err == nil, refused && (!done || pg.Severity == "ERROR"), pgconn.SafeToRetry(err):
		return err
	}
	w.conn.Close(ctx)
	return fmt.Errorf("%w: %w", ErrUnknown, err)
}

// outlast is a context that ends so much later than ctx: not to know of a commit is
// worse than to wait for its answer.
func outlast(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(by):
			cancel()
		case <-longer.Done():
		}
	})
	return longer, func() { stop(); cancel() }
}
