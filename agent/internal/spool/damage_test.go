package spool

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
)

// written is a segment that was left with results whose lengths and outputs are drawn.
type written struct {
	name    string
	content []byte
	refs    []nodecore.Ref
	results []wire.Result
	records [][]byte
}

// write leaves a segment. Outputs are drawn from what a record is made of, and hold
// whole records of other files: a job may print anything.
func write(t *rapid.T, dir string, foreign []byte) written {
	s, err := Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	printed := rapid.OneOf(
		rapid.SliceOfN(rapid.SampledFrom([]byte{recordKept, recordFreed, 0, 1, 0xff}), 0, 300),
		rapid.SliceOfN(rapid.Byte(), 0, 300), rapid.Just(foreign), rapid.Just(make([]byte, 5000)),
	)
	var w written
	for n := range rapid.IntRange(1, 12).Draw(t, "results") {
		r := result(ref(n))
		r.Head = printed.Draw(t, "printed")
		if err := s.Add(ref(n), r); err != nil {
			t.Fatal(err)
		}
		w.refs, w.results = append(w.refs, ref(n)), append(w.results, r)
	}
	w.name = filepath.Base(s.open.path)
	if w.content, err = os.ReadFile(s.open.path); err != nil {
		t.Fatal(err)
	}
	for _, e := range s.entries {
		w.records = append(w.records, w.content[e.at:e.at+e.size])
	}
	return w
}

// damage changes bytes anywhere, takes some out or puts some in, up to three times.
func damage(t *rapid.T, content []byte) []byte {
	b := bytes.Clone(content)
	for range rapid.IntRange(1, 3).Draw(t, "times") {
		at := rapid.IntRange(0, len(b)).Draw(t, "at")
		end := min(len(b), at+rapid.SampledFrom([]int{0, 1, 1, 4, 30, 600, 5000}).Draw(t, "span"))
		with := rapid.OneOf(
			rapid.SliceOfN(rapid.Byte(), 0, 40), rapid.Just(make([]byte, end-at)), rapid.Just([]byte(nil)),
		).Draw(t, "with")
		b = append(append(bytes.Clone(b[:at]), with...), b[end:]...)
	}
	return b
}

// Wherever a file was damaged, each result whose record is whole is there as it was
// written, in its place, and nothing else is.
func TestOpen_DamageCostsNothingButWhatItHit(t *testing.T) {
	foreign := recordOf(t, mark{1, 2, 3}, ref(77))
	rapid.Check(t, func(rt *rapid.T) {
		w := write(rt, filepath.Join(t.TempDir(), "spool"), foreign)
		content := damage(rt, w.content)
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, w.name), content, 0o600); err != nil {
			rt.Fatal(err)
		}
		s := open(t, dir)
		defer s.Close()
		left, rest := s.Refs(), content
		for i, r := range w.refs {
			_, behind, whole := bytes.Cut(rest, w.records[i])
			if whole {
				rest = behind // no two records share a byte
			}
			here := len(left) > 0 && left[0] == r
			if here {
				left = left[1:]
				if got, err := s.Get(r); err != nil || !bytes.Equal(got.Head, w.results[i].Head) || got.Job != w.results[i].Job {
					rt.Errorf("%v is not what was written: %v", r, err)
				}
			}
			if whole && !here {
				rt.Errorf("%v is lost, and its record is whole", r)
			}
		}
		if len(left) > 0 {
			rt.Errorf("%v is there, and nobody wrote it in that place", left)
		}
	})
}

// Whatever part of a record was damaged, the log says where, those behind it are there,
// and the file is kept for people.
func TestOpen_SaysWhatItCannotRead(t *testing.T) {
	for part, at := range map[string]int64{"mark": 3, "length": 10, "sum": 14, "frame": headSize + 40} {
		dir := t.TempDir()
		s := filled(t, dir, 3)
		middle := s.entries[1]
		damaged := make([]byte, 1)
		_, err := middle.in.file.ReadAt(damaged, middle.at+at)
		damaged[0] ^= 0xff // another one for sure: the mark is random
		if _, writeErr := middle.in.file.WriteAt(damaged, middle.at+at); errors.Join(err, writeErr) != nil {
			t.Fatal(err, writeErr)
		}
		s.Close()
		var said strings.Builder
		again, err := Open(dir, slog.New(slog.NewTextHandler(&said, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if got := again.Refs(); !slices.Equal(got, []nodecore.Ref{ref(0), ref(2)}) {
			t.Errorf("%s: left are %v", part, got)
		}
		where := fmt.Sprintf("from=%d bytes=%d", middle.at, middle.size)
		if log := said.String(); !strings.Contains(log, "level=ERROR") || !strings.Contains(log, where) {
			t.Errorf("%s: the log says %q, nothing of %s", part, log, where)
		}
		if err := errors.Join(again.Remove(ref(0)), again.Remove(ref(2))); err != nil || setAside(t, dir) != 1 {
			t.Errorf("%s: not set aside, %v", part, err)
		}
	}
}

// What a crash cuts off was never said to be safe: nothing is set aside for it.
func TestOpen_KeepsNothingOfATornEnd(t *testing.T) {
	m := mark{1, 2, 3}
	record := recordOf(t, m, ref(1))
	for cut := range len(record) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, segmentName(1, m)), record[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		open(t, dir).Close()
		if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
			t.Fatalf("of %d bytes %v is left, %v", cut, files, err)
		}
	}
}

// A length that no result has came of damage, also at a file's end, where it would pass
// for one whose record is torn.
func TestOpen_ALengthThatNoResultHasIsDamage(t *testing.T) {
	dir := t.TempDir()
	s := filled(t, dir, 2)
	last := s.entries[1]
	if _, err := last.in.file.WriteAt([]byte{0x40}, last.at+int64(len(mark{}))+1); err != nil {
		t.Fatal(err)
	}
	s.Close()
	again := open(t, dir)
	if got := again.Refs(); !slices.Equal(got, []nodecore.Ref{ref(0)}) {
		t.Errorf("left are %v", got)
	}
	if err := again.Remove(ref(0)); err != nil || setAside(t, dir) != 1 {
		t.Errorf("not set aside, %v", err)
	}
}
