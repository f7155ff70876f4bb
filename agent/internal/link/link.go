package link

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/url"
	"sync"

	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

// Credential is what the upgrade request shows. It is asked for at every dial, so
// that a changed file counts.
type Credential func() (http.Header, error)

// Config of a Link.
type Config struct {
	Server     *url.URL // http or https
	TLS        *tls.Config
	Credential Credential
	Log        *slog.Logger
}

// Link holds the connections, of which usually one is open. Safe for concurrent use.
type Link struct {
	cfg    Config
	events chan Event
	over   chan struct{} // closed by Close: nobody reads events any more

	mu    sync.Mutex
	lines map[int64]*line
	group sync.WaitGroup
}

// line is one connection, from its dial on.
type line struct {
	number int64
	cancel context.CancelFunc // of the dial
	conn   *wsconn.Conn       // nil while dialing
	hungUp bool
}

// New makes a Link without any connection.
func New(cfg Config) *Link {
	return &Link{cfg: cfg, events: make(chan Event, 64), over: make(chan struct{}), lines: map[int64]*line{}}
}

// Events of all connections, each one's in their order.
func (l *Link) Events() <-chan Event { return l.events }

// Send is Queue and Flush.
func (l *Link) Send(conn int64, body wire.Body) error {
	err := l.Queue(conn, body)
	l.Flush()
	return err
}

// Queue puts a message into the connection's outbox, which Flush empties. It never
// waits. Errors are those of wsconn.Conn.Send; a connection that is over gives
// wsconn.ErrClosed.
func (l *Link) Queue(conn int64, body wire.Body) error {
	l.mu.Lock()
	at := l.lines[conn]
	l.mu.Unlock()
	if at == nil || at.conn == nil {
		return wsconn.ErrClosed
	}
	_, err := at.conn.Queue(wire.Msg(body))
	return err
}

// Flush lets what was queued be written, as few frames as it takes; it does not wait
// for that.
func (l *Link) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, at := range l.lines {
		if at.conn != nil {
			at.conn.Flush()
		}
	}
}

// Hangup ends a connection, or its dial. Gently: what was sent goes out first.
// It does not wait; Closed comes as with any other end.
func (l *Link) Hangup(conn int64, gently bool, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.lines[conn]
	if at == nil {
		return
	}
	at.hungUp = true
	at.cancel()
	if at.conn == nil {
		return
	}
	l.group.Add(1)
	go func() {
		defer l.group.Done()
		if gently {
			at.conn.Close(wire.CloseNormal, why)
		} else {
			at.conn.CloseNow()
		}
	}()
}

// Close ends what is still open and waits until all goroutines are gone. Events
// are not delivered any more.
func (l *Link) Close() {
	close(l.over)
	for _, conn := range l.hangUpAll() {
		conn.CloseNow()
	}
	l.group.Wait()
}

// hangUpAll gives the connections to cut; a gentle end that is under way is left.
func (l *Link) hangUpAll() (open []*wsconn.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, at := range l.lines {
		if at.hungUp {
			continue
		}
		at.hungUp = true
		at.cancel()
		if at.conn != nil {
			open = append(open, at.conn)
		}
	}
	return open
}

// post delivers an event, or reports that nobody listens any more.
func (l *Link) post(e Event) bool {
	select {
	case l.events <- e:
		return true
	case <-l.over:
		return false
	}
}
