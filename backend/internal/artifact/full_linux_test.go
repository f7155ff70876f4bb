package artifact

import (
	"bytes"
	"testing"

	"golang.org/x/sys/unix"

	"rockpool/backend/internal/core/fleet"
)

// A full disk passes: what came of an upload in parts stays, and goes on once there
// is room.
func TestFullDisk_RefusesUntilThereIsRoom(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small disk can't be mounted here (%v): run it as root", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	s := openAt(t, dir, Limits{File: 1 << 30})
	content := bytes.Repeat([]byte("x"), 2<<20)
	if _, err := s.receive(Upload{Size: 2 << 20}, bytes.NewReader(content)); code(err) != fleet.CodeUnavailable || left(t, s) != 0 {
		t.Fatalf("a whole file: %v, %d are left", err, left(t, s))
	}
	u := Upload{Size: 2 << 20, Sender: "ann", Digest: digestOf(string(content))}
	if _, err := s.receive(u, bytes.NewReader(content)); code(err) != fleet.CodeUnavailable {
		t.Fatalf("in parts: %v", err)
	}
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT, "size=8m"); err != nil {
		t.Fatal(err)
	}
	var err error
	if u.Offset, err = s.Offset(u.Sender, u.Digest); err != nil || u.Offset == 0 {
		t.Fatalf("it goes on at %d, %v", u.Offset, err)
	}
	if got, err := s.receive(u, bytes.NewReader(content[u.Offset:])); err != nil || !got.Whole {
		t.Fatalf("the rest: %+v, %v", got, err)
	}
	wantContent(t, s, u.Digest, content)
}
