package wsconn

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"rockpool/shared/wire"
	"rockpool/shared/wsconn/wsconntest"
)

// patience is how long a test waits for something that should come at once.
const patience = time.Minute

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
	*wsconntest.Raw
	t *testing.T
}

// upgrade opens a raw connection that asks for our subprotocol, with further headers.
func upgrade(t *testing.T, address string, header http.Header) *raw {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	client, answer, err := wsconntest.Upgrade(conn, header)
	if client == nil {
		t.Fatalf("upgrade: %v, %v", answer, err)
	}
	if answer.Header.Get("Sec-WebSocket-Extensions") != "" {
		t.Errorf("the server agreed on %q", answer.Header.Get("Sec-WebSocket-Extensions"))
	}
	return &raw{client, t}
}

// ours asks for our subprotocol.
func ours() http.Header { return http.Header{"Sec-WebSocket-Protocol": {wire.Subprotocol}} }

// write sends one frame with a first byte of choice.
func (r *raw) write(first byte, masked bool, payload []byte) {
	r.t.Helper()
	if _, err := r.Write(wsconntest.Frame(first, masked, payload)); err != nil {
		r.t.Errorf("raw write: %v", err)
	}
}

// closeCode reads until the server's close frame and gives its code and reason.
func (r *raw) closeCode() (wire.CloseCode, string) {
	r.t.Helper()
	for {
		opcode, payload, err := r.Read()
		if err != nil {
			r.t.Fatalf("no close frame came: %v", err)
		}
		if code, reason := wsconntest.CloseCode(opcode, payload); code != 0 {
			return code, reason
		}
	}
}
