// Package wsconntest is a client of the channel that speaks just enough WebSocket
// to break its rules, for tests.
package wsconntest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"

	"rockpool/shared/wire"
)

// First bytes of frames: FIN, reserved bits, opcode. OpBinary alone is a fragment
// that more follows.
const (
	OpContinuation = 0x00
	OpBinary       = 0x02
	Continuation   = 0x80
	Text           = 0x81
	Binary         = 0x82
	RSV1           = 0xc2
	Close          = 0x88
	Ping           = 0x89
	Pong           = 0x8a
)

// Raw is one upgraded connection.
type Raw struct {
	net.Conn
	in *bufio.Reader
}

// Upgrade asks for the channel over a connection, with further headers. The Raw is
// nil when the server answers anything but 101.
func Upgrade(conn net.Conn, header http.Header) (*Raw, *http.Response, error) {
	request := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n", wire.ChannelPath)
	for name, values := range header {
		for _, value := range values {
			request += name + ": " + value + "\r\n"
		}
	}
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		return nil, nil, err
	}
	raw := &Raw{conn, bufio.NewReader(conn)}
	answer, err := http.ReadResponse(raw.in, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		return nil, answer, err
	}
	return raw, answer, nil
}

// Frame is one frame with a first byte of choice. Its mask changes nothing.
func Frame(first byte, masked bool, payload []byte) []byte {
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
		frame = append(frame, 0, 0, 0, 0)
	}
	return append(frame, payload...)
}

// Read takes the server's next frame.
func (r *Raw) Read() (opcode byte, payload []byte, err error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(r.in, head); err != nil {
		return 0, nil, err
	}
	n := uint64(head[1] & 0x7f)
	if width := map[uint64]int{126: 2, 127: 8}[n]; width > 0 {
		long := make([]byte, 8)
		if _, err := io.ReadFull(r.in, long[8-width:]); err != nil {
			return 0, nil, err
		}
		n = binary.BigEndian.Uint64(long)
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(r.in, payload)
	return head[0] & 0x0f, payload, err
}

// CloseCode is what a close frame says; 0: it says nothing.
func CloseCode(opcode byte, payload []byte) (wire.CloseCode, string) {
	if opcode != Close&0x0f || len(payload) < 2 {
		return 0, ""
	}
	return wire.CloseCode(binary.BigEndian.Uint16(payload)), string(payload[2:])
}
