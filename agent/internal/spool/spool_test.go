package spool

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"rockpool/shared/ids"
	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
)

func ref(n int) nodecore.Ref {
	return nodecore.Ref{Job: ids.JobID{14: byte(n >> 8), 15: byte(n)}, Attempt: int32(n%3 + 1)}
}

func result(r nodecore.Ref) wire.Result {
	return wire.Result{
		Job: r.Job.String(), Attempt: int64(r.Attempt), Status: wire.ResultSucceeded,
		Output: []byte(`{"n":1}`), Head: bytes.Repeat([]byte{0xff}, 1000),
	}
}

func open(t testing.TB, dir string) *Spool {
	t.Helper()
	s, err := Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// filled opens a spool in an empty folder and stores so many results.
func filled(t testing.TB, dir string, results int) *Spool {
	t.Helper()
	s := open(t, dir)
	for n := range results {
		if err := put(s, ref(n), result(ref(n))); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// put stores a result as the agent does.
func put(s *Spool, r nodecore.Ref, with wire.Result) error {
	if err := s.Add(r, with); err != nil {
		return err
	}
	return s.Sync()
}

func TestSpool_KeepsOrderAndContentOverRestarts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	var want []nodecore.Ref
	for n := 30; n > 0; n-- {
		if n%10 == 0 {
			want = append(want, ref(n))
			if err := put(open(t, dir), ref(n), result(ref(n))); err != nil { // each by a process of its own
				t.Fatal(err)
			}
		}
	}
	s := open(t, dir)
	if got := s.Refs(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("order %v, want %v", got, want)
	}
	got, err := s.Get(want[1])
	if err != nil || got.Job != want[1].Job.String() || !bytes.Equal(got.Head, result(want[1]).Head) {
		t.Errorf("read back %+v, %v", got, err)
	}
	for _, r := range want {
		if err := errors.Join(s.Remove(r), s.Remove(r)); err != nil {
			t.Fatal(err)
		}
	}
	if left := open(t, dir).Refs(); len(left) != 0 {
		t.Errorf("left after removal: %v", left)
	}
}

func TestSpool_TakesResultsSideBySide(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	var puts sync.WaitGroup
	for n := range 20 {
		puts.Go(func() {
			if err := put(s, ref(n+1), result(ref(n+1))); err != nil {
				t.Error(err)
			}
		})
	}
	puts.Wait()
	again := open(t, dir)
	if got, want := fmt.Sprint(again.Refs()), fmt.Sprint(s.Refs()); got != want || len(s.Refs()) != 20 {
		t.Errorf("order %v after a restart, %v before", got, want)
	}
	for _, r := range again.Refs() {
		if got, err := again.Get(r); err != nil || got.Job != r.Job.String() {
			t.Errorf("%v reads %+v, %v", r, got, err)
		}
	}
}

func TestSpool_FirstResultOfAnAttemptStays(t *testing.T) {
	s := open(t, t.TempDir())
	second := result(ref(1))
	second.Status = wire.ResultFailed
	if err := errors.Join(put(s, ref(1), result(ref(1))), put(s, ref(1), second)); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(ref(1)); err != nil || got.Status != wire.ResultSucceeded || len(s.Refs()) != 1 {
		t.Errorf("kept %+v, %v", got, err)
	}
}

func TestSpool_RefusesWhatTheServerWouldRefuseForEver(t *testing.T) {
	s := open(t, t.TempDir())
	huge := result(ref(1))
	huge.Output = make([]byte, wire.MaxResult)
	if err := put(s, ref(1), huge); err == nil || len(s.Refs()) != 0 {
		t.Errorf("an oversized result was spooled: %v", err)
	}
}

// spoil overwrites a byte of a result.
func spoil(t *testing.T, e entry) {
	t.Helper()
	if _, err := e.in.file.WriteAt([]byte{0xdd}, e.at+headSize+40); err != nil {
		t.Fatal(err)
	}
}

func TestSpool_SpoiltFileIsSetAside(t *testing.T) {
	dir := t.TempDir()
	s := filled(t, dir, 3)
	spoil(t, s.entries[1])
	if _, err := s.Get(ref(1)); !errors.Is(err, ErrUnreadable) {
		t.Fatalf("error %v", err)
	}
	for _, n := range []int{0, 2} {
		if _, err := s.Get(ref(n)); err != nil {
			t.Errorf("beside it: %v", err)
		}
	}
	if err := errors.Join(s.Remove(ref(0)), s.Remove(ref(2)), s.Rest()); err != nil {
		t.Fatal(err)
	}
	if setAside(t, dir) != 1 || len(open(t, dir).Refs()) != 0 {
		t.Error("not set aside")
	}
}

// setAside counts the files that are kept for people.
func setAside(t testing.TB, dir string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"+suffix+spoilt))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

func TestSpool_WhatWasSpoiltMeanwhileCostsNothingElse(t *testing.T) {
	dir := t.TempDir()
	s := filled(t, dir, 3)
	spoil(t, s.entries[1])
	s.Close()
	again := open(t, dir)
	if got := again.Refs(); len(got) != 2 || got[0] != ref(0) || got[1] != ref(2) {
		t.Fatalf("left are %v", got)
	}
	if err := errors.Join(again.Remove(ref(0)), again.Remove(ref(2))); err != nil {
		t.Fatal(err)
	}
	if setAside(t, dir) != 1 {
		t.Error("not set aside")
	}
}

// Wherever a crash cuts the file, all that was whole before is there, and what comes
// then is kept too.
func TestSpool_ATornEndCostsNothingElse(t *testing.T) {
	dir := t.TempDir()
	s := filled(t, dir, 2)
	first, file := s.entries[1].at, filepath.Base(s.open.path)
	whole, err := os.ReadFile(s.open.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int64{0, 1, headSize - 1, headSize, headSize + 1, first - 1, first, first + 3, first + headSize + 5, int64(len(whole)) - 1} {
		for name, torn := range map[string][]byte{"short": whole[:cut], "zeros": append(bytes.Clone(whole[:cut]), make([]byte, int64(len(whole))-cut)...)} {
			at := t.TempDir()
			if err := os.WriteFile(filepath.Join(at, file), torn, 0o600); err != nil {
				t.Fatal(err)
			}
			want := 0
			if cut >= first {
				want = 1
			}
			s := open(t, at)
			if got := s.Refs(); len(got) != want {
				t.Errorf("%s at %d: %v, want %d", name, cut, got, want)
			}
			if err := put(s, ref(5), result(ref(5))); err != nil {
				t.Fatal(err)
			}
			s.Close()
			if got := open(t, at).Refs(); len(got) != want+1 || got[want] != ref(5) {
				t.Errorf("%s at %d, with another one: %v", name, cut, got)
			}
		}
	}
}

// Files go with their last result, and there are no more than it takes.
func TestSpool_LeavesNoFiles(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	large := func(n int) wire.Result {
		r := result(ref(n))
		r.Head = make([]byte, 30<<10)
		return r
	}
	files := func() int {
		list, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	for n := range 100 {
		if err := put(s, ref(n), large(n)); err != nil {
			t.Fatal(err)
		}
	}
	if n := files(); n != 3 {
		t.Errorf("100 results of 30 KiB lie in %d files", n)
	}
	s.Close()
	s = open(t, dir)
	for n := range 100 {
		if got, err := s.Get(ref(n)); err != nil || len(got.Head) != 30<<10 {
			t.Fatal(err)
		}
		if err := s.Remove(ref(n)); err != nil {
			t.Fatal(err)
		}
	}
	if n := files(); n != 0 {
		t.Errorf("%d files are left of a spool without results", n)
	}
	for n := range 200 { // each is handed in at once
		if err := errors.Join(put(s, ref(n), large(n)), s.Remove(ref(n))); err != nil {
			t.Fatal(err)
		}
	}
	if n := files(); n != 1 {
		t.Errorf("%d files are in use", n)
	}
	if err := s.Rest(); err != nil || files() != 0 {
		t.Errorf("at rest: %v, %d files", err, files())
	}
}

// What the disk did not take is to be added again, and is there once then.
func TestSpool_AFailedSyncForgetsWhatWasAdded(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if err := put(s, ref(1), result(ref(1))); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(ref(2), result(ref(2))); err != nil {
		t.Fatal(err)
	}
	closed, err := os.Open(s.open.path)
	if err != nil || closed.Close() != nil {
		t.Fatal(err)
	}
	whole := s.open.file
	s.open.file = closed
	if err := s.Sync(); err == nil {
		t.Fatal("it is said to be safe")
	}
	s.entries[0].in.file = whole
	if got := s.Refs(); len(got) != 1 || got[0] != ref(1) {
		t.Fatalf("kept are %v", got)
	}
	if err := put(s, ref(2), result(ref(2))); err != nil {
		t.Fatal(err)
	}
	if got := open(t, dir).Refs(); len(got) != 2 || got[1] != ref(2) {
		t.Errorf("after a restart: %v", got)
	}
}

const spoolDirEnv = "SPOOL_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(spoolDirEnv); dir != "" {
		writeForEver(dir)
	}
	os.Exit(m.Run())
}

// writeForEver spools results and says after each that it is safe, until killed.
func writeForEver(dir string) {
	s, err := Open(dir, nil)
	for n := 1; err == nil; n++ {
		if err = put(s, ref(n), result(ref(n))); err == nil {
			fmt.Println(n)
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

func TestSpool_WhatWasAnsweredSurvivesKill9(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for round := range 5 {
		_ = os.RemoveAll(dir)
		child := exec.Command(self)
		child.Env = append(os.Environ(), spoolDirEnv+"="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		safe := 0
		for lines := bufio.NewScanner(out); lines.Scan(); safe++ {
			if safe == 3+round*7 {
				_ = child.Process.Kill()
			}
		}
		_ = child.Wait()
		checkSurvived(t, dir, safe)
	}
}

func checkSurvived(t *testing.T, dir string, safe int) {
	t.Helper()
	s := open(t, dir)
	refs := s.Refs()
	if len(refs) < safe || len(refs) > safe+1 {
		t.Fatalf("%d results on the disk, %d were said to be safe", len(refs), safe)
	}
	for i, r := range refs {
		if r != ref(i+1) {
			t.Fatalf("result %d is %v", i, r)
		}
		if _, err := s.Get(r); err != nil {
			t.Fatal(err)
		}
	}
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), suffix) {
			t.Errorf("litter after reopening: %s", f.Name())
		}
	}
}
