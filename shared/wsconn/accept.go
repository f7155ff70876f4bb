package wsconn

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	"github.com/coder/websocket"

	"rockpool/shared/wire"
)

// ErrSubprotocol says that the other side does not speak this version's language.
var ErrSubprotocol = errors.New("the other side does not speak " + wire.Subprotocol)

// AcceptOptions of the server's side.
type AcceptOptions struct {
	Options
	// Origins are the hosts, beside the request's own, whose pages may open a
	// console's connection. A request without an Origin passes: whoever accepts
	// browsers checks that one is there.
	Origins []string
	// Pacer may hold the reading up; nil: it is held up by nobody.
	Pacer Pacer
}

// Pacer hears what a peer sends while it is read, before it is a message, and may
// hold the reader up: what is not read yet waits in the socket. It is called from
// within Receive and Close.
type Pacer interface {
	Read(bytes int) // so many came from the socket
	Control()       // a ping or a pong came
}

// noPace is the Pacer of a connection that may send what it likes.
type noPace struct{}

func (noPace) Read(int) {}
func (noPace) Control() {}

// Accept upgrades a request that was authenticated already. On an error the
// response is written. Unless told otherwise a new connection may send what an
// agent may before its hello is through. The request's context is worthless
// afterwards, and the handler may return while the connection lives on.
func Accept(w http.ResponseWriter, r *http.Request, options AcceptOptions) (*Conn, error) {
	setDefault(&options.ReceiveLimits, wire.HelloLimits())
	if options.Pacer == nil {
		options.Pacer = noPace{}
	}
	hijacked := &hijacker{ResponseWriter: w, pacer: options.Pacer}
	ws, err := websocket.Accept(hijacked, r, &websocket.AcceptOptions{
		Subprotocols:    []string{wire.Subprotocol},
		OriginPatterns:  options.Origins,
		CompressionMode: websocket.CompressionDisabled,
		OnPingReceived:  func(context.Context, []byte) bool { options.Pacer.Control(); return true },
		OnPongReceived:  func(context.Context, []byte) { options.Pacer.Control() },
	})
	if err != nil {
		return nil, err
	}
	return checked(newConn(ws, rawConn(hijacked.source.Conn), hijacked.source, options.Options))
}

// checked refuses a connection without our subprotocol: the upgrade succeeds
// without one.
func checked(c *Conn) (*Conn, error) {
	if c.ws.Subprotocol() != wire.Subprotocol {
		c.Close(wire.CloseVersion, "use the subprotocol "+wire.Subprotocol)
		return nil, ErrSubprotocol
	}
	return c, nil
}

// hijacker takes the connection over for the library.
type hijacker struct {
	http.ResponseWriter
	pacer  Pacer
	source *source
}

// Hijack implements http.Hijacker for whatever writer is below.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early := make([]byte, rw.Reader.Buffered())
	if _, err := io.ReadFull(rw.Reader, early); err != nil {
		return nil, nil, err
	}
	h.source = newSource(conn, h.pacer, early)
	return h.source, bufio.NewReadWriter(h.source.reader, bufio.NewWriterSize(h.source, controlSize)), nil
}

// rawConn is the connection below TLS: closing TLS itself waits for the peer.
func rawConn(conn net.Conn) net.Conn {
	if tls, ok := conn.(interface{ NetConn() net.Conn }); ok {
		return tls.NetConn()
	}
	return conn
}
