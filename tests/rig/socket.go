package rig

import (
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"rockpool/shared/wire"
	"rockpool/shared/wsconn/wsconntest"
)

// Socket is a client that speaks just enough WebSocket to break its rules.
type Socket struct {
	t   testing.TB
	raw *wsconntest.Raw
}

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
	header = header.Clone()
	header.Set("Sec-WebSocket-Protocol", wire.Subprotocol)
	raw, answer, err := wsconntest.Upgrade(conn, header)
	if err != nil {
		t.Fatal(err)
	}
	if raw == nil {
		return nil, answer
	}
	return &Socket{t, raw}, answer
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
func (s *Socket) Close() { _ = s.raw.Close() }

// Write sends one frame with a first byte of choice (wsconntest names them). That
// the server may have closed before it has read all is for Ended to see.
func (s *Socket) Write(first byte, masked bool, payload []byte) {
	_, _ = s.raw.Write(wsconntest.Frame(first, masked, payload))
}

// WriteRaw sends bytes as they are.
func (s *Socket) WriteRaw(b []byte) error {
	_, err := s.raw.Conn.Write(b)
	return err
}

// Pong waits for the next pong; false: the connection ended before.
func (s *Socket) Pong() bool {
	for {
		opcode, _, err := s.raw.Read()
		if err != nil || opcode == wsconntest.Close&0x0f {
			return false
		}
		if opcode == wsconntest.Pong&0x0f {
			return true
		}
	}
}

// Send sends messages in a frame as an agent does.
func (s *Socket) Send(bodies ...wire.Body) {
	s.t.Helper()
	for _, body := range bodies {
		frame, err := wire.EncodeFrame(nil, wire.DefaultLimits(), wire.Msg(body))
		if err != nil {
			s.t.Fatal(err)
		}
		s.Write(wsconntest.Binary, true, frame)
	}
}

// Receive gives the messages of the next frame, or the close code.
func (s *Socket) Receive() ([]wire.Message, wire.CloseCode) {
	s.t.Helper()
	for {
		opcode, payload, err := s.raw.Read()
		if err != nil {
			s.t.Fatalf("the connection broke without a close frame: %v", err)
		}
		if code, _ := wsconntest.CloseCode(opcode, payload); code != 0 {
			return nil, code
		}
		if opcode == wsconntest.OpBinary {
			messages, err := wire.DecodeFrame(payload, wire.DefaultLimits())
			if err != nil {
				s.t.Fatal(err)
			}
			return messages, 0
		}
	}
}

// ClosedOrCut reads until the connection is over and gives the code of the server's
// close; 0: it was cut without one.
func (s *Socket) ClosedOrCut() wire.CloseCode {
	s.t.Helper()
	for {
		opcode, payload, err := s.raw.Read()
		code, _ := wsconntest.CloseCode(opcode, payload)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			s.t.Fatal("the server did not end the connection")
		case err != nil:
			return 0
		case code != 0:
			return code
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
