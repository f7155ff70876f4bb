package main

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// However the stream is cut, it reads as its whole.
func TestCleanWriter_IsCleanHoweverTheStreamIsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "\n", "\x1b[31m", "日本", "😀", "\xff", "\xe6\x97", "\u202e", "é"})).Draw(t, "text"), "")
		var out strings.Builder
		w := &cleanWriter{to: &out}
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, min(5, len(rest))).Draw(t, "n")
			if _, err := w.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := w.end(); err != nil || out.String() != cleanLines(text) {
			t.Fatalf("got %q, want %q", out.String(), cleanLines(text))
		}
	})
}
