package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// line is the writer's connection. pgx has it for what is asked and answered in turn.
// Whole batches are sent and their answers read beside pgx, which can't do the one while
// it waits for the other: one goroutine may send while another reads.
type line struct {
	*pgx.Conn
	wire     net.Conn
	answers  *pgproto3.Frontend
	broken   atomic.Bool
	prepared map[string]*pgconn.StatementDescription // by SQL
	encoder  pgx.ExtendedQueryBuilder
	message  []byte // what is sent; its memory serves the next one
}

func newLine(conn *pgx.Conn) *line {
	return &line{Conn: conn, wire: conn.PgConn().Conn(), answers: conn.PgConn().Frontend(), prepared: map[string]*pgconn.StatementDescription{}}
}

// usable reports a connection that is there and not known to have ended.
func (l *line) usable() bool { return l != nil && !l.broken.Load() && !l.IsClosed() }

// cut ends the connection for whoever sends or reads. Who makes the next one closes it.
func (l *line) cut() {
	l.broken.Store(true)
	_ = l.wire.Close() // it is of no use any more
}

// knows reports that all statements of a batch are prepared.
func (l *line) knows(batch *pgx.Batch) bool {
	for _, q := range batch.QueuedQueries {
		if l.prepared[q.SQL] == nil {
			return false
		}
	}
	return true
}

// learn prepares those that are not; nobody else uses the connection.
func (l *line) learn(ctx context.Context, batch *pgx.Batch) error {
	for _, q := range batch.QueuedQueries {
		if l.prepared[q.SQL] != nil {
			continue
		}
		known, err := l.Prepare(ctx, q.SQL, q.SQL)
		if err != nil {
			return err
		}
		l.prepared[q.SQL] = known
	}
	return nil
}

// messageKept is the largest message whose memory is kept, in bytes.
const messageKept = 1 << 20

// send sends a batch whose statements are prepared, and the sync that commits it. With
// an error that did not arrive, and nothing is committed.
func (l *line) send(batch *pgx.Batch) error {
	if err := l.encode(batch); err != nil {
		return err // of the batch; the connection is as it was
	}
	_, err := l.wire.Write(l.message)
	if err != nil {
		l.cut()
	}
	if cap(l.message) > messageKept {
		l.message = nil
	}
	return err
}

func (l *line) encode(batch *pgx.Batch) (err error) {
	l.message = l.message[:0]
	add := func(m pgproto3.FrontendMessage) {
		if err == nil {
			l.message, err = m.Encode(l.message)
		}
	}
	for _, q := range batch.QueuedQueries {
		known := l.prepared[q.SQL]
		if err := l.encoder.Build(l.TypeMap(), known, q.Arguments); err != nil {
			return err
		}
		add(&pgproto3.Bind{
			PreparedStatement: known.Name, ParameterFormatCodes: l.encoder.ParamFormats, Parameters: l.encoder.ParamValues,
			ResultFormatCodes: l.encoder.ResultFormats,
		})
		add(&pgproto3.Execute{})
	}
	add(&pgproto3.Sync{})
	return err
}

var errCut = errors.New("the connection ended")

// answer reads what a batch came to: nil when it is committed. After any error but one
// of a value or a missing table the connection has ended.
func (l *line) answer(batch *pgx.Batch) error {
	if l.broken.Load() { // in the answer to the one before, or because it took too long
		return fmt.Errorf("%w: %w", ErrUnknown, errCut)
	}
	err := l.read(batch.Len())
	if err != nil && !isDataError(err) && !isNoTable(err) {
		l.cut()
	}
	return err
}

// read reads up to the answer to the sync. The commit comes when all statements are
// done: what the server says before that says that there was none.
func (l *line) read(statements int) error {
	var refused error
	for done := 0; ; {
		message, err := l.answers.Receive()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUnknown, err)
		}
		switch m := message.(type) {
		case *pgproto3.CommandComplete:
			done++
		case *pgproto3.ErrorResponse:
			pg := pgconn.ErrorResponseToPgError(m)
			switch {
			case pg.SeverityUnlocalized == "ERROR":
				refused = pg
			case done < statements:
				return pg
			default:
				return fmt.Errorf("%w: %w", ErrUnknown, pg)
			}
		case *pgproto3.ReadyForQuery:
			return refused
		}
	}
}

// watch cuts the connection when ctx is over and still no answer comes: not to know of
// a commit is worse than to wait for it.
func (l *line) watch(ctx context.Context) (stop func()) {
	over := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(commitLimit):
			l.cut()
		case <-over:
		}
	})
	return func() {
		cancel()
		close(over)
	}
}
