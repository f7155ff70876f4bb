package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/vmihailenco/msgpack/v5"

	"rockpool/shared/wire/prescan"
)

// Outgoing is one message to send.
type Outgoing struct {
	ID      string // asks for an answer; empty: none expected
	ReplyTo string // the request that this answers
	Body    Body
}

// Msg is a message without a request id.
func Msg(body Body) Outgoing { return Outgoing{Body: body} }

// Reply answers a request.
func Reply(to Message, body Body) Outgoing { return Outgoing{ReplyTo: to.ID, Body: body} }

// TooBig says that a message or frame of our own breaks the session's limits; it
// is refused here, because the peer would end the connection.
type TooBig struct {
	Type  Type // of the message; empty when only the frame as a whole is too big
	Size  int  // bytes
	Fault prescan.Fault
}

func (e *TooBig) Error() string {
	what := "frame"
	if e.Type != "" {
		what = string(e.Type)
	}
	return fmt.Sprintf("%s of %d bytes can't be sent: %s", what, e.Size, e.Fault.Cause)
}

// Encoded is one message in its bytes, checked against the limits: ready to be
// joined with others into a frame, by as many sessions as want it.
type Encoded struct {
	kind  Type
	frame []byte // a frame of this message alone; its first byte is the list's head
	nodes int    // values in the message
}

// Type of the message.
func (e Encoded) Type() Type { return e.kind }

// Size is what the message adds to a frame, in bytes.
func (e Encoded) Size() int { return len(e.frame) - 1 }

// listOfOne is the head of a frame with one message.
const listOfOne = 0x91

// Encode makes the bytes of one message. What the peer's pre-scan would refuse is
// refused here, as *TooBig.
func Encode(limits Limits, m Outgoing) (Encoded, error) {
	scratch := scratches.Get().(*[]byte)
	defer scratches.Put(scratch)
	long, err := appendMessage(append((*scratch)[:0], listOfOne), m)
	if err != nil {
		return Encoded{}, err
	}
	*scratch = long
	frame := bytes.Clone(long)
	report := prescan.Scan(frame, limits.scan())
	if !report.Fault.OK() {
		return Encoded{}, &TooBig{Type: m.Body.Type(), Size: len(frame) - 1, Fault: report.Fault}
	}
	return Encoded{kind: m.Body.Type(), frame: frame, nodes: report.Nodes - 1}, nil
}

// scratches are where messages grow; what waits in an outbox has its exact size.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

// EncodeFrame appends one frame with all the messages to dst. What the peer would
// refuse is refused here, as *TooBig.
func EncodeFrame(dst []byte, limits Limits, messages ...Outgoing) ([]byte, error) {
	if len(messages) < 1 || len(messages) > MaxMessages {
		return dst, fmt.Errorf("a frame holds 1..%d messages, not %d", MaxMessages, len(messages))
	}
	start := len(dst)
	out := appendListHead(dst, len(messages))
	for _, m := range messages {
		before := len(out)
		var err error
		if out, err = appendMessage(out, m); err != nil {
			return dst, err
		}
		if size := len(out) - before; int64(size) >= limits.Frame {
			return dst, &TooBig{m.Body.Type(), size, prescan.Fault{Cause: prescan.FrameTooLong, Offset: before - start}}
		}
	}
	if fault := prescan.Scan(out[start:], limits.scan()).Fault; !fault.OK() {
		return dst, &TooBig{Size: len(out) - start, Fault: fault}
	}
	return out, nil
}

// Join appends a frame to dst that holds the first of the messages, as many as fit
// into the limits, and says how many those are: at least one.
func Join(dst []byte, limits Limits, messages []Encoded) (frame []byte, taken int) {
	const head = 3 // bytes of the longest list head in use
	size, nodes := head, 1
	for taken < min(len(messages), MaxMessages) {
		m := messages[taken]
		size += m.Size()
		nodes += m.nodes
		if taken > 0 && (int64(size) > limits.Frame || nodes > prescan.MaxNodes) {
			break
		}
		taken++
	}
	dst = appendListHead(dst, taken)
	for _, m := range messages[:taken] {
		dst = append(dst, m.frame[1:]...)
	}
	return dst, taken
}

func appendListHead(b []byte, n int) []byte {
	if n < 16 {
		return append(b, 0x90|byte(n))
	}
	return binary.BigEndian.AppendUint16(append(b, 0xdc), uint16(n))
}

// appendMessage appends the envelope and its body.
func appendMessage(b []byte, m Outgoing) ([]byte, error) {
	name := m.Body.Type()
	if len(m.ID) > MaxID || len(m.ReplyTo) > MaxID {
		return b, fmt.Errorf("%s: a request id has at most %d bytes", name, MaxID)
	}
	entries := byte(2)
	if m.ID != "" {
		entries++
	}
	if m.ReplyTo != "" {
		entries++
	}
	out := append(b, 0x80|entries)
	out = appendEntry(out, "t", string(name))
	if m.ID != "" {
		out = appendEntry(out, "i", m.ID)
	}
	if m.ReplyTo != "" {
		out = appendEntry(out, "r", m.ReplyTo)
	}
	out, err := marshal(append(out, 0xa1, 'b'), m.Body)
	if err != nil {
		return b, fmt.Errorf("encode %s: %w", name, err)
	}
	return out, nil
}

// appendEntry appends a one-letter key and a short string, at most MaxID bytes.
func appendEntry(b []byte, key, value string) []byte {
	b = append(b, 0xa1, key[0])
	if len(value) < 32 {
		b = append(b, 0xa0|byte(len(value)))
	} else {
		b = append(b, 0xd9, byte(len(value)))
	}
	return append(b, value...)
}

// appender lets the msgpack encoder write behind bytes that are there already.
type appender struct{ b []byte }

// Write implements io.Writer.
func (a *appender) Write(p []byte) (int, error) {
	a.b = append(a.b, p...)
	return len(p), nil
}

// WriteByte spares the encoder a wrapper that allocates.
func (a *appender) WriteByte(c byte) error {
	a.b = append(a.b, c)
	return nil
}

// bodyEncoder is a msgpack encoder with what it writes to.
type bodyEncoder struct {
	out     appender
	encoder *msgpack.Encoder
}

var bodyEncoders = sync.Pool{New: func() any {
	e := &bodyEncoder{encoder: msgpack.NewEncoder(nil)}
	e.encoder.Reset(&e.out)
	e.encoder.UseCompactInts(true)
	return e
}}

// marshal appends the bytes of a body.
func marshal(b []byte, body Body) ([]byte, error) {
	if p, usual := body.(plain); usual {
		if out, ok := p.appendPlain(b); ok {
			return out, nil
		}
	}
	e := bodyEncoders.Get().(*bodyEncoder)
	defer bodyEncoders.Put(e)
	e.out.b = b
	err := e.encoder.Encode(body)
	out := e.out.b
	e.out.b = nil
	return out, err
}
