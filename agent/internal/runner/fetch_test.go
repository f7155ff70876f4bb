package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"pgregory.net/rapid"

	"rockpool/shared/wire"
)

// line is a source whose connections break: each try gives so many bytes more.
type line struct {
	content []byte
	gives   []int
	whole   bool // it never goes on, it begins anew
	endless bool
	opened  int
}

var errCut = errors.New("connection reset")

func (l *line) Open(_ context.Context, _ string, offset int64) (io.ReadCloser, int64, error) {
	l.opened++
	if l.endless {
		return io.NopCloser(endless{}), offset, nil
	}
	if l.whole {
		offset = 0
	}
	rest := l.content[min(offset, int64(len(l.content))):]
	if len(l.gives) == 0 {
		return io.NopCloser(bytes.NewReader(rest)), offset, nil
	}
	give := min(l.gives[0], len(rest))
	l.gives = l.gives[1:]
	return io.NopCloser(io.MultiReader(bytes.NewReader(rest[:give]), iotest.ErrReader(errCut))), offset, nil
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func inputOf(content []byte) wire.Input {
	sum := sha256.Sum256(content)
	return wire.Input{Name: "clip", Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: int64(len(content))}
}

func fetching(source Source) *Set { return &Set{source: source, inputLimit: 1 << 20} }

func TestFetch_GoesOnWhereItBrokeOff(t *testing.T) {
	dir, outer := t.TempDir(), t
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.SliceOfN(rapid.Byte(), 1, 2048).Draw(t, "content")
		source := &line{content: content, gives: rapid.SliceOfN(rapid.IntRange(1, 700), 0, 6).Draw(t, "gives")}
		if rapid.Bool().Draw(t, "quiet") {
			source.gives = append(source.gives, 0, 0)
		}
		if source.whole = rapid.Bool().Draw(t, "whole"); source.whole {
			source.gives = source.gives[:min(2, len(source.gives))]
		}
		path, err := filepath.Join(dir, "clip"), error(nil)
		synctest.Test(outer, func(t *testing.T) { err = fetching(source).fetch(t.Context(), inputOf(content), path) })
		if err != nil {
			t.Fatalf("fetch: %v", err)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) {
			t.Fatalf("%d bytes are there, %v", len(got), err)
		}
	})
}

func TestAttack_A54_AnInputIsWholeOrNotThere(t *testing.T) {
	content := []byte("content")
	longer := inputOf(content)
	longer.Size--
	other := inputOf([]byte("another"))
	large := inputOf(content)
	large.Size = 1<<20 + 1
	for name, c := range map[string]struct {
		source *line
		in     wire.Input
		opened int
		say    string
	}{
		"longer than declared": {&line{content: content}, longer, 1, "what came is not"},
		"without an end":       {&line{endless: true}, inputOf(content), 1, "what came is not"},
		"another file":         {&line{content: content}, other, 1, "what came is not"},
		"over the limit":       {&line{content: content}, large, 0, "input_limit"},
		"shorter":              {&line{content: content[:3]}, inputOf(content), 1 + fetchTries, "3 of 7 bytes came"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "clip")
				err := fetching(c.source).fetch(t.Context(), c.in, path)
				if err == nil || !strings.Contains(err.Error(), c.say) || c.source.opened != c.opened {
					t.Errorf("after %d tries: %v", c.source.opened, err)
				}
				if _, err := os.Stat(path); err == nil {
					t.Error("it is taken for whole")
				}
			})
		})
	}
}
