package rig

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"rockpool/shared/wire"
)

// Socket is a client that speaks just enough WebSocket to break its rules.
type Socket struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
}

// First bytes of WebSocket frames: FIN and the opcode.
const (
	FrameText   = 0x81
	FrameBinary = 0x82
	FrameRSV1   = 0xc2 // binary with a reserved bit
	opClose     = 8
)

// Upgrade asks for the channel from a loopback address of choice (empty: any).
// The socket is nil when the server refused.
func (s *Server) Upgrade(t testing.TB, from string, header http.Header) (*Socket, *http.Response) {
	t.Helper()
	dialer := net.Dialer{Timeout: patience}
	if from != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	conn, err := dialer.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	request := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Protocol: %s\r\n", wire.ChannelPath, wire.Subprotocol)
	for name, values := range header {
		request += name + ": " + values[0] + "\r\n"
	}
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		t.Fatal(err)
	}
	socket := &Socket{t, conn, bufio.NewReader(conn)}
	answer, err := http.ReadResponse(socket.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		return nil, answer
	}
	return socket, answer
}

// MustUpgrade fails the test when the server refuses.
func (s *Server) MustUpgrade(t testing.TB, header http.Header) *Socket {
	t.Helper()
	socket, answer := s.Upgrade(t, "", header)
	if socket == nil {
		t.Fatalf("the upgrade was refused: %s", answer.Status)
	}
	return socket
}

// Close cuts the connection.
func (s *Socket) Close() { _ = s.conn.Close() }

// Write sends one frame with a first byte of choice.
func (s *Socket) Write(first byte, masked bool, payload []byte) {
	s.t.Helper()
	frame := []byte{first, 0}
	switch n := len(payload); {
	case n < 126:
		frame[1] = byte(n)
	case n < 1<<16:
		frame[1] = 126
		frame = binary.BigEndian.AppendUint16(frame, uint16(n))
	default:
		frame[1] = 127
		frame = binary.BigEndian.AppendUint64(frame, uint64(n))
	}
	if masked {
		frame[1] |= 0x80
		frame = append(frame, 0, 0, 0, 0) // a mask that changes nothing
	}
	// The server may have closed before it has read all: that is for Ended to see.
	_, _ = s.conn.Write(append(frame, payload...))
}

// Send sends messages in a frame as an agent does.
func (s *Socket) Send(bodies ...wire.Body) {
	s.t.Helper()
	for _, body := range bodies {
		frame, err := wire.EncodeFrame(nil, wire.DefaultLimits(), wire.Msg(body))
		if err != nil {
			s.t.Fatal(err)
		}
		s.Write(FrameBinary, true, frame)
	}
}

// Receive gives the messages of the next frame, or the close code.
func (s *Socket) Receive() ([]wire.Message, wire.CloseCode) {
	s.t.Helper()
	for {
		opcode, payload, err := s.read()
		if err != nil {
			s.t.Fatalf("the connection broke without a close frame: %v", err)
		}
		switch {
		case opcode == opClose && len(payload) >= 2:
			return nil, wire.CloseCode(binary.BigEndian.Uint16(payload))
		case opcode == FrameBinary&0x0f:
			messages, err := wire.DecodeFrame(payload, wire.DefaultLimits())
			if err != nil {
				s.t.Fatal(err)
			}
			return messages, 0
		}
	}
}

// Ended reads until the server's close and gives its code, and the types of the
// messages before it.
func (s *Socket) Ended() (before []wire.Type, code wire.CloseCode) {
	s.t.Helper()
	for {
		messages, code := s.Receive()
		if code != 0 {
			return before, code
		}
		for _, m := range messages {
			before = append(before, m.Type)
		}
	}
}

// read takes the server's next frame.
func (s *Socket) read() (opcode byte, payload []byte, err error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(s.in, head); err != nil {
		return 0, nil, err
	}
	n := uint64(head[1] & 0x7f)
	if width := map[uint64]int{126: 2, 127: 8}[n]; width > 0 {
		long := make([]byte, 8)
		if _, err := io.ReadFull(s.in, long[8-width:]); err != nil {
			return 0, nil, err
		}
		n = binary.BigEndian.Uint64(long)
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(s.in, payload)
	return head[0] & 0x0f, payload, err
}
