package store

import (
	"context"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5"

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

// fenceWholeSQL is the fence of a batch that is sent as a whole. With it the connection
// remembers the batch's number, unless the transaction is rolled back; a batch that was
// sent before the one before had its answer goes only where that one's number stands.
const fenceWholeSQL = `
	SELECT 1 / count(batch)::int FROM (
		SELECT set_config('rockpool.batch', $2, false) AS batch FROM shards
		WHERE id = 1 AND epoch = $1 AND ($3 = '' OR current_setting('rockpool.batch', true) = $3) FOR KEY SHARE) AS mine`

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

// sendWhole commits the batch in one trip, and all of it or nothing. Not taken, without
// an error: nothing was written, nobody else uses the connection, and step by step it
// shows what the database refuses. ErrUnknown: it may be committed. Any other error: it
// is not.
func (w *Writer) sendWhole(ctx context.Context, t *turn, e *core.Effects) (taken bool, err error) {
	r, follows, err := w.sendBehind(ctx, t, e)
	if r != nil && err == nil {
		return true, nil
	}
	if before := t.alone(); before != nil {
		return false, before
	}
	if r == nil || follows && isDataError(err) { // the one before may have been the reason
		r, err = w.sendAlone(ctx, t, e)
	}
	switch {
	case err == nil:
		return r != nil, nil
	case isDataError(err):
		return false, nil
	case isNoTable(err) && r != nil && r.day != "":
		w.db.log.Warn("a day's jobs are looked for among all: its partition is gone, or the server's role has no rights on it, which migrating gives",
			"partition", r.day, "sqlstate", sqlState(err))
		w.keepDay(r.day, &updateJobs)
		return false, nil
	case errors.Is(err, ErrUnknown):
		return false, err
	}
	return false, problem("write a batch", err)
}

// sendBehind sends the batch as soon as the one before was sent, and reads its answer.
// follows: that one had none yet. No round: it was not sent, because it does not go as a
// whole or there is something to do first for which it must be alone.
func (w *Writer) sendBehind(ctx context.Context, t *turn, e *core.Effects) (r *round, follows bool, err error) {
	if !fitsWhole(e) {
		return nil, false, nil
	}
	if follows, err = t.send(); err != nil {
		return nil, false, err
	}
	if r = w.whole(t, e, follows); r == nil || !w.line.usable() || !w.line.knows(r.batch) {
		t.withdraw()
		return nil, false, nil
	}
	defer w.line.watch(ctx)()
	err = w.line.send(r.batch)
	t.sentAll()
	t.awaitAnswer()
	defer t.gotAnswer()
	if err == nil {
		err = w.line.answer(r.batch)
	}
	return r, follows, err
}

// sendAlone does it when nobody else uses the connection.
func (w *Writer) sendAlone(ctx context.Context, t *turn, e *core.Effects) (*round, error) {
	if !fitsWhole(e) {
		return nil, nil
	}
	if err := w.connect(ctx); err != nil {
		return nil, err
	}
	r := w.whole(t, e, false)
	if r == nil {
		return nil, nil
	}
	if err := w.line.learn(ctx, r.batch); err != nil {
		return r, err
	}
	defer w.line.watch(ctx)()
	if err := w.line.send(r.batch); err != nil {
		return r, err
	}
	return r, w.line.answer(r.batch)
}

// whole makes the batch's statements; nil: its reservations contradict each other.
func (w *Writer) whole(t *turn, e *core.Effects, follows bool) *round {
	w.zero = w.wall(0)
	r := &round{w: w, e: e, out: &leftOut{}, batch: &pgx.Batch{}, whole: true}
	if conflicts := r.sumUp(); len(conflicts) > 0 {
		return nil
	}
	before := ""
	if follows {
		before = strconv.FormatInt(t.n-1, 10)
	}
	r.batch.Queue(fenceWholeSQL, w.epoch, strconv.FormatInt(t.n, 10), before)
	r.queue()
	return r
}
