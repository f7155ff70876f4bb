package wire

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CleanText makes a text that a node reported fit to be shown: control characters
// (with them the ESC of terminal sequences, and C1), characters that turn the
// writing direction, and other invisible ones are dropped, invalid UTF-8 becomes
// U+FFFD, line breaks and tabs become spaces; the rest is cut to limit bytes.
// What is clean already is returned as it is.
func CleanText(s string, limit int) string {
	if !isClean(s) {
		s = strings.Map(cleanRune, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return cut(s, limit)
}

func isClean(s string) bool {
	for _, r := range s {
		if r == utf8.RuneError || cleanRune(r) != r {
			return false
		}
	}
	return true
}

// cleanRune says what stands in a rune's place; -1 drops it.
func cleanRune(r rune) rune {
	switch {
	case r >= 0x20 && r < 0x7f:
		return r
	case r == '\n' || r == '\r' || r == '\t':
		return ' '
	case r < 0xa0:
		return -1
	case r == '\u2028' || r == '\u2029':
		return ' '
	case unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r): // bidi controls, zero width, tags
		return -1
	}
	return r
}

// cut shortens s to at most limit bytes, between two characters.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// ClaimsAuthority says whether a key of a message, or the name of a label, claims
// what only the control plane decides: a pool or an owner, in any spelling, or
// Rockpool's own label prefix. Such a claim changes nothing and leaves an audit entry.
func ClaimsAuthority(name string) bool {
	if len(name) > MaxType {
		name = name[:MaxType]
	}
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "rockpool.") || strings.HasPrefix(name, "rockpool/") {
		return true
	}
	if strings.HasPrefix(name, "pool.") || strings.HasPrefix(name, "pool/") {
		return true
	}
	switch strings.NewReplacer("_", "", "-", "", ".", "").Replace(name) {
	case "pool", "poolid", "poolname", "userid", "ownerid", "owneruserid":
		return true
	}
	return false
}

// SplitLabels parts the labels that a node may have from those that claim authority.
func SplitLabels(labels []Pair) (kept []Pair, claims []string) {
	for _, l := range labels {
		if ClaimsAuthority(l.Name) {
			claims = append(claims, l.Name)
		} else {
			kept = append(kept, l)
		}
	}
	return kept, claims
}

// maxNesting is how deep an output may nest: readers in other languages give up
// at a thousand, and a list of jobs shows the outputs of all.
const maxNesting = 128

// IsDocument reports whether a result's output is what it must be: one JSON
// document that nests within reason, in UTF-8, which alone PostgreSQL takes. Both
// sides ask it, so that no node spools what can't be kept.
func IsDocument(output []byte) bool {
	return utf8.Valid(output) && json.Valid(output) && nesting(output) <= maxNesting
}

// nesting is the depth of a valid document.
func nesting(document []byte) (deepest int) {
	depth, text := 0, false
	for i := 0; i < len(document); i++ {
		switch c := document[i]; {
		case c == '"':
			text = !text
		case text && c == '\\':
			i++ // whatever is escaped
		case text:
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return deepest
}
