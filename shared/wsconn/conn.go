// Package wsconn is one connection of the channel, for agents and the server
// alike: frames of wire messages over a WebSocket.
//
// It adds what the WebSocket library leaves to its users. Writes go through a
// bounded outbox, because a peer that does not read must cost nobody more than
// that; a missed pong ends the connection; an end takes no longer than a second,
// whatever the peer does; and each way to misbehave gets its close code.
//
// A connection that is idle costs one goroutine, the owner's own, which sits in
// Receive. A writer exists only while there is something to write.
package wsconn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"rockpool/shared/wire"
)

// Options of a connection. Zero fields take the defaults.
type Options struct {
	ReceiveLimits wire.Limits // of the peer's frames
	SendLimits    wire.Limits // of our own frames, checked before they leave

	OutboxMessages int // messages that may wait, default 1,024
	OutboxBytes    int // bytes that may wait or be under way, default 1 MiB
	SocketBytes    int // that the socket takes before a write waits for the peer; 0: as the system thinks fit

	PingEvery    time.Duration // 0: no pings (an agent answers them in any case)
	PongWithin   time.Duration // default 10 s
	WriteTimeout time.Duration // of one frame, default 10 s; then the peer is a slow consumer
	CloseWithin  time.Duration // longest that Close takes, default 1 s
}

// PingEvery is how often the server pings: below the cuts of 30, 60 and 100 s
// that proxies make in silent connections.
const PingEvery = 20 * time.Second

func (o Options) withDefaults() Options {
	setDefault(&o.ReceiveLimits, wire.DefaultLimits())
	setDefault(&o.SendLimits, wire.DefaultLimits())
	setDefault(&o.OutboxMessages, 1024)
	setDefault(&o.OutboxBytes, 1<<20)
	setDefault(&o.PongWithin, 10*time.Second)
	setDefault(&o.WriteTimeout, 10*time.Second)
	setDefault(&o.CloseWithin, time.Second)
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Conn is one connection. Every method may be called from any goroutine, but only
// one at a time may be in Receive, and one should always be there soon again:
// pings are answered, and pongs and the peer's close seen, only from within it.
type Conn struct {
	ws      *websocket.Conn
	raw     net.Conn // below TLS and the library: closing it ends everything at once
	source  *source  // what ws reads; nil on the side that dialed
	options Options
	receive atomic.Pointer[wire.Limits]
	send    atomic.Pointer[wire.Limits]
	outbox  outbox
	ping    *time.Timer
	frames  atomic.Uint32 // that came, modulo 2³²
	looked  uint32        // frames at the last look whether to ping

	mu     sync.Mutex
	ending *End          // why this side ends the connection; nil while it is open
	closed chan struct{} // closed when the connection is gone
}

// Frame is what Receive delivers: the messages of one frame and its size in bytes.
// The messages' bodies are valid until the next Receive.
type Frame struct {
	Messages []wire.Message
	Size     int
}

// End says how a connection ended.
type End struct {
	Code   wire.CloseCode // 0 when it just broke
	Reason string
	Local  bool  // this side ended it
	Err    error // what broke it; may be nil
}

func (e *End) Error() string {
	side := "peer"
	if e.Local {
		side = "we"
	}
	switch {
	case e.Code == 0:
		return fmt.Sprintf("connection broke: %v", e.Err)
	case e.Reason == "":
		return fmt.Sprintf("%s closed the connection: %s", side, e.Code)
	}
	return fmt.Sprintf("%s closed the connection: %s: %s", side, e.Code, e.Reason)
}

func (e *End) Unwrap() error { return e.Err }

func newConn(ws *websocket.Conn, raw net.Conn, source *source, options Options) *Conn {
	c := &Conn{ws: ws, raw: raw, source: source, options: options.withDefaults(), closed: make(chan struct{})}
	c.SetReceiveLimits(c.options.ReceiveLimits)
	c.SetSendLimits(c.options.SendLimits)
	if socket, ok := raw.(interface{ SetWriteBuffer(bytes int) error }); ok && c.options.SocketBytes > 0 {
		_ = socket.SetWriteBuffer(c.options.SocketBytes) // else it is the system's
	}
	if c.options.PingEvery > 0 {
		c.startPings()
	}
	return c
}

// SetReceiveLimits changes what the peer may send, from its next frame on.
func (c *Conn) SetReceiveLimits(l wire.Limits) {
	c.receive.Store(&l)
	c.ws.SetReadLimit(l.Frame)
}

// SetSendLimits changes what this side may send, from the next message on.
func (c *Conn) SetSendLimits(l wire.Limits) { c.send.Store(&l) }

// Closed is closed once the connection is gone.
func (c *Conn) Closed() <-chan struct{} { return c.closed }

// Receive waits for the next frame. It has no timeout: a deadline of the owner's
// calls Close. A frame that breaks the rules ends the connection here, with its
// code: text 1003, too big 1009, not WebSocket 1002, not our language 4002. Every
// error is an *End, and the connection is gone when it returns.
func (c *Conn) Receive() (Frame, error) {
	limits := c.receive.Load()
	kind, err := websocket.MessageBinary, error(nil)
	b, ok := c.await(limits)
	if !ok {
		kind, b, err = c.ws.Read(context.Background())
	}
	c.frames.Add(1)
	switch {
	case err != nil:
		return Frame{}, c.lost(err)
	case kind != websocket.MessageBinary:
		c.Close(wire.CloseText, "send binary frames")
		return Frame{}, c.end(nil)
	}
	messages, err := wire.DecodeFrame(b, *c.receive.Load())
	if err != nil {
		c.Close(wire.CloseBadMessage, err.Error())
		return Frame{}, c.end(err)
	}
	return Frame{Messages: messages, Size: len(b)}, nil
}

// lost ends the connection after a failed read and says why it ended.
func (c *Conn) lost(err error) *End {
	var peer websocket.CloseError
	switch {
	case errors.As(err, &peer): // the library has answered the close
		c.fail(&End{Err: err})
		return c.end(&End{Code: wire.CloseCode(peer.Code), Reason: wire.CleanText(peer.Reason, maxReason)})
	case errors.Is(err, websocket.ErrMessageTooBig):
		c.Close(wire.CloseTooBig, fmt.Sprintf("a frame has at most %d bytes", c.receive.Load().Frame))
	case broken(err):
		c.fail(&End{Err: err})
	default:
		c.Close(wire.CloseProtocol, "protocol error")
	}
	return c.end(err)
}

// broken tells a connection that failed from a peer that spoke no WebSocket.
func broken(err error) bool {
	var network net.Error
	return errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.As(err, &network)
}

// end is the reason that counts: this side's own, else what the peer or network did.
func (c *Conn) end(err error) *End {
	c.mu.Lock()
	defer c.mu.Unlock()
	var peer *End
	switch {
	case c.ending != nil && c.ending.Code != 0:
		return &End{Code: c.ending.Code, Reason: c.ending.Reason, Local: true, Err: err}
	case errors.As(err, &peer):
		return peer
	case c.ending != nil: // CloseNow, or a write or pong that failed first
		return c.ending
	}
	return &End{Err: err}
}
