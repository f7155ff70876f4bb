package wsconn

import (
	"bufio"
	"net"
)

// Sizes of an accepted connection's buffers, in bytes; larger frames pass by them.
const (
	bufferSize = 512
	headerSize = 16 // of the library's own in front of ours: the least there is
)

// source is what the library reads an accepted connection from: paced, and with a
// small buffer in place of net/http's 4 KiB, which would be held for as long as the
// connection lives.
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
}

// newSource begins with what was read right behind the request.
func newSource(conn net.Conn, pacer Pacer, early []byte) *source {
	s := &source{Conn: conn, pacer: pacer, turn: make(chan struct{}, 1), pending: early}
	s.reader = bufio.NewReaderSize(s, headerSize)
	return s
}

// await waits until there is something to read, or an error.
func (s *source) await() {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.fill()
}

func (s *source) fill() {
	if len(s.pending) > 0 || s.err != nil {
		return
	}
	n, err := s.Conn.Read(s.buffer[:])
	s.pending, s.err = s.buffer[:n], err
	s.pacer.Read(n)
}

// Read implements net.Conn.
func (s *source) Read(p []byte) (int, error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if len(s.pending) == 0 && s.err == nil && len(p) >= bufferSize {
		n, err := s.Conn.Read(p)
		s.pacer.Read(n)
		return n, err
	}
	if s.fill(); len(s.pending) == 0 {
		return 0, s.err
	}
	n := copy(p, s.pending)
	s.pending = s.pending[n:]
	return n, nil
}

// await waits for the peer's next bytes with little stack in use. While the
// connection ends, the library alone reads.
func (c *Conn) await() {
	if c.source == nil {
		return
	}
	c.mu.Lock()
	idle := c.ending == nil && c.source.reader.Buffered() == 0
	c.mu.Unlock()
	if idle {
		c.source.await()
	}
}
