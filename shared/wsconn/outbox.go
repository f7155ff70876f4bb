package wsconn

import (
	"errors"
	"sync"
	"time"

	"rockpool/shared/wire"
)

var (
	// ErrOverflow says that the peer reads more slowly than we send: the message was
	// not taken, and the owner closes with wire.CloseSlowConsumer or drops its queue.
	ErrOverflow = errors.New("outbox is full: the peer reads too slowly")
	// ErrClosed says that the connection is over or about to be.
	ErrClosed = errors.New("connection is closed")
)

// outbox holds what waits to be written. At most one goroutine writes at a time,
// and none exists while the outbox is empty.
type outbox struct {
	mu      sync.Mutex
	queue   []wire.Encoded
	single  [1]wire.Encoded // where the queue begins: mostly one message waits
	bytes   int             // of the queue and of the frame under way
	writing bool            // a goroutine does
	gone    chan struct{}   // closed when it has; nil when nobody waits for that
	stopped bool
}

// Send encodes a message and puts it into the outbox; it never waits for the
// peer. Errors: *wire.TooBig (over the session's limits), ErrOverflow, ErrClosed.
// A nil error does not mean that the peer has it.
func (c *Conn) Send(m wire.Outgoing) error {
	_, err := c.Queue(m)
	c.Flush()
	return err
}

// Queue is Send without the writing. Whoever is told that the message is the first
// one that waits must Flush, after queueing what else there is: all of it leaves
// in one frame.
func (c *Conn) Queue(m wire.Outgoing) (first bool, err error) {
	e, err := wire.Encode(*c.send.Load(), m)
	if err != nil {
		return false, err
	}
	return c.QueueEncoded(e)
}

// QueueEncoded is Queue of a message that may go to other connections too.
func (c *Conn) QueueEncoded(e wire.Encoded) (first bool, err error) {
	return c.outbox.put(e, &c.options)
}

// SendEncoded puts a message into the outbox that may go to other connections too.
func (c *Conn) SendEncoded(e wire.Encoded) error {
	_, err := c.QueueEncoded(e)
	c.Flush()
	return err
}

// Waiting says how many messages and bytes are in the outbox.
func (c *Conn) Waiting() (messages, bytes int) {
	c.outbox.mu.Lock()
	defer c.outbox.mu.Unlock()
	return len(c.outbox.queue), c.outbox.bytes
}

// put takes a message in, unless that is more than may wait.
func (o *outbox) put(e wire.Encoded, options *Options) (first bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.stopped:
		return false, ErrClosed
	case len(o.queue) >= options.OutboxMessages || o.bytes+e.Size() > options.OutboxBytes:
		return false, ErrOverflow
	}
	if o.queue == nil {
		o.queue = o.single[:0]
	}
	o.queue = append(o.queue, e)
	o.bytes += e.Size()
	return len(o.queue) == 1, nil
}

// engage reports whether the caller has become the one who writes.
func (o *outbox) engage() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writing || len(o.queue) == 0 {
		return false
	}
	o.writing = true
	return true
}

// take makes a frame of what waits, and says how many of the outbox's bytes it
// carries; those of the frame before, written, are given back. When nothing waits,
// the writer is discharged and there is no frame.
func (o *outbox) take(buffer []byte, limits wire.Limits, written int) (frame []byte, size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes -= written
	if len(o.queue) == 0 {
		o.discharge()
		return nil, 0
	}
	frame, taken := wire.Join(buffer, limits, o.queue)
	for _, e := range o.queue[:taken] {
		size += e.Size()
	}
	clear(o.queue[:taken])
	o.queue = o.queue[taken:]
	return frame, size
}

// fail discharges a writer that could not write its frame.
func (o *outbox) fail(size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes -= size
	o.discharge()
}

// discharge lets the writer go; o.mu is held.
func (o *outbox) discharge() {
	o.writing = false
	if len(o.queue) == 0 {
		o.queue = nil
	}
	if o.gone != nil {
		close(o.gone)
		o.gone = nil
	}
}

// busy says whether a frame is under way.
func (o *outbox) busy() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.writing
}

// stop takes no more messages. With flush it waits until the waiting ones are
// written, at most so long; else they are dropped.
func (o *outbox) stop(flush bool, atMost time.Duration) {
	o.mu.Lock()
	o.stopped = true
	if !flush {
		for _, e := range o.queue {
			o.bytes -= e.Size()
		}
		o.queue = nil
	}
	if !flush || !o.writing {
		o.mu.Unlock()
		return
	}
	if o.gone == nil {
		o.gone = make(chan struct{})
	}
	gone := o.gone
	o.mu.Unlock()
	timeout := time.NewTimer(atMost)
	defer timeout.Stop()
	select {
	case <-gone:
	case <-timeout.C:
	}
}
