package wsconn

import (
	"context"
	"fmt"
	"time"
)

// startPings pings a peer that has been silent since the last look: no frame came.
// Between two pings no goroutine exists.
func (c *Conn) startPings() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ping = time.AfterFunc(c.options.PingEvery, c.pingOnce)
}

// pingOnce asks for a pong. The library does not end a connection whose pong is
// missing, so this does. While a frame is under way its own timeout judges the
// peer: a ping would only queue behind it. A pong may stand behind frames whose
// reading is held up, so that any frame is a sign of life too.
func (c *Conn) pingOnce() {
	before := c.frames.Load()
	if silent := before == c.looked; silent && !c.outbox.busy() {
		ctx, cancel := context.WithTimeout(context.Background(), c.options.PongWithin)
		err := c.ws.Ping(ctx)
		cancel()
		if err != nil && !c.outbox.busy() && c.frames.Load() == before {
			c.fail(&End{Err: fmt.Errorf("no pong within %v: %w", c.options.PongWithin, err)})
			return
		}
	}
	c.looked = before
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending == nil {
		c.ping.Reset(c.options.PingEvery)
	}
}
