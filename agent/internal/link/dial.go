package link

import (
	"context"
	"errors"
	"net/http"
	"time"

	"rockpool/shared/wire"
	"rockpool/shared/wsconn"
)

// Dial begins to dial. Dialed or Closed tells what came of it.
func (l *Link) Dial(conn int64, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	at := &line{number: conn, cancel: cancel}
	l.mu.Lock()
	l.lines[conn] = at
	l.mu.Unlock()
	l.group.Add(1)
	go func() {
		defer l.group.Done()
		err := l.live(ctx, at)
		l.mu.Lock()
		delete(l.lines, conn)
		l.mu.Unlock()
		l.post(closed(conn, err))
	}()
}

// live takes a connection through its whole life and says how that ended.
func (l *Link) live(ctx context.Context, at *line) error {
	defer at.cancel()
	header, err := l.cfg.Credential()
	if err != nil {
		return err
	}
	conn, err := wsconn.Dial(ctx, l.cfg.Server.JoinPath(wire.ChannelPath).String(), wsconn.DialOptions{
		Header: header, TLS: l.cfg.TLS, Proxy: http.ProxyFromEnvironment,
	})
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	if !l.connected(at, conn) || !l.post(Dialed{at.number}) {
		return wsconn.ErrClosed
	}
	return l.receive(at.number, conn)
}

// connected notes the open connection, unless it was hung up meanwhile.
func (l *Link) connected(at *line, conn *wsconn.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at.conn = conn
	return !at.hungUp
}

// closed reads the end of a connection.
func closed(conn int64, err error) Closed {
	c := Closed{Conn: conn, Err: err}
	var refusal *wsconn.Refusal
	var end *wsconn.End
	var version *VersionError
	switch {
	case errors.As(err, &refusal):
		c.Status, c.Floor = refusal.Status, refusal.RetryAfter
	case errors.As(err, &version):
		c.Code, c.Floor = wire.CloseVersion, wire.CloseVersion.RetryAfter()
	case errors.As(err, &end) && !end.Local:
		c.Code, c.Floor = end.Code, end.Code.RetryAfter()
	}
	return c
}
