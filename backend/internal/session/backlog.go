package session

import (
	"time"

	"rockpool/shared/wire"
)

// Bounds of the deltas that wait for a console which reads slowly, in bytes, and
// how long the next overflow is forgiven after one.
const (
	backlogBytes = 1 << 20
	outboxBytes  = 256 << 10 // in the connection's outbox beside them
	socketBytes  = 128 << 10 // in the socket: one who does not read is known by what it leaves
	pumpEvery    = 50 * time.Millisecond
	forgiveAfter = 30 * time.Second
)

// backlog is what waits for the outbox to empty. Its fields are under the
// console's mu.
type backlog struct {
	queue      []wire.Encoded
	bytes      int         // of the queue, and of what topics hold
	overflowed time.Time   // the last time
	pump       *time.Timer // nil: nothing waits
}

// Delta takes a change of a topic from the view.
func (c *console) Delta(name string, rev int64, e wire.Encoded) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.topics[name]
	switch {
	case t == nil || t.stale:
	case t.live:
		c.push(e)
	default:
		t.held = append(t.held, delta{rev, e})
		c.grow(e.Size())
	}
}

// push sends a delta, or lets it wait behind others.
func (c *console) push(e wire.Encoded) {
	if len(c.queue) == 0 && c.roomy() && c.conn.SendEncoded(e) == nil {
		return
	}
	c.queue = append(c.queue, e)
	c.grow(e.Size())
	c.startPump()
}

// roomy reports an outbox that the peer keeps up with.
func (c *console) roomy() bool {
	_, bytes := c.conn.Waiting()
	return bytes < outboxBytes
}

// grow counts waiting bytes. On overflow everything that waits is dropped, and
// each topic gets a fresh snapshot once the outbox is empty; a console that is
// too slow again soon is closed.
func (c *console) grow(size int) {
	if c.bytes += size; c.bytes <= backlogBytes {
		return
	}
	now := c.gateway.hub.cfg.Now()
	if !c.overflowed.IsZero() && now.Sub(c.overflowed) < forgiveAfter {
		c.slow()
		return
	}
	c.overflowed = now
	c.queue, c.bytes = nil, 0
	for _, t := range c.topics {
		t.parts, t.held, t.live, t.stale = nil, nil, false, true
	}
	c.startPump()
}

// forget drops what a topic holds.
func (c *console) forget(t *topic) {
	for _, d := range t.held {
		c.bytes -= d.e.Size()
	}
	t.held = nil
}

func (c *console) startPump() {
	if c.pump == nil {
		c.pump = time.AfterFunc(pumpEvery, c.pumpOut)
	}
}

func (c *console) stopPump() {
	if c.pump != nil {
		c.pump.Stop()
	}
}

// pumpOut moves what waits into the outbox while that has room, and makes the
// fresh snapshots that are due.
func (c *console) pumpOut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.queue) > 0 && c.roomy() && c.conn.SendEncoded(c.queue[0]) == nil {
		c.bytes -= c.queue[0].Size()
		c.queue = c.queue[1:]
	}
	if len(c.queue) == 0 && c.roomy() {
		c.refresh()
	}
	select {
	case <-c.conn.Closed():
		return
	default:
	}
	if c.pump = nil; len(c.queue) > 0 || c.anyStale() {
		c.startPump()
	}
}

func (c *console) anyStale() bool {
	for _, t := range c.topics {
		if t.stale {
			return true
		}
	}
	return false
}

// refresh begins one topic anew that lost deltas. The view is asked without
// holding mu: it holds its own lock when it calls Delta.
func (c *console) refresh() {
	for name, t := range c.topics {
		if !t.stale || t.sub == nil {
			continue
		}
		t.stale = false // what comes from now on is held
		c.mu.Unlock()
		parts, err := t.sub.Resume()
		c.mu.Lock()
		if c.topics[name] != t {
			return
		}
		if err == nil {
			t.parts = parts
			err = c.sendPart(t)
		}
		if err != nil {
			c.end(wire.CloseRestart, "a snapshot could not be made")
		}
		return
	}
}
