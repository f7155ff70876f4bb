package spool

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"rockpool/shared/nodecore"
)

// FuzzOpen: whatever lies in a segment after a crash, a bad disk or a hand that wrote
// there, the spool opens, gives each result once, finds the whole record behind all of
// it, and takes new ones.
func FuzzOpen(f *testing.F) {
	m := mark{'a', 'm', 'a', 'r', 'k', 0, 0xff, 'z'}
	for _, seed := range segmentSeeds(f, m) {
		f.Add(seed)
	}
	behind := ref(9998)
	last := recordOf(f, m, behind)
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		content = append(bytes.Clone(content), last...)
		if err := os.WriteFile(filepath.Join(dir, segmentName(1, m)), content, 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir)
		seen := map[nodecore.Ref]bool{}
		for _, r := range s.Refs() {
			if seen[r] {
				t.Fatalf("%v is there twice", r)
			}
			seen[r] = true
			got, err := s.Get(r)
			if err != nil || got.Job != r.Job.String() || int32(got.Attempt) != r.Attempt {
				t.Errorf("asked for %v, got %s attempt %d, %v", r, got.Job, got.Attempt, err)
			}
		}
		if !seen[behind] {
			t.Error("the whole record at the end was not found")
		}
		fresh := ref(9999)
		if err := put(s, fresh, result(fresh)); err != nil {
			t.Fatal(err)
		}
		s.Close()
		again := open(t, dir)
		defer again.Close()
		if _, err := again.Get(fresh); err != nil {
			t.Errorf("what was made safe beside it: %v", err)
		}
	})
}

// recordOf is what a segment with that mark has of a result.
func recordOf(t testing.TB, m mark, r nodecore.Ref) []byte {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir)
	defer s.Close()
	if err := s.room(); err != nil {
		t.Fatal(err)
	}
	s.open.mark = m
	if err := put(s, r, result(r)); err != nil {
		t.Fatal(err)
	}
	record, err := os.ReadFile(s.open.path)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// segmentSeeds are a whole segment, one with a verdict, torn ones, some whose first
// record is spoilt in each of its parts, one with something between two records, and
// one that claims 4 GiB.
func segmentSeeds(f *testing.F, m mark) [][]byte {
	f.Helper()
	first, second := recordOf(f, m, ref(1)), recordOf(f, m, ref(2))
	whole := append(bytes.Clone(first), second...)
	changed := func(at int64, to byte) []byte {
		b := bytes.Clone(whole)
		b[at] = to
		return b
	}
	const state = int64(len(mark{}))
	return [][]byte{
		nil, whole, changed(state, recordFreed), changed(state, 'x'), whole[:len(whole)-7], whole[:len(first)+3],
		changed(0, 0), changed(state+1, 0xff), changed(state+4, 1), changed(state+5, 0), changed(headSize+3, 0),
		append(append(bytes.Clone(first), make([]byte, 4096)...), second...), bytes.Repeat(m[:], 100),
		append(m[:len(m):len(m)], recordKept, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 'x'), append(bytes.Clone(first), first...),
	}
}
