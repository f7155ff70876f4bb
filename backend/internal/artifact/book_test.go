package artifact

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
)

// An upload that announces less than it has sent would keep the bytes and give back
// the room.
func TestReceive_ALaterAnnouncementMakesNoRoom(t *testing.T) {
	s := open(t, Limits{File: 64, Owner: 10, Total: 10})
	digest := digestOf("nine bytes of nine")
	first := Upload{Owner: 1, Size: 9, Digest: digest, Sender: "ann"}
	if _, err := s.receive(first, strings.NewReader("8 bytes.")); err != nil {
		t.Fatal(err)
	}
	less := first
	less.Size = 1
	second := Upload{Owner: 1, Size: 9, Digest: digestOf("another"), Sender: "ann"}
	if _, err := s.receive(less, strings.NewReader("x")); code(err) != fleet.CodeConflict || !strings.Contains(err.Error(), "begin anew") {
		t.Errorf("another size: %v", err)
	}
	if offset, err := s.Offset("ann", digest); err != nil || offset != 0 || left(t, s) != 0 {
		t.Errorf("%d bytes are left of it, %v: want a new beginning", offset, err)
	}
	if _, err := s.receive(first, strings.NewReader("8 bytes.")); err != nil {
		t.Fatal(err)
	}
	wrong := first
	wrong.Offset = 3
	if _, err := s.receive(wrong, strings.NewReader("x")); code(err) != fleet.CodeConflict {
		t.Errorf("another offset: %v", err)
	}
	if _, err := s.receive(second, strings.NewReader("8 bytes.")); code(err) != fleet.CodeStorageFull {
		t.Errorf("a second file beside 9 of 10 bytes: %v", err)
	}
}

// What broke off before a restart is its owner's afterwards, with all that was
// announced of it.
func TestOpen_WhatBrokeOffCountsAsBefore(t *testing.T) {
	limits := Limits{File: 64, Owner: 10}
	s := open(t, limits)
	if _, err := s.receive(Upload{Owner: 1, Size: 9, Digest: digestOf("a"), Sender: "ann"}, strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, s.root, limits)
	if _, err := s.receive(Upload{Owner: 1, Size: 2, Digest: digestOf("b"), Sender: "ann"}, strings.NewReader("x")); code(err) != fleet.CodeStorageFull {
		t.Errorf("beside 9 of 10 bytes: %v", err)
	}
	if _, err := s.receive(Upload{Owner: 2, Size: 9, Digest: digestOf("b"), Sender: "bob"}, strings.NewReader("x")); err != nil {
		t.Errorf("another owner: %v", err)
	}
}

func TestOpen_TheMostUnfinishedUploadsAreTheMostAfterARestart(t *testing.T) {
	s := open(t, Limits{File: 64})
	begin := func(i int) error {
		_, err := s.receive(Upload{Owner: 1, Size: 2, Digest: digestOf(strconv.Itoa(i)), Sender: "ann"}, strings.NewReader("x"))
		return err
	}
	for i := range maxUnfinished {
		if i == maxUnfinished/2 {
			s = openAt(t, s.root, Limits{File: 64})
		}
		if err := begin(i); err != nil {
			t.Fatalf("upload %d: %v", i, err)
		}
	}
	if err := begin(maxUnfinished); code(err) != fleet.CodeStorageFull {
		t.Errorf("one more: %v", err)
	}
	if err := begin(0); code(err) != fleet.CodeConflict { // of its offset
		t.Errorf("one of them: %v", err)
	}
}

// crowd is owners that do to their uploads what they like.
type crowd struct {
	s     *Store
	known *rows
	root  string
	size  [8]int64 // what each file really has
}

var crowdLimits = Limits{File: 40, Owner: 60, Total: 100}

func (c *crowd) content(file int) string {
	return strings.Repeat(strconv.Itoa(file), int(c.size[file]))
}

func (c *crowd) open(t *rapid.T) {
	var err error
	if c.s, err = Open(c.root, crowdLimits, c.known); err != nil {
		t.Fatal(err)
	}
}

// send announces what is true or not, from an offset that is true or not, and is cut
// or ends, in the midst or not.
func (c *crowd) send(t *rapid.T) {
	file := rapid.IntRange(0, len(c.size)-1).Draw(t, "file")
	u := Upload{Owner: rapid.Int64Range(1, 3).Draw(t, "owner"), Digest: digestOf(c.content(file)), Size: c.size[file]}
	if rapid.Bool().Draw(t, "in parts") {
		u.Sender = fmt.Sprint("user ", u.Owner)
		var err error
		if u.Offset, err = c.s.Offset(u.Sender, u.Digest); err != nil {
			t.Fatal(err)
		}
	}
	if rapid.IntRange(0, 2).Draw(t, "lies") == 0 {
		u.Size = rapid.Int64Range(0, 45).Draw(t, "size")
		u.Offset = rapid.Int64Range(0, 45).Draw(t, "offset")
	}
	rest := c.content(file)[min(u.Offset, c.size[file]):]
	rest += strings.Repeat("x", rapid.SampledFrom([]int{0, 0, 0, 1, 60}).Draw(t, "more"))
	body := io.Reader(strings.NewReader(rest[:len(rest)-rapid.IntRange(0, len(rest)).Draw(t, "cut")]))
	if rapid.Bool().Draw(t, "broken") {
		body = io.MultiReader(body, iotest.ErrReader(errBroken))
	}
	_, err := c.s.receive(u, body)
	if err != nil && code(err) == "" && !errors.Is(err, errBroken) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
}

// forget drops one of the uploads, as if nothing came of it for long.
func (c *crowd) forget(t *rapid.T) {
	entries, err := os.ReadDir(c.s.incoming())
	if err != nil || len(entries) == 0 {
		t.Skip("nothing broke off")
	}
	name := entries[rapid.IntRange(0, len(entries)-1).Draw(t, "which")].Name()
	now := time.Now()
	if err := os.Chtimes(filepath.Join(c.s.incoming(), name), now, now.Add(-48*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if swept, err := c.s.Sweep(t.Context(), now.Add(-24*time.Hour)); err != nil || swept.Uploads != 1 {
		t.Fatalf("swept %+v, %v", swept, err)
	}
}

// check reads the disk and asks each owner's offsets: the book says no less, and
// nothing is over the bounds.
func (c *crowd) check(t *rapid.T) {
	disk, booked := total(t, c.s), c.s.book.files
	err := each(c.s.incoming(), func(info fs.FileInfo) error { disk += info.Size(); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if booked != total(t, c.s) {
		t.Fatalf("%d bytes are counted as kept, there are %d", booked, total(t, c.s))
	}
	for _, e := range c.s.book.uploads {
		booked += e.size
		if e.busy {
			t.Fatalf("%+v is busy, and nobody sends", e)
		}
	}
	if disk > booked || booked > crowdLimits.Total {
		t.Fatalf("%d bytes are there, %d are counted, the bound is %d", disk, booked, crowdLimits.Total)
	}
	for owner := int64(1); owner <= 3; owner++ {
		c.checkOwner(t, owner)
	}
}

func (c *crowd) checkOwner(t *rapid.T, owner int64) {
	there, booked := int64(0), c.known.owned[owner]
	for file := range c.size {
		offset, err := c.s.Offset(fmt.Sprint("user ", owner), digestOf(c.content(file)))
		if err != nil {
			t.Fatal(err)
		}
		there += offset
	}
	there += c.known.owned[owner]
	for _, e := range c.s.book.uploads {
		if e.owner == owner {
			booked += e.size
		}
	}
	if there > booked || booked > crowdLimits.Owner {
		t.Fatalf("owner %d has %d bytes, %d are counted, the bound is %d", owner, there, booked, crowdLimits.Owner)
	}
}

// Whatever is announced, cut, begun anew, finished, forgotten, and if the server
// restarts in between: all that lies on the disk is counted, and within the bounds.
func TestBook_CountsWhatLiesOnTheDisk(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		root, err := os.MkdirTemp(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		c := &crowd{known: &rows{owned: map[int64]int64{}, noted: map[Digest]bool{}}, root: root}
		for i := range c.size {
			c.size[i] = rapid.Int64Range(1, 40).Draw(t, "real size")
		}
		c.open(t)
		t.Repeat(map[string]func(*rapid.T){
			"send": c.send, "send on": c.send, "restart": c.open, "forget": c.forget, "": c.check,
		})
	})
}
