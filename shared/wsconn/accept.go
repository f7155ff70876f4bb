package wsconn

import (
	"bufio"
	"errors"
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
}

// Accept upgrades a request that was authenticated already. On an error the
// response is written. Unless told otherwise a new connection may send what an
// agent may before its hello is through. The request's context is worthless
// afterwards, and the handler may return while the connection lives on.
func Accept(w http.ResponseWriter, r *http.Request, options AcceptOptions) (*Conn, error) {
	setDefault(&options.ReceiveLimits, wire.HelloLimits())
	hijacked := &hijackRecorder{ResponseWriter: w}
	ws, err := websocket.Accept(hijacked, r, &websocket.AcceptOptions{
		Subprotocols:    []string{wire.Subprotocol},
		OriginPatterns:  options.Origins,
		CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		return nil, err
	}
	return checked(newConn(ws, rawConn(hijacked.conn), options.Options))
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

// hijackRecorder keeps the connection that the library takes over.
type hijackRecorder struct {
	http.ResponseWriter
	conn net.Conn
}

// Hijack implements http.Hijacker for whatever writer is below.
func (h *hijackRecorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	h.conn = conn
	return conn, rw, err
}

// rawConn is the connection below TLS: closing TLS itself waits for the peer.
func rawConn(conn net.Conn) net.Conn {
	if tls, ok := conn.(interface{ NetConn() net.Conn }); ok {
		return tls.NetConn()
	}
	return conn
}
