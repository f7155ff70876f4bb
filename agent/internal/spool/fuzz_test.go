package spool

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"rockpool/shared/nodecore"
)

// FuzzOpen: whatever lies in a segment after a crash, a bad disk or a hand that wrote
// there, the spool opens, gives each result once or says that it can't be read, and
// takes new ones.
func FuzzOpen(f *testing.F) {
	for _, seed := range segmentSeeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, segmentName(1)), content, 0o600); err != nil {
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
			if err == nil && (got.Job != r.Job.String() || int32(got.Attempt) != r.Attempt) {
				t.Errorf("asked for %v, got %s attempt %d", r, got.Job, got.Attempt)
			}
			if err != nil && !errors.Is(err, ErrUnreadable) {
				t.Errorf("read %v: %v", r, err)
			}
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

// segmentSeeds are a whole segment, one with a verdict, a torn one, one whose first
// record is spoilt, and one that claims 4 GiB.
func segmentSeeds(f *testing.F) [][]byte {
	f.Helper()
	dir := f.TempDir()
	s, err := Open(dir)
	if err != nil {
		f.Fatal(err)
	}
	defer s.Close()
	for n := range 3 {
		if err := put(s, ref(n), result(ref(n))); err != nil {
			f.Fatal(err)
		}
	}
	whole, err := os.ReadFile(filepath.Join(dir, segmentName(1)))
	if err != nil {
		f.Fatal(err)
	}
	changed := func(at int, to byte) []byte {
		b := append([]byte(nil), whole...)
		b[at] = to
		return b
	}
	return [][]byte{
		nil, whole, changed(0, recordFreed), whole[:len(whole)-7], changed(headSize+3, 0),
		{recordKept, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 'x'},
	}
}
