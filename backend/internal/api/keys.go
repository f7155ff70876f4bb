package api

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Bounds of a document's shape.
const (
	maxDepth   = 16
	maxUnknown = 8  // named; the rest is not
	fewKeys    = 24 // of one object: searched in a list, more also in a map
)

// checkKeys walks a well-formed document beside the type that it is for and
// refuses keys that the type does not have, in exactly its spelling, and doubled
// ones: the decoder would take other cases and let the last one win.
func checkKeys(raw []byte, out any) error {
	w := keyWalk{rest: raw}
	if err := w.value(reflect.TypeOf(out).Elem()); err != nil {
		return err
	}
	if len(w.unknown) > 0 {
		return badRequest("unknown key %s", strings.Join(w.unknown, ", "))
	}
	return nil
}

// keyWalk reads JSON that is known to be well-formed, so that it need not check.
type keyWalk struct {
	rest    []byte
	path    [][]byte // keys and [] of the values around
	unknown []string
}

// next drops blanks and what stands between values, and gives the next byte.
func (w *keyWalk) next() byte {
	for len(w.rest) > 0 {
		switch c := w.rest[0]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
			w.rest = w.rest[1:]
		default:
			return c
		}
	}
	return 0
}

// value walks one value; t is nil where anything may stand.
func (w *keyWalk) value(t reflect.Type) error {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch w.next() {
	case '{':
		return w.object(t)
	case '[':
		return w.list(t)
	case '"':
		w.text()
	default: // a number or a word
		end := slices.IndexFunc(w.rest, func(c byte) bool { return strings.IndexByte(",]} \t\r\n", c) >= 0 })
		if end < 0 {
			end = len(w.rest)
		}
		w.rest = w.rest[end:]
	}
	return nil
}

// text drops a string and gives it as it is written, without its quotes.
func (w *keyWalk) text() []byte {
	for i := 1; i < len(w.rest); i++ {
		switch w.rest[i] {
		case '\\':
			i++
		case '"':
			text := w.rest[1:i]
			w.rest = w.rest[i+1:]
			return text
		}
	}
	w.rest = nil
	return nil
}

var inList = []byte("[]")

func (w *keyWalk) list(t reflect.Type) error {
	var elem reflect.Type
	if t != nil && t.Kind() == reflect.Slice && !decodesItself(t) {
		elem = t.Elem()
	}
	w.rest = w.rest[1:]
	for w.next() != ']' {
		if err := w.inside(inList, elem); err != nil {
			return err
		}
	}
	w.rest = w.rest[1:]
	return nil
}

func (w *keyWalk) object(t reflect.Type) error {
	var fields map[string]reflect.Type // nil: any key
	var elem reflect.Type
	if t != nil && !decodesItself(t) {
		switch t.Kind() {
		case reflect.Struct:
			fields = fieldsOf(t)
		case reflect.Map:
			elem = t.Elem()
		}
	}
	var seen keySet
	w.rest = w.rest[1:]
	for w.next() != '}' {
		key := unescaped(w.text())
		if !seen.add(key) {
			return badRequest("key %s stands there twice", w.name(key))
		}
		next, known := elem, true
		if fields != nil {
			next, known = fields[string(key)]
		}
		if !known && len(w.unknown) < maxUnknown {
			w.unknown = append(w.unknown, strconv.Quote(w.name(key)))
		}
		if err := w.inside(key, next); err != nil {
			return err
		}
	}
	w.rest = w.rest[1:]
	return nil
}

func (w *keyWalk) inside(segment []byte, t reflect.Type) error {
	if len(w.path) == maxDepth {
		return badRequest("the document is nested deeper than %d", maxDepth)
	}
	w.path = append(w.path, segment)
	err := w.value(t)
	w.path = w.path[:len(w.path)-1]
	return err
}

// name is a key with its way through the document, cut to a bearable length.
func (w *keyWalk) name(key []byte) string {
	var b strings.Builder
	for _, segment := range append(w.path, key) {
		if b.Len() > 0 && string(segment) != "[]" {
			b.WriteByte('.')
		}
		b.Write(segment[:min(len(segment), 64)])
	}
	return b.String()
}

func unescaped(key []byte) []byte {
	if !slices.Contains(key, '\\') {
		return key
	}
	var text string
	_ = json.Unmarshal(slices.Concat([]byte{'"'}, key, []byte{'"'}), &text) // well-formed
	return []byte(text)
}

// keySet are the keys of one object; a long one must not cost the square of its length.
type keySet struct {
	few  [fewKeys][]byte
	n    int // of the few
	many map[string]struct{}
}

// add reports false for a key that is there already.
func (s *keySet) add(key []byte) bool {
	if s.n < fewKeys {
		if slices.ContainsFunc(s.few[:s.n], func(k []byte) bool { return bytes.Equal(k, key) }) {
			return false
		}
		s.few[s.n] = key
		s.n++
		return true
	}
	if s.many == nil {
		s.many = make(map[string]struct{}, 2*fewKeys)
		for _, k := range s.few {
			s.many[string(k)] = struct{}{}
		}
	}
	before := len(s.many)
	s.many[string(key)] = struct{}{}
	return len(s.many) > before
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// shape is what the walk needs to know of a type.
type shape struct {
	itself bool                    // its inside is its own business
	fields map[string]reflect.Type // of a struct, those of embedded ones among them
}

var shapes sync.Map // of reflect.Type to *shape

func shapeOf(t reflect.Type) *shape {
	if known, ok := shapes.Load(t); ok {
		return known.(*shape)
	}
	s := &shape{itself: reflect.PointerTo(t).Implements(unmarshaler)}
	if t.Kind() == reflect.Struct {
		s.fields = map[string]reflect.Type{}
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.IsExported() && name != "" && name != "-" {
				s.fields[name] = f.Type
			}
		}
	}
	shapes.Store(t, s)
	return s
}

func decodesItself(t reflect.Type) bool { return shapeOf(t).itself }

func fieldsOf(t reflect.Type) map[string]reflect.Type { return shapeOf(t).fields }
