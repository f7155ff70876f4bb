package spool

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
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

func open(t *testing.T, dir string) *Spool {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSpool_KeepsOrderAndContentOverRestarts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	var want []nodecore.Ref
	for n := 30; n > 0; n-- {
		if n%10 == 0 {
			want = append(want, ref(n))
			if err := open(t, dir).Put(ref(n), result(ref(n))); err != nil { // each by a process of its own
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
			if err := s.Put(ref(n+1), result(ref(n+1))); err != nil {
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
	if err := errors.Join(s.Put(ref(1), result(ref(1))), s.Put(ref(1), second)); err != nil {
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
	if err := s.Put(ref(1), huge); err == nil || len(s.Refs()) != 0 {
		t.Errorf("an oversized result was spooled: %v", err)
	}
}

func TestSpool_SpoiltFileIsSetAside(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if err := s.Put(ref(1), result(ref(1))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, s.entries[0].name())
	if err := os.WriteFile(path, []byte{0xdd, 0xff, 0xff, 0xff, 0xff}, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(ref(1)); !errors.Is(err, ErrUnreadable) {
		t.Fatalf("error %v", err)
	}
	if _, err := os.Stat(path + spoilt); err != nil || len(open(t, dir).Refs()) != 0 {
		t.Errorf("not set aside: %v", err)
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
	s, err := Open(dir)
	for n := 1; err == nil; n++ {
		if err = s.Put(ref(n), result(ref(n))); err == nil {
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
