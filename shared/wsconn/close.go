package wsconn

import (
	"errors"
	"time"

	"github.com/coder/websocket"

	"rockpool/shared/wire"
)

// maxReason is what a close frame can hold beside its code, in bytes.
const maxReason = 123

// errClosedHere is the cause of an end by CloseNow.
var errClosedHere = errors.New("closed by this side")

// Close ends the connection with a code. What was sent before goes out first, then
// the close frame, then the peer's answer is awaited: all of it within CloseWithin
// (1 s), after which the connection is cut. To a slow consumer nothing more is
// written than the close frame. Only the first end counts.
func (c *Conn) Close(code wire.CloseCode, reason string) {
	if !c.begin(&End{Code: code, Reason: reason, Local: true}) {
		<-c.closed
		return
	}
	cut := time.AfterFunc(c.options.CloseWithin, func() { _ = c.raw.Close() })
	defer cut.Stop()
	c.Flush()
	c.outbox.stop(code != wire.CloseSlowConsumer, c.options.CloseWithin)
	_ = c.ws.Close(websocket.StatusCode(code), wire.CleanText(reason, maxReason))
	c.finish()
}

// CloseNow cuts the connection, and hurries a Close that is under way.
func (c *Conn) CloseNow() {
	_ = c.raw.Close()
	c.fail(&End{Err: errClosedHere})
}

// fail ends a connection that can't go on. A Close that is under way is left to its
// own time.
func (c *Conn) fail(why *End) {
	if !c.begin(why) {
		<-c.closed
		return
	}
	_ = c.raw.Close()
	c.outbox.stop(false, 0)
	_ = c.ws.CloseNow()
	c.finish()
}

// begin notes why this side ends the connection and says whether it is the first to.
func (c *Conn) begin(end *End) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending != nil {
		return false
	}
	c.ending = end
	return true
}

// finish tells the world that the connection is gone.
func (c *Conn) finish() {
	if c.ping != nil {
		c.ping.Stop()
	}
	close(c.closed)
}
