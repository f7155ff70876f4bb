package wire

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"rockpool/shared/wire/prescan"
)

// shape is what the bytes of a Go type must look like. The msgpack library is
// lenient where a wire must not be: it reads a list into a struct, bytes into a
// string, nil into anything. So the shape is compared before it decodes.
type shape struct {
	kind   prescan.Kind
	nilOK  bool    // lists, bytes and pointers
	items  *shape  // of an Array
	fields []field // of a Map, as the encoder writes them
}

// field is an entry of a struct.
type field struct {
	name  string
	shape *shape
}

// shapeOf makes the shape of a body's type from its msgpack tags. It panics on a
// type that wire data must not have (any, maps, floats, small integers), which
// every test of this package would show.
func shapeOf(t reflect.Type) *shape {
	switch t.Kind() {
	case reflect.String:
		return &shape{kind: prescan.Str}
	case reflect.Int64:
		return &shape{kind: prescan.Int}
	case reflect.Bool:
		return &shape{kind: prescan.Bool}
	case reflect.Pointer:
		s := shapeOf(t.Elem())
		s.nilOK = true
		return s
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return &shape{kind: prescan.Bin, nilOK: true}
		}
		return &shape{kind: prescan.Array, nilOK: true, items: shapeOf(t.Elem())}
	case reflect.Struct:
		return structShape(t)
	}
	panic(fmt.Sprintf("wire: %s can't stand in a message", t))
}

func structShape(t reflect.Type) *shape {
	s := &shape{kind: prescan.Map}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("msgpack"), ",")
		if name == "" {
			panic(fmt.Sprintf("wire: %s.%s has no key", t, f.Name))
		}
		s.fields = append(s.fields, field{name, shapeOf(f.Type)})
	}
	return s
}

// mismatch is a value that does not fit; Field is the path to it.
type mismatch struct {
	field, problem string
}

// check compares the value at pos, in bytes that passed the pre-scan, and returns
// the offset behind it. It recurses as deep as our own structs do, not the bytes.
func (s *shape) check(b []byte, pos int) (int, *mismatch) {
	h, _ := prescan.ReadHead(b, pos)
	if h.Kind == prescan.Nil && s.nilOK {
		return h.Body, nil
	}
	if h.Kind != s.kind {
		return 0, &mismatch{problem: "is " + h.Kind.String() + ", not " + s.kind.String()}
	}
	switch h.Kind {
	case prescan.Array:
		return s.checkItems(b, h)
	case prescan.Map:
		return s.checkFields(b, h)
	}
	return h.Body + h.Len, nil
}

func (s *shape) checkItems(b []byte, h prescan.Head) (int, *mismatch) {
	pos := h.Body
	for i := range h.Len {
		next, bad := s.items.check(b, pos)
		if bad != nil {
			bad.field = "[" + strconv.Itoa(i) + "]" + dotted(bad.field)
			return 0, bad
		}
		pos = next
	}
	return pos, nil
}

func (s *shape) checkFields(b []byte, h prescan.Head) (int, *mismatch) {
	pos, turn := h.Body, 0
	for range h.Len {
		key, at := text(b, pos)
		field := s.field(key, &turn)
		if field == nil {
			pos = prescan.Skip(b, at)
			continue
		}
		next, bad := field.check(b, at)
		if bad != nil {
			bad.field = string(key) + dotted(bad.field)
			return 0, bad
		}
		pos = next
	}
	return pos, nil
}

// field is what stands under a key; nil: the struct has none. Turn is where the key is
// looked for first: behind the one before, where the encoder writes it.
func (s *shape) field(key []byte, turn *int) *shape {
	at := *turn
	for range s.fields {
		if at == len(s.fields) {
			at = 0
		}
		f := &s.fields[at]
		at++
		if f.name == string(key) {
			*turn = at
			return f.shape
		}
	}
	return nil
}

// dotted joins the rest of a path to its parent's name.
func dotted(rest string) string {
	if rest == "" || rest[0] == '[' {
		return rest
	}
	return "." + rest
}

// text returns the content of the string or bytes at pos and the offset behind it.
func text(b []byte, pos int) ([]byte, int) {
	h, _ := prescan.ReadHead(b, pos)
	end := h.Body + h.Len
	return b[h.Body:end], end
}
