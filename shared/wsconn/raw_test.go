package wsconn

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"rockpool/shared/wire"
)

// patience is how long a test waits for something that should come at once.
const patience = 20 * time.Second

// serve starts a server whose connections come out of the channel.
func serve(t *testing.T, options AcceptOptions) (address string, accepted <-chan *Conn) {
	t.Helper()
	conns := make(chan *Conn, 16)
	server := httptest.NewServer(acceptInto(conns, options))
	t.Cleanup(server.Close)
	return server.URL, conns
}

func acceptInto(conns chan<- *Conn, options AcceptOptions) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, err := Accept(w, r, options); err == nil {
			conns <- c
		}
	})
}

// next takes one accepted connection and cuts it when the test ends.
func next(t *testing.T, accepted <-chan *Conn) *Conn {
	t.Helper()
	c := within(t, "a connection", accepted)
	t.Cleanup(c.CloseNow)
	return c
}

// within waits for a value and names what did not come.
func within[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatalf("%s did not come within %v", what, patience)
		panic("unreachable")
	}
}

// received runs Receive once, with a name for what is expected.
func received(t *testing.T, what string, c *Conn) (Frame, error) {
	t.Helper()
	type outcome struct {
		frame Frame
		err   error
	}
	got := make(chan outcome, 1)
	go func() {
		frame, err := c.Receive()
		got <- outcome{frame, err}
	}()
	o := within(t, what, got)
	return o.frame, o.err
}

// raw is a client that speaks just enough WebSocket to break its rules.
type raw struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

// upgrade opens a raw connection; extra headers end with \r\n each.
func upgrade(t *testing.T, address, extra string) *raw {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(conn, "GET /v1/channel HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n%s\r\n", extra)
	r := &raw{t, conn, bufio.NewReader(conn)}
	answer, err := http.ReadResponse(r.in, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("upgrade: %v, %v", answer, err)
	}
	if answer.Header.Get("Sec-WebSocket-Extensions") != "" {
		t.Errorf("the server agreed on %q", answer.Header.Get("Sec-WebSocket-Extensions"))
	}
	return r
}

const ours = "Sec-WebSocket-Protocol: " + wire.Subprotocol + "\r\n"

// write sends one frame with a first byte (fin, reserved bits, opcode) of choice.
func (r *raw) write(first byte, masked bool, payload []byte) {
	r.t.Helper()
	head := []byte{first, 0}
	switch n := len(payload); {
	case n < 126:
		head[1] = byte(n)
	case n < 1<<16:
		head[1] = 126
		head = binary.BigEndian.AppendUint16(head, uint16(n))
	default:
		head[1] = 127
		head = binary.BigEndian.AppendUint64(head, uint64(n))
	}
	if masked {
		head[1] |= 0x80
		head = append(head, 0, 0, 0, 0) // a mask that changes nothing
	}
	if _, err := r.conn.Write(append(head, payload...)); err != nil {
		r.t.Errorf("raw write: %v", err)
	}
}

// read returns the next frame from the server.
func (r *raw) read() (opcode byte, payload []byte, err error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(r.in, head); err != nil {
		return 0, nil, err
	}
	n := uint64(head[1] & 0x7f)
	if width := map[uint64]int{126: 2, 127: 8}[n]; width > 0 {
		long := make([]byte, 8)
		if _, err := io.ReadFull(r.in, long[8-width:]); err != nil {
			return 0, nil, err
		}
		n = binary.BigEndian.Uint64(long)
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(r.in, payload)
	return head[0] & 0x0f, payload, err
}

// closeCode reads until the server's close frame and gives its code and reason.
func (r *raw) closeCode() (wire.CloseCode, string) {
	r.t.Helper()
	for {
		opcode, payload, err := r.read()
		if err != nil {
			r.t.Fatalf("no close frame came: %v", err)
		}
		if opcode == 8 && len(payload) >= 2 {
			return wire.CloseCode(binary.BigEndian.Uint16(payload)), string(payload[2:])
		}
	}
}
