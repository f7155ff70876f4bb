package artifact

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
)

func TestReceive_WhatWasPutIsWhatIsGot(t *testing.T) {
	s := open(t, Limits{File: 1 << 16})
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.SliceOfN(rapid.Byte(), 0, 4096).Draw(t, "content")
		sum := sha256.Sum256(content)
		u := Upload{Digest: DigestOf(sum[:]), Size: int64(len(content))}
		got, err := s.receive(u, iotest.OneByteReader(bytes.NewReader(content)))
		if err != nil || !got.Whole || got.Size != u.Size || got.Digest != u.Digest {
			t.Fatalf("receive: %+v %v", got, err)
		}
		wantContent(t, s, got.Digest, content)
	})
	if n := left(t, s); n != 0 {
		t.Errorf("%d unfinished uploads are left", n)
	}
}

func wantContent(t interface{ Fatalf(string, ...any) }, s *Store, digest Digest, content []byte) {
	file, err := s.Get(digest)
	if err != nil {
		t.Fatalf("get: %v", err)
	}
	defer file.Close()
	if got, err := io.ReadAll(file); err != nil || !bytes.Equal(got, content) {
		t.Fatalf("got %d bytes, %v", len(got), err)
	}
}

var errBroken = errors.New("connection reset")

func TestReceive_LeavesNothingOfARefusedUpload(t *testing.T) {
	cases := []struct {
		name   string
		body   io.Reader
		upload Upload
		code   fleet.Code
	}{
		{"Attack_A54_NeverEnding", endless{}, Upload{Size: 10}, fleet.CodeTooLarge},
		{"Attack_A54_NeverEndingInParts", endless{}, Upload{Size: 10, Sender: "ann", Digest: digestOf("")}, fleet.CodeTooLarge},
		{"announced over the bound", strings.NewReader("x"), Upload{Size: 65}, fleet.CodeTooLarge},
		{"another digest", strings.NewReader("a"), Upload{Size: 1, Digest: digestOf("b")}, fleet.CodeUnprocessable},
		{"another digest in parts", strings.NewReader("a"), Upload{Size: 1, Sender: "ann", Digest: digestOf("b")}, fleet.CodeUnprocessable},
		{"an offset of nothing", strings.NewReader("a"), Upload{Size: 2, Offset: 1, Sender: "ann", Digest: digestOf("b")}, fleet.CodeConflict},
		{"an offset behind the end", strings.NewReader("a"), Upload{Size: 2, Offset: 3, Sender: "ann", Digest: digestOf("b")}, fleet.CodeBadRequest},
		{"broken connection", io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errBroken)), Upload{Size: 8}, ""},
		{"shorter than announced", strings.NewReader("half"), Upload{Size: 8}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, Limits{File: 64})
			_, err := s.receive(c.upload, c.body)
			if err == nil || code(err) != c.code {
				t.Errorf("error %v, want code %q", err, c.code)
			}
			if n := left(t, s); n != 0 || len(s.book.uploads) != 0 {
				t.Errorf("%d unfinished uploads are left, %d are counted", n, len(s.book.uploads))
			}
		})
	}
}

// Whatever is cut where, and if the server dies in between: what is there in the end
// is the file, and nothing stands under its name before.
func TestReceive_GoesOnWhereItBrokeOff(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		root, err := os.MkdirTemp(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		content := rapid.SliceOfN(rapid.Byte(), 1, 4096).Draw(t, "content")
		sum := sha256.Sum256(content)
		u := Upload{Owner: 1, Digest: DigestOf(sum[:]), Size: int64(len(content)), Sender: "s" + rapid.String().Draw(t, "sender")}
		s, err := Open(root, Limits{File: 1 << 16}, &rows{owned: map[int64]int64{}, noted: map[Digest]bool{}})
		if err != nil {
			t.Fatal(err)
		}
		for whole := false; !whole; {
			if rapid.Bool().Draw(t, "restart") {
				if s, err = Open(root, Limits{File: 1 << 16}, s.rows); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.Get(u.Digest); code(err) != fleet.CodeNotFound {
				t.Fatalf("a part is taken for the whole: %v", err)
			}
			if u.Offset, err = s.Offset(u.Sender, u.Digest); err != nil {
				t.Fatal(err)
			}
			cut := rapid.Int64Range(u.Offset, u.Size).Draw(t, "cut")
			body := io.Reader(bytes.NewReader(content[u.Offset:cut]))
			if rapid.Bool().Draw(t, "broken") {
				body = io.MultiReader(body, iotest.ErrReader(errBroken))
			}
			got, err := s.receive(u, body)
			if err != nil && !errors.Is(err, errBroken) {
				t.Fatal(err)
			}
			whole = got.Whole
		}
		wantContent(t, s, u.Digest, content)
		if entries, _ := os.ReadDir(s.incoming()); len(entries) != 0 || s.book.files != total(t, s) {
			t.Fatalf("%d uploads are left, %d bytes are counted", len(entries), s.book.files)
		}
	})
}

// total adds up what is on the disk.
func total(t interface{ Fatalf(string, ...any) }, s *Store) (bytes int64) {
	err := s.eachFolder(func(dir string) error {
		return each(dir, func(info fs.FileInfo) error { bytes += info.Size(); return nil })
	})
	if err != nil {
		t.Fatalf("add up: %v", err)
	}
	return bytes
}

func TestReceive_PartsOfAnotherFileAreNoFile(t *testing.T) {
	s := open(t, Limits{File: 64})
	u := Upload{Digest: digestOf("good"), Size: 4, Sender: "ann"}
	if got, err := s.receive(u, strings.NewReader("ba")); err != nil || got.Whole || got.Size != 2 {
		t.Fatalf("the first part: %+v, %v", got, err)
	}
	if _, err := s.receive(u, strings.NewReader("good")); code(err) != fleet.CodeConflict {
		t.Errorf("from the beginning although two bytes are there: %v", err)
	}
	if offset, err := s.Offset("bob", u.Digest); err != nil || offset != 0 {
		t.Errorf("another sender goes on at %d, %v", offset, err)
	}
	u.Offset = 2
	if _, err := s.receive(u, strings.NewReader("od")); code(err) != fleet.CodeConflict {
		t.Errorf("parts of another file: %v", err)
	}
	if offset, err := s.Offset("ann", u.Digest); err != nil || offset != 0 {
		t.Errorf("it goes on at %d, %v: want a new beginning", offset, err)
	}
}

func TestReceive_OneConnectionAtATime(t *testing.T) {
	s := open(t, Limits{File: 64})
	u := Upload{Digest: digestOf("good"), Size: 4, Sender: "ann"}
	from, to := io.Pipe()
	done := make(chan error)
	go func() {
		_, err := s.receive(u, from)
		done <- err
	}()
	if _, err := io.WriteString(to, "go"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.receive(u, strings.NewReader("good")); code(err) != fleet.CodeConflict {
		t.Errorf("a second connection: %v", err)
	}
	if _, err := io.WriteString(to, "od"); err != nil {
		t.Fatal(err)
	}
	_ = to.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	wantContent(t, s, u.Digest, []byte("good"))
}

func TestReceive_Bounds(t *testing.T) {
	cases := []struct {
		name   string
		limits Limits
		upload Upload
		code   fleet.Code
	}{
		{"at the owner's bound", Limits{File: 64, Owner: 10}, Upload{Owner: 1, Size: 6}, ""},
		{"over the owner's bound", Limits{File: 64, Owner: 10}, Upload{Owner: 1, Size: 7}, fleet.CodeStorageFull},
		{"another owner's bound", Limits{File: 64, Owner: 10}, Upload{Owner: 2, Size: 8}, ""},
		{"over it with what broke off", Limits{File: 64, Owner: 10}, Upload{Owner: 2, Size: 9}, fleet.CodeStorageFull},
		{"at the bound of all", Limits{File: 64, Total: 12}, Upload{Owner: 3, Size: 6}, ""},
		{"over the bound of all", Limits{File: 64, Total: 12}, Upload{Owner: 3, Size: 7}, fleet.CodeStorageFull},
		{"no bound", Limits{File: 64}, Upload{Owner: 1, Size: 60}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, c.limits)
			if _, err := s.whole("four"); err != nil {
				t.Fatal(err)
			}
			if _, err := s.receive(Upload{Owner: 2, Size: 2, Digest: digestOf("zz"), Sender: "bob"}, strings.NewReader("z")); err != nil {
				t.Fatal(err)
			}
			_, err := s.receive(c.upload, strings.NewReader(strings.Repeat("x", int(c.upload.Size))))
			if code(err) != c.code || (err == nil) != (c.code == "") {
				t.Errorf("error %v, want code %q", err, c.code)
			}
			if want := map[bool]int64{true: 4 + c.upload.Size, false: 4}[c.code == ""]; s.book.files != want || len(s.book.uploads) != 1 {
				t.Errorf("%d bytes and %d uploads are counted, want %d and what broke off", s.book.files, len(s.book.uploads), want)
			}
			again := openAt(t, s.root, c.limits)
			if again.book.files != s.book.files || len(again.book.uploads) != 1 {
				t.Errorf("after a restart %d bytes and %d uploads are counted", again.book.files, len(again.book.uploads))
			}
		})
	}
}

// Two at once never pass together where one alone may.
func TestReceive_TheBoundHoldsUnderManyAtOnce(t *testing.T) {
	s := open(t, Limits{File: 64, Owner: 100})
	var all sync.WaitGroup
	for i := range 40 {
		text := strings.Repeat(string(rune('a'+i%26)), 9) + string(rune('a'+i/26))
		all.Go(func() {
			if _, err := s.whole(text); err != nil && code(err) != fleet.CodeStorageFull {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if kept := total(t, s); kept > 100 || kept == 0 || kept != s.book.files {
		t.Errorf("%d bytes are kept, %d are counted, the bound is 100", kept, s.book.files)
	}
}

func TestReceive_ManyOfTheSameAtOnceCountOnce(t *testing.T) {
	s := open(t, Limits{File: 1 << 20})
	content := strings.Repeat("same", 1000)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := s.whole(content); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if s.book.files != 4000 {
		t.Errorf("%d bytes are counted", s.book.files)
	}
}

func TestReceive_HealsADamagedFile(t *testing.T) {
	s := open(t, Limits{File: 64})
	got, err := s.whole("good")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.path(got.Digest), []byte("bad"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.whole("good"); err != nil {
		t.Fatal(err)
	}
	wantContent(t, s, got.Digest, []byte("good"))
}

func TestOpen_DropsUploadsThatCantGoOn(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "incoming"), 0o700); err != nil {
		t.Fatal(err)
	}
	key := strings.Repeat("0a", 32)
	for _, name := range []string{"upload-1.1.8.part", key + ".1.3.part", key + ".part", key + ".1.x.part", "else"} {
		if err := os.WriteFile(filepath.Join(root, "incoming", name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n := left(t, openAt(t, root, Limits{File: 64})); n != 0 {
		t.Errorf("%d unfinished uploads are left", n)
	}
}

func TestSweep_RemovesWhatNobodyNamesAndWhatBrokeOffLongAgo(t *testing.T) {
	s := open(t, Limits{File: 64})
	kept, err := s.whole("kept")
	if err != nil {
		t.Fatal(err)
	}
	known := s.rows.(*rows)
	known.refuse = errBroken
	if _, err := s.whole("not noted"); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	for _, sender := range []string{"old", "new"} {
		if _, err := s.receive(Upload{Digest: digestOf("zz"), Size: 2, Sender: sender}, strings.NewReader("z")); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	old := s.partPath(s.keyOf(Upload{Digest: digestOf("zz"), Sender: "old"}), entry{size: 2})
	if err := os.Chtimes(old, now, now.Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	swept, err := s.Sweep(t.Context(), now.Add(-time.Hour))
	if want := (Swept{Files: 1, Uploads: 1, Bytes: 10}); err != nil || swept != want {
		t.Errorf("swept %+v, %v, want %+v", swept, err, want)
	}
	wantContent(t, s, kept.Digest, []byte("kept"))
	if _, err := s.Get(digestOf("not noted")); code(err) != fleet.CodeNotFound {
		t.Errorf("what nobody names is there: %v", err)
	}
	if s.book.files != 4 || left(t, s) != 1 {
		t.Errorf("%d bytes are counted and %d uploads left", s.book.files, left(t, s))
	}
}

func TestGet_GoneIsNotFound(t *testing.T) {
	if _, err := open(t, Limits{File: 64}).Get(DigestOf(make([]byte, 32))); code(err) != fleet.CodeNotFound {
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
