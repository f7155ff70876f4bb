package wire

import (
	"fmt"

	"rockpool/shared/wire/prescan"
)

// RawBody is the undecoded body of a message. It aliases the frame's bytes.
type RawBody []byte

// Message is one message of a received frame. Decode gives its typed body.
type Message struct {
	Type    Type
	ID      string // request id; a request of unknown type is answered
	ReplyTo string // the request that this answers
	Body    RawBody
	// Unknown names the keys that this build does not know, of the message and of
	// its body's top level: at most MaxUnknown, and beyond them every one that
	// claims authority. They are ignored; count them, and audit the claims.
	Unknown []string
}

// MaxUnknown bounds the names in Message.Unknown that claim nothing.
const MaxUnknown = 8

// BadMessage says why a frame or message is refused. The peer is closed with
// CloseBadMessage, or gets Error() as the detail of a refusal.
type BadMessage struct {
	Type    Type          // empty when the frame itself is bad
	Field   string        // path of the field, such as running[2].job
	Problem string        // what is wrong, in words
	Fault   prescan.Fault // of the pre-scan, when it refused the frame
}

func (e *BadMessage) Error() string {
	where := "frame"
	if e.Type != "" {
		where = string(e.Type)
	}
	if e.Field != "" {
		where += ": " + e.Field
	}
	return where + ": " + e.Problem
}

// DecodeFrame checks a whole frame and splits it into its 1 to MaxMessages
// messages. Bodies are not decoded yet and alias b: b must not change while a
// message is in use. Every error is a *BadMessage.
func DecodeFrame(b []byte, limits Limits) ([]Message, error) {
	if fault := prescan.Scan(b, limits.scan()).Fault; !fault.OK() {
		return nil, &BadMessage{Problem: fault.Error(), Fault: fault}
	}
	h, _ := prescan.ReadHead(b, 0)
	if h.Kind != prescan.Array || h.Len < 1 || h.Len > MaxMessages {
		return nil, &BadMessage{Problem: fmt.Sprintf("must be a list of 1..%d messages", MaxMessages)}
	}
	messages := make([]Message, h.Len)
	pos := h.Body
	for i := range messages {
		next, err := messages[i].read(b, pos)
		if err != nil {
			return nil, err
		}
		pos = next
	}
	return messages, nil
}

// read takes the envelope at pos apart and returns the offset behind it.
func (m *Message) read(b []byte, pos int) (int, error) {
	h, _ := prescan.ReadHead(b, pos)
	if h.Kind != prescan.Map {
		return 0, &BadMessage{Problem: "a message is " + h.Kind.String() + ", not a map"}
	}
	pos = h.Body
	for range h.Len {
		key, at := text(b, pos)
		pos = prescan.Skip(b, at)
		if problem := m.take(string(key), b[at:pos]); problem != "" {
			return 0, &BadMessage{Type: m.Type, Field: cut(CleanText(string(key), MaxType), MaxType), Problem: problem}
		}
	}
	return pos, m.finish()
}

// take stores one entry of the envelope, or says what is wrong with it.
func (m *Message) take(key string, value []byte) string {
	switch key {
	case "t":
		return m.takeType(value)
	case "i":
		return takeID(&m.ID, value)
	case "r":
		return takeID(&m.ReplyTo, value)
	case "b":
		m.Body = value
	default:
		m.noteUnknown(key)
	}
	return ""
}

func (m *Message) takeType(value []byte) string {
	if h, _ := prescan.ReadHead(value, 0); h.Kind != prescan.Str {
		return "is " + h.Kind.String() + ", not a string"
	}
	name, _ := text(value, 0)
	if k, ok := kinds[Type(name)]; ok {
		m.Type = k.name // spares the copy
		return ""
	}
	if len(name) > MaxType || !isToken(string(name)) {
		return fmt.Sprintf("must be 1..%d letters, digits, _ . : -", MaxType)
	}
	m.Type = Type(name)
	return ""
}

func takeID(to *string, value []byte) string {
	if h, _ := prescan.ReadHead(value, 0); h.Kind != prescan.Str {
		return "is " + h.Kind.String() + ", not a string"
	}
	id, _ := text(value, 0)
	if len(id) > MaxID || !isToken(string(id)) {
		return fmt.Sprintf("must be 1..%d letters, digits, _ . : -", MaxID)
	}
	*to = string(id)
	return ""
}

// finish checks the message as a whole and notes its body's unknown keys.
func (m *Message) finish() error {
	if m.Type == "" {
		return &BadMessage{Field: "t", Problem: "is missing"}
	}
	k, ok := kinds[m.Type]
	if !ok {
		return nil
	}
	h, _ := prescan.ReadHead(m.Body, 0)
	if h.Kind != prescan.Map {
		return &BadMessage{Type: m.Type, Field: "b", Problem: "must be a map"}
	}
	pos, turn := h.Body, 0
	for range h.Len {
		key, at := text(m.Body, pos)
		pos = prescan.Skip(m.Body, at)
		if k.shape.field(key, &turn) == nil {
			m.noteUnknown(string(key))
		}
	}
	return nil
}

// noteUnknown keeps the name of a key that no struct has.
func (m *Message) noteUnknown(key string) {
	if len(m.Unknown) < MaxUnknown || ClaimsAuthority(key) {
		m.Unknown = append(m.Unknown, CleanText(key, MaxType))
	}
}
