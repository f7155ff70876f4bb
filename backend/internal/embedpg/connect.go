package embedpg

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"time"
)

// connection is the little of PostgreSQL's protocol (version 3) that proves that a
// server answers. Everything else that talks SQL is the store's.
type connection struct {
	net.Conn
	reader *bufio.Reader
}

const (
	protocolVersion = 3 << 16
	messageMax      = 64 << 10 // bytes; what a start-up exchange never needs
	connectLimit    = 5 * time.Second
	// codeStarting (cannot_connect_now) is the one refusal that passes by itself.
	codeStarting = "57P03"
)

// serverError is PostgreSQL's refusal: its SQLSTATE and its words.
type serverError struct{ code, message string }

func (e *serverError) Error() string { return e.message + " (SQLSTATE " + e.code + ")" }

// connect opens a session through the socket in dir and returns when PostgreSQL is
// ready for a query.
func connect(ctx context.Context, dir, role, database string) (*connection, error) {
	dialer := net.Dialer{Timeout: connectLimit}
	conn, err := dialer.DialContext(ctx, "unix", filepath.Join(dir, socketName))
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: conn, reader: bufio.NewReader(conn)}
	c.SetDeadline(time.Now().Add(connectLimit))
	if err := c.startUp(role, database); err != nil {
		conn.Close()
		return nil, err
	}
	return c, nil
}

func (c *connection) startUp(role, database string) error {
	body := binary.BigEndian.AppendUint32(nil, protocolVersion)
	body = append(body, "user\x00"+role+"\x00database\x00"+database+"\x00\x00"...)
	packet := binary.BigEndian.AppendUint32(nil, uint32(len(body)+4))
	if _, err := c.Write(append(packet, body...)); err != nil {
		return err
	}
	for {
		kind, body, err := c.receive()
		if err != nil {
			return err
		}
		switch {
		case kind == 'Z':
			return nil
		case kind == 'R' && (len(body) < 4 || binary.BigEndian.Uint32(body) != 0):
			return fmt.Errorf("PostgreSQL asks for a password on its private socket")
		}
	}
}

// receive reads one message; PostgreSQL's error message becomes a *serverError.
func (c *connection) receive() (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(c.reader, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size < 4 || size > messageMax {
		return 0, nil, fmt.Errorf("message of %d bytes: no PostgreSQL answers here", size)
	}
	body = make([]byte, size-4)
	if _, err := io.ReadFull(c.reader, body); err != nil {
		return 0, nil, err
	}
	if head[0] == 'E' {
		return 'E', body, parseError(body)
	}
	return head[0], body, nil
}

// parseError reads fields of the form: one letter, text, NUL.
func parseError(body []byte) *serverError {
	e := &serverError{}
	for field := range strings.SplitSeq(string(body), "\x00") {
		switch {
		case strings.HasPrefix(field, "C"):
			e.code = field[1:]
		case strings.HasPrefix(field, "M"):
			e.message = field[1:]
		}
	}
	return e
}

// close ends the session politely, so that PostgreSQL logs nothing.
func (c *connection) close() error {
	if _, err := c.Write([]byte{'X', 0, 0, 0, 4}); err != nil {
		c.Conn.Close()
		return err
	}
	return c.Conn.Close()
}
