package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"rockpool/backend/internal/core/fleet"
)

// decode reads exactly one JSON document into out, a pointer to a struct.
// Refused (bad_request) are: bytes that are not UTF-8, NUL and lone surrogates
// in strings, keys that are not in the struct (all of them are named), doubled
// keys, deep nesting, values of other types, and anything behind the document.
func decode(raw []byte, out any) error {
	if err := checkText(raw); err != nil {
		return err
	}
	if !json.Valid(raw) {
		var whatever json.RawMessage
		return jsonError(json.Unmarshal(raw, &whatever)) // says where
	}
	if err := checkKeys(raw, out); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return jsonError(err)
	}
	return nil
}

// jsonError puts the decoder's words into ours, without Go's names of types.
func jsonError(err error) error {
	var (
		wrong  *json.UnmarshalTypeError
		syntax *json.SyntaxError
		known  *fleet.Error
	)
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &wrong):
		return badRequest("%s can't be a JSON %s", fieldName(wrong.Field), wrong.Value)
	case errors.As(err, &syntax) && strings.HasPrefix(syntax.Error(), "unexpected end"):
		return badRequest("the body is not a whole JSON document")
	case errors.As(err, &syntax):
		return badRequest("the body is not JSON: %s (at byte %d)", syntax.Error(), syntax.Offset)
	}
	return badRequest("%s", strings.TrimPrefix(err.Error(), "json: "))
}

func fieldName(field string) string {
	if field == "" {
		return "the body"
	}
	return field
}

// checkText refuses text that would not come back as it went in.
func checkText(raw []byte) error {
	if !utf8.Valid(raw) {
		return badRequest("the body is not UTF-8")
	}
	for {
		at := bytes.IndexByte(raw, '\\')
		if at < 0 || at+1 >= len(raw) {
			return nil
		}
		escape := raw[at+1]
		raw = raw[at+2:]
		if escape != 'u' {
			continue
		}
		unit, ok := hex4(raw)
		if !ok {
			return nil // the JSON decoder says what is wrong
		}
		raw = raw[4:]
		switch {
		case unit == 0:
			return badRequest(`a string holds \u0000: NUL can't be kept`)
		case unit >= 0xdc00 && unit <= 0xdfff:
			return badRequest(`a string holds the lone surrogate \u%04x`, unit)
		case unit >= 0xd800 && unit <= 0xdbff:
			low, ok := lowSurrogate(raw)
			if !ok {
				return badRequest(`a string holds the lone surrogate \u%04x`, unit)
			}
			raw = raw[low:]
		}
	}
}

// lowSurrogate reports the length of the escape of a low surrogate at the start.
func lowSurrogate(raw []byte) (int, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	unit, ok := hex4(raw[2:])
	return 6, ok && unit >= 0xdc00 && unit <= 0xdfff
}

func hex4(raw []byte) (unit uint16, ok bool) {
	if len(raw) < 4 {
		return 0, false
	}
	for _, c := range raw[:4] {
		switch {
		case c >= '0' && c <= '9':
			unit = unit<<4 | uint16(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			unit = unit<<4 | uint16(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return unit, true
}

// checkLine demands one printable line of at most max bytes, in which nothing
// turns the writing: it would read as another one on the pages of others.
func checkLine(name, text string, max int) error {
	if len(text) > max {
		return badRequest("%s is longer than %d bytes", name, max)
	}
	if !utf8.ValidString(text) {
		return badRequest("%s is not UTF-8", name)
	}
	for _, r := range text {
		if r < 0x20 || r >= 0x7f && r <= 0x9f || turns(r) {
			return badRequest("%s holds the control character %s", name, fmt.Sprintf("U+%04X", r))
		}
	}
	return nil
}

// turns reports a line or paragraph separator, or a character that embeds,
// overrides or isolates a direction.
func turns(r rune) bool { return r >= '\u2028' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' }
