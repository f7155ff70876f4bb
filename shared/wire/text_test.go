package wire

import (
	"strings"
	"testing"
)

func TestIsDocument_TakesWhatCanBeKeptAndReadAgain(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for document, want := range map[string]bool{
		`{"vmaf": 92.5}`: true, `1`: true, `"\u0000"`: true, nested(128): true,
		`{"a": "` + strings.Repeat("[", 1000) + `\""}`: true, `[` + strings.Repeat(`[],`, 1000) + `[]]`: true,
		``: false, `{`: false, `{}{}`: false, "\"\xff\"": false, `NaN`: false, nested(129): false, nested(20000): false,
	} {
		if got := IsDocument([]byte(document)); got != want {
			t.Errorf("%.40q: %v", document, got)
		}
	}
}
