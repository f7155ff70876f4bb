package wsconn

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"

	"rockpool/shared/wire"
)

// Flush lets what was queued be written; it does not wait for that.
func (c *Conn) Flush() {
	if c.outbox.engage() {
		go writeAll(c)
	}
}

// inTurn is how many connections one goroutine writes to: enough that starting it
// costs little, few enough that the last of them need not wait long.
const inTurn = 16

// FlushAll is Flush of many connections for less: a goroutine writes to several of
// them in turn, and waits for none. The list is the writers' afterwards.
func FlushAll(conns []*Conn) {
	ready := conns[:0]
	for _, c := range conns {
		switch {
		case !c.outbox.engage():
		case c.writesAtOnce():
			ready = append(ready, c)
		default:
			go writeAll(c)
		}
	}
	for some := range slices.Chunk(ready, inTurn) {
		go writeAll(some...)
	}
}

// writesAtOnce says whether the socket can be asked to take what it takes now.
func (c *Conn) writesAtOnce() bool { return c.source != nil && c.source.socket != nil }

// writeAll empties outboxes in turn.
func writeAll(conns ...*Conn) {
	w := writers.Get().(*writer)
	defer writers.Put(w)
	for _, c := range conns {
		c.write(w, 0)
	}
}

// writer has what the writing of frames takes.
type writer struct {
	buffer []byte
	rest   []byte // of the frame under way
	err    error
	try    func(fd uintptr) (done bool)
}

// writers are those at work, and those who were.
var writers = sync.Pool{New: func() any {
	w := &writer{}
	w.try = w.tryOnce
	return w
}}

// tryOnce gives the socket as much of the frame as it takes without waiting.
func (w *writer) tryOnce(fd uintptr) bool {
	n, err := writeNow(fd, w.rest)
	w.rest, w.err = w.rest[n:], err
	return true
}

// offer writes a frame as far as the socket takes it now, and gives the rest.
func (w *writer) offer(socket syscall.RawConn, frame []byte) (rest []byte, err error) {
	w.rest = frame
	err = socket.Write(w.try)
	rest, w.rest = w.rest, nil
	return rest, errors.Join(err, w.err)
}

// write empties the outbox, as many messages a frame as are there, and discharges
// itself. written are the bytes of a frame that has left already. What the socket
// does not take now gets a goroutine of its own, which waits.
func (c *Conn) write(w *writer, written int) {
	for {
		frame, size := c.outbox.take(append(w.buffer[:0], noHeader[:]...), *c.send.Load(), written)
		if frame == nil {
			return
		}
		w.buffer = frame
		rest, err := c.writeFrame(w, frame)
		switch {
		case err != nil:
			go c.unwritten(size, err) // ending it may take a moment
			return
		case len(rest) > 0:
			w.buffer = nil // it is the rest's
			go c.writeLate(rest, size)
			return
		}
		written = size
	}
}

// writeFrame writes a frame as far as the socket takes it now; while there is a rest
// the library writes nothing. Where the socket can't be asked, it waits.
func (c *Conn) writeFrame(w *writer, frame []byte) (rest []byte, err error) {
	switch {
	case c.source == nil: // the dialing side's frames are masked
		return nil, c.within(func() error {
			return c.ws.Write(context.Background(), websocket.MessageBinary, frame[len(noHeader):])
		})
	case c.source.socket == nil:
		return nil, c.within(func() error { return c.writeSource(withHeader(frame)) })
	}
	c.source.writing.Lock()
	rest, err = w.offer(c.source.socket, withHeader(frame))
	if err != nil || len(rest) == 0 {
		c.source.writing.Unlock()
	}
	return rest, err
}

// writeLate waits until the socket has taken the rest of a frame, then writes on.
func (c *Conn) writeLate(rest []byte, size int) {
	err := c.within(func() error { return c.writeSource(rest) })
	c.source.writing.Unlock()
	if err != nil {
		c.unwritten(size, err)
		return
	}
	w := writers.Get().(*writer)
	defer writers.Put(w)
	c.write(w, size)
}

func (c *Conn) writeSource(b []byte) error {
	_, err := c.source.Conn.Write(b)
	return err
}

// within bounds the writing by the socket's own deadline: the library would keep a
// context, and a goroutine to watch it.
func (c *Conn) within(write func() error) error {
	if err := c.raw.SetWriteDeadline(time.Now().Add(c.options.WriteTimeout)); err != nil {
		return err
	}
	err := write()
	_ = c.raw.SetWriteDeadline(time.Time{}) // control frames have times of their own
	return err
}

// unwritten ends a connection that did not take a frame.
func (c *Conn) unwritten(size int, err error) {
	c.outbox.fail(size)
	end := &End{Err: fmt.Errorf("write a frame: %w", err)}
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		end = &End{Code: wire.CloseSlowConsumer, Reason: "a frame was not taken in time", Local: true, Err: err}
	}
	c.fail(end)
}

// noHeader is the room in front of a frame for the longest header there is.
var noHeader [10]byte

// withHeader puts the header of an unmasked binary message right in front of it,
// and leaves out the room that it does not need.
func withHeader(frame []byte) []byte {
	size := len(frame) - len(noHeader)
	head := frame[:len(noHeader)]
	switch {
	case size < 126:
		head = head[8:]
		head[1] = byte(size)
	case size < 1<<16:
		head = head[6:]
		head[1] = 126
		binary.BigEndian.PutUint16(head[2:], uint16(size))
	default:
		head[1] = 127
		binary.BigEndian.PutUint64(head[2:], uint64(size))
	}
	head[0] = 0x80 | byte(websocket.MessageBinary)
	return frame[len(noHeader)-len(head):]
}
