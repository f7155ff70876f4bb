package wsconn

import (
	"bufio"
	"encoding/binary"
	"net"
	"sync"
	"syscall"

	"rockpool/shared/wire"
)

// Sizes of an accepted connection's buffers, in bytes; larger frames pass by them.
const (
	bufferSize  = 512
	headerSize  = 16  // of the library's own in front of ours: the least there is
	controlSize = 128 // of the library's own for what it writes: control frames alone
)

// source is what the library has of an accepted connection: read paced, and with a
// small buffer in place of net/http's 4 KiB, which would be held for as long as the
// connection lives. Frames of messages are written past the library, and those that
// are small are read past it.
//
// The buffer is filled from Receive, before the library is called: waiting deep
// inside it would hold twice the stack, and a connection does little but wait.
type source struct {
	net.Conn
	pacer  Pacer
	reader *bufio.Reader // the library's, which reads from here
	turn   chan struct{} // held by who reads: Receive, or a Close that waits for the peer's

	buffer  [bufferSize]byte
	pending []byte // read, and not given on yet
	err     error  // behind what is pending

	socket  syscall.RawConn // nil: it can't be written to without waiting
	writing sync.Mutex      // held for a frame, where that may take several writes
}

// newSource begins with what was read right behind the request.
func newSource(conn net.Conn, pacer Pacer, early []byte) *source {
	s := &source{Conn: conn, pacer: pacer, turn: make(chan struct{}, 1), pending: early}
	if socket, ok := conn.(syscall.Conn); ok {
		s.socket, _ = socket.SyscallConn() // nil beside an error
	}
	s.reader = bufio.NewReaderSize(s, headerSize)
	return s
}

// fill waits until there is something to read, or an error. Receive alone calls it.
func (s *source) fill() {
	if len(s.pending) > 0 || s.err != nil {
		return
	}
	n, err := s.Conn.Read(s.buffer[:])
	s.pending, s.err = s.buffer[:n], err
	s.pacer.Read(n)
}

// whole takes a frame of messages that is there with all its bytes: nearly every
// one. Its payload is valid until the next fill.
func (s *source) whole() (payload []byte, ok bool) {
	const final, masked = 0x80 | 0x02, 0x80 // a binary message in one frame
	b := s.pending
	if len(b) < 2 || b[0] != final || b[1]&masked == 0 {
		return nil, false
	}
	size, head := int(b[1]&^masked), 2
	switch {
	case size == 127, size == 126 && len(b) < 4:
		return nil, false
	case size == 126:
		size, head = int(binary.BigEndian.Uint16(b[2:])), 4
	}
	if len(b) < head+4+size {
		return nil, false
	}
	mask := b[head : head+4]
	payload, s.pending = b[head+4:head+4+size], b[head+4+size:]
	for i := range payload {
		payload[i] ^= mask[i&3]
	}
	return payload, true
}

// Read implements net.Conn, for the library.
func (s *source) Read(p []byte) (int, error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if len(s.pending) > 0 {
		n := copy(p, s.pending)
		s.pending = s.pending[n:]
		return n, nil
	}
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.Conn.Read(p)
	s.pacer.Read(n)
	return n, err
}

// Write implements net.Conn, for the library.
func (s *source) Write(p []byte) (int, error) {
	if s.socket != nil { // else a frame is one write
		s.writing.Lock()
		defer s.writing.Unlock()
	}
	return s.Conn.Write(p)
}

// await waits for the peer's next bytes with little stack in use, and takes the
// frame that they are. What is none, or not all of one, is the library's to read.
func (c *Conn) await(limits *wire.Limits) (payload []byte, ok bool) {
	if c.source == nil || !c.between() {
		return nil, false
	}
	c.source.turn <- struct{}{}
	defer func() { <-c.source.turn }()
	c.source.fill()
	if !c.between() || int64(len(c.source.pending)) > limits.Frame {
		return nil, false
	}
	return c.source.whole()
}

// between says whether the library stands between two frames and has read no
// further. While the connection ends, it alone reads.
func (c *Conn) between() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ending == nil && c.source.reader.Buffered() == 0
}
