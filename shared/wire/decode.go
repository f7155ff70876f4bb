package wire

import (
	"bytes"
	"sync"

	"github.com/vmihailenco/msgpack/v5"
)

// checked is a pointer to a body that can be validated.
type checked[T any] interface {
	*T
	Body
	Validate() error
}

// Decode gives the typed body of a message from DecodeFrame: its shape compared
// with the struct's, decoded, its texts cleaned, every field within its bounds.
// The result shares no memory with the frame. Every error is a *BadMessage that
// names the field.
func Decode[T any, P checked[T]](m Message) (T, error) {
	var body, none T
	if err := DecodeInto[T, P](m, &body); err != nil {
		return none, err
	}
	return body, nil
}

// DecodeInto is Decode into a fresh body, for who keeps it where it is. Beside an
// error the body is worthless.
func DecodeInto[T any, P checked[T]](m Message, body *T) error {
	want := P(body).Type()
	if m.Type != want {
		return &BadMessage{Type: m.Type, Problem: "is not " + string(want)}
	}
	if err := read(m, body); err != nil {
		return err
	}
	return P(body).Validate()
}

// read decodes the body: it reads itself where it can.
func read[T any](m Message, body *T) error {
	if p, can := any(body).(plainReader); can {
		if p.readPlain(m.Body) {
			return nil
		}
		*body = *new(T)
	}
	return readByShape(m, body)
}

// readByShape compares the body's shape with the struct's, then lets the library decode.
func readByShape(m Message, body any) error {
	if _, bad := kinds[m.Type].shape.check(m.Body, 0); bad != nil {
		return &BadMessage{Type: m.Type, Field: bad.field, Problem: bad.problem}
	}
	if err := unmarshal(m.Body, body); err != nil {
		return &BadMessage{Type: m.Type, Problem: err.Error()}
	}
	return nil
}

// bodyDecoder is a msgpack decoder with the reader that it reads from.
type bodyDecoder struct {
	reader  bytes.Reader
	decoder *msgpack.Decoder
}

var bodyDecoders = sync.Pool{New: func() any { return &bodyDecoder{decoder: msgpack.NewDecoder(nil)} }}

// unmarshal decodes scanned bytes into a fresh struct: a missing key leaves a
// field as it is, so that a used one would keep old values.
func unmarshal(b []byte, v any) error {
	d := bodyDecoders.Get().(*bodyDecoder)
	defer bodyDecoders.Put(d)
	d.reader.Reset(b)
	d.decoder.Reset(&d.reader)
	err := d.decoder.Decode(v)
	d.reader.Reset(nil)
	return err
}
