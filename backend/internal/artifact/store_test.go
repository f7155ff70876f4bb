package artifact

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
)

func open(t testing.TB, max int64) *Store {
	t.Helper()
	s, err := Open(t.TempDir(), max)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func code(err error) fleet.Code {
	var known *fleet.Error
	if errors.As(err, &known) {
		return known.Code
	}
	return ""
}

func left(t testing.TB, s *Store) int {
	t.Helper()
	entries, err := os.ReadDir(s.incoming())
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestPut_WhatWasPutIsWhatIsGot(t *testing.T) {
	s := open(t, 1<<16)
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.SliceOfN(rapid.Byte(), 0, 4096).Draw(t, "content")
		sum := sha256.Sum256(content)
		digest, size, err := s.Put(iotest.OneByteReader(bytes.NewReader(content)), DigestOf(sum[:]))
		if err != nil || size != int64(len(content)) || digest != DigestOf(sum[:]) {
			t.Fatalf("put: %s %d %v", digest, size, err)
		}
		file, err := s.Get(digest)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, content) {
			t.Fatalf("got %d bytes, %v", len(got), err)
		}
	})
	if n := left(t, s); n != 0 {
		t.Errorf("%d unfinished uploads are left", n)
	}
}

func TestPut_LeavesNothingOfARefusedUpload(t *testing.T) {
	broken := errors.New("connection reset")
	cases := []struct {
		name      string
		body      io.Reader
		announced Digest
		code      fleet.Code
	}{
		{"Attack_A54_NeverEnding", endless{}, "", fleet.CodeTooLarge},
		{"one byte over", strings.NewReader(strings.Repeat("x", 65)), "", fleet.CodeTooLarge},
		{"another digest", strings.NewReader("a"), DigestOf(make([]byte, 32)), fleet.CodeUnprocessable},
		{"broken connection", io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken)), "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, 64)
			_, _, err := s.Put(c.body, c.announced)
			if err == nil || code(err) != c.code {
				t.Errorf("error %v, want code %q", err, c.code)
			}
			if n := left(t, s); n != 0 {
				t.Errorf("%d unfinished uploads are left", n)
			}
		})
	}
}

func TestPut_AtTheBoundIsTaken(t *testing.T) {
	s := open(t, 64)
	if _, size, err := s.Put(strings.NewReader(strings.Repeat("x", 64)), ""); err != nil || size != 64 {
		t.Errorf("size %d, error %v", size, err)
	}
}

func TestPut_ManyOfTheSameAtOnce(t *testing.T) {
	s := open(t, 1<<20)
	content := strings.Repeat("same", 1000)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, _, err := s.Put(strings.NewReader(content), ""); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestPut_HealsADamagedFile(t *testing.T) {
	s := open(t, 64)
	digest, _, err := s.Put(strings.NewReader("good"), "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.path(digest), []byte("bad"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Put(strings.NewReader("good"), digest); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(s.path(digest)); string(got) != "good" {
		t.Errorf("the file reads %q", got)
	}
}

func TestOpen_DropsUnfinishedUploads(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "incoming"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "incoming", "upload-1"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(root, 64)
	if err != nil {
		t.Fatal(err)
	}
	if n := left(t, s); n != 0 {
		t.Errorf("%d unfinished uploads are left", n)
	}
}

func TestGet_GoneIsNotFound(t *testing.T) {
	if _, err := open(t, 64).Get(DigestOf(make([]byte, 32))); code(err) != fleet.CodeNotFound {
		t.Errorf("error %v", err)
	}
}

func TestParseDigest_OneSpelling(t *testing.T) {
	good := "sha256:" + strings.Repeat("0a", 32)
	if d, ok := ParseDigest(good); !ok || string(d) != good {
		t.Errorf("%q was refused", good)
	}
	for _, bad := range []string{
		"", "sha256:", strings.Repeat("0a", 32), "sha256:" + strings.Repeat("0A", 32), "sha512:" + strings.Repeat("0a", 32),
		"sha256:" + strings.Repeat("0a", 31), "sha256:../../" + strings.Repeat("0a", 29), "sha256:" + strings.Repeat("0g", 32), good + "\n",
	} {
		if _, ok := ParseDigest(bad); ok {
			t.Errorf("%q was taken", bad)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
