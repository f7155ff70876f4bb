package wsconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/coder/websocket"

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
	bytes   int           // of the queue and of the frame under way
	writer  chan struct{} // closed when the writer has gone; nil when there is none
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

// Flush lets what was queued be written; it does not wait for that.
func (c *Conn) Flush() {
	o := &c.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writer == nil && len(o.queue) > 0 {
		o.writer = make(chan struct{})
		go c.write(o.writer)
	}
}

// Waiting says how many messages and bytes are in the outbox.
func (c *Conn) Waiting() (messages, bytes int) {
	c.outbox.mu.Lock()
	defer c.outbox.mu.Unlock()
	return len(c.outbox.queue), c.outbox.bytes
}

// write empties the outbox, as many messages a frame as are there, and goes.
func (c *Conn) write(gone chan struct{}) {
	buffer := frames.Get().(*[]byte)
	defer frames.Put(buffer)
	for {
		frame, size := c.outbox.take((*buffer)[:0], *c.send.Load())
		if frame == nil {
			close(gone)
			return
		}
		*buffer = frame
		err := c.writeFrame(frame)
		c.outbox.written(size)
		if err != nil {
			close(gone)
			c.fail(unwritten(err))
			return
		}
	}
}

// unwritten is the end of a connection that did not take a frame.
func unwritten(err error) *End {
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return &End{Code: wire.CloseSlowConsumer, Reason: "a frame was not taken in time", Local: true, Err: err}
	}
	return &End{Err: fmt.Errorf("write a frame: %w", err)}
}

// frames are the buffers of the writers at work.
var frames = sync.Pool{New: func() any { return new([]byte) }}

// writeFrame bounds the writing by the socket's own deadline: the library would
// keep a context, and a goroutine to watch it.
func (c *Conn) writeFrame(frame []byte) error {
	if err := c.raw.SetWriteDeadline(time.Now().Add(c.options.WriteTimeout)); err != nil {
		return err
	}
	err := c.ws.Write(context.Background(), websocket.MessageBinary, frame)
	_ = c.raw.SetWriteDeadline(time.Time{}) // control frames have times of their own
	return err
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
	o.queue = append(o.queue, e)
	o.bytes += e.Size()
	return len(o.queue) == 1, nil
}

// take makes a frame of what waits, and says how many of the outbox's bytes it
// carries. When nothing waits, the writer is discharged and there is no frame.
func (o *outbox) take(buffer []byte, limits wire.Limits) (frame []byte, size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 {
		o.queue, o.writer = nil, nil
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

// written gives the bytes of a frame back.
func (o *outbox) written(size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes -= size
}

// busy says whether a frame is under way.
func (o *outbox) busy() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.writer != nil
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
	gone := o.writer
	o.mu.Unlock()
	if !flush || gone == nil {
		return
	}
	timeout := time.NewTimer(atMost)
	defer timeout.Stop()
	select {
	case <-gone:
	case <-timeout.C:
	}
}
