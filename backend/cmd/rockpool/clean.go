package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean makes text of the server harmless for a terminal: what is not printable
// (control characters and so ANSI escapes, C1, bidirectional and other invisible
// marks, line separators, bytes that are not UTF-8) reads as its escape. Newlines
// and tabs are escaped too: the result is one line.
func clean(text string) string { return escape(text, unicode.IsPrint) }

// cleanLines is clean for text of several lines.
func cleanLines(text string) string {
	return escape(text, func(r rune) bool { return r == '\n' || r == '\t' || unicode.IsPrint(r) })
}

func escape(text string, harmless func(rune) bool) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[i])
		case harmless(r):
			out.WriteString(text[i : i+size])
		default:
			out.WriteString(spell(r))
		}
		i += size
	}
	return out.String()
}

func spell(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// cleanJSON escapes the same characters inside an encoded document, where they
// can stand in strings only, so that it stays the same document.
func cleanJSON(encoded string) string {
	var out strings.Builder
	for _, r := range encoded {
		switch {
		case r == '\n' || unicode.IsPrint(r) && r != utf8.RuneError:
			out.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			high, low := surrogates(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		}
	}
	return out.String()
}

// surrogates splits a rune above U+FFFF as JSON spells it.
func surrogates(r rune) (high, low rune) {
	r -= 0x10000
	return 0xd800 + r>>10, 0xdc00 + r&0x3ff
}
