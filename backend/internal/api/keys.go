package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// Bounds of a document's shape.
const (
	maxDepth   = 16
	maxUnknown = 8 // named; the rest is not
)

// checkKeys walks a document beside the type that it is for and refuses keys
// that the type does not have, in exactly its spelling, and doubled ones: the
// decoder would take other cases and let the last one win.
func checkKeys(raw []byte, out any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	w := keyWalk{tokens: d}
	if err := w.value(reflect.TypeOf(out).Elem()); err != nil {
		return jsonError(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return badRequest("something stands behind the JSON document")
	}
	if len(w.unknown) > 0 {
		return badRequest("unknown key %s", strings.Join(w.unknown, ", "))
	}
	return nil
}

type keyWalk struct {
	tokens  *json.Decoder
	path    []string
	unknown []string
}

// value walks one value; t is nil where anything may stand.
func (w *keyWalk) value(t reflect.Type) error {
	token, err := w.tokens.Token()
	if err != nil {
		return err
	}
	open, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	if len(w.path) >= maxDepth {
		return badRequest("the document is nested deeper than %d", maxDepth)
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if open == '[' {
		err = w.list(t)
	} else {
		err = w.object(t)
	}
	if err != nil {
		return err
	}
	_, err = w.tokens.Token() // the closing delimiter
	return err
}

func (w *keyWalk) list(t reflect.Type) error {
	if t != nil && t.Kind() == reflect.Slice && !decodesItself(t) {
		t = t.Elem()
	} else {
		t = nil
	}
	for i := 0; w.tokens.More(); i++ {
		if err := w.inside("["+strconv.Itoa(i)+"]", t); err != nil {
			return err
		}
	}
	return nil
}

func (w *keyWalk) object(t reflect.Type) error {
	var fields map[string]reflect.Type
	var elem reflect.Type
	if t != nil && !decodesItself(t) {
		switch t.Kind() {
		case reflect.Struct:
			fields = fieldsOf(t)
		case reflect.Map:
			elem = t.Elem()
		}
	}
	seen := make(map[string]bool, 8)
	for w.tokens.More() {
		token, err := w.tokens.Token()
		if err != nil {
			return err
		}
		key := token.(string)
		if seen[key] {
			return badRequest("key %s stands there twice", w.name(key))
		}
		seen[key] = true
		next, known := elem, true
		if fields != nil {
			next, known = fields[key]
		}
		if !known && len(w.unknown) < maxUnknown {
			w.unknown = append(w.unknown, strconv.Quote(w.name(key)))
		}
		if err := w.inside(key, next); err != nil {
			return err
		}
	}
	return nil
}

func (w *keyWalk) inside(segment string, t reflect.Type) error {
	w.path = append(w.path, segment)
	err := w.value(t)
	w.path = w.path[:len(w.path)-1]
	return err
}

// name is a key with its way through the document, cut to a bearable length.
func (w *keyWalk) name(key string) string {
	if len(key) > 64 {
		key = key[:64]
	}
	var b strings.Builder
	for _, segment := range append(w.path, key) {
		if b.Len() > 0 && segment[:min(1, len(segment))] != "[" {
			b.WriteByte('.')
		}
		b.WriteString(segment)
	}
	return b.String()
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// decodesItself reports a type whose inside is its own business.
func decodesItself(t reflect.Type) bool { return reflect.PointerTo(t).Implements(unmarshaler) }

var fieldCache sync.Map // of reflect.Type to map[string]reflect.Type

// fieldsOf lists a struct's keys, those of embedded structs among them.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if cached, ok := fieldCache.Load(t); ok {
		return cached.(map[string]reflect.Type)
	}
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "" && name != "-" {
			fields[name] = f.Type
		}
	}
	fieldCache.Store(t, fields)
	return fields
}
