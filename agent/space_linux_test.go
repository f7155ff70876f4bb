package agent

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
)

// smallDisk is a disk of 16 MiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("a small disk can't be mounted here (%v): run it as root", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill leaves no byte.
func fill(t *testing.T, dir string) (empty func()) {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range []int{1 << 20, 4 << 10, 1} {
		for err = nil; err == nil; {
			_, err = file.Write(make([]byte, piece))
		}
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	_ = file.Close()
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// A node whose disk is full says so, takes no work and keeps its sessions and its
// running job.
func TestFullDisk_TheNodeStaysAndSaysSo(t *testing.T) {
	t.Parallel()
	c := newControl(t, nil)
	cfg := testConfig(t, c.server.URL)
	dir, job := smallDisk(t), t.TempDir()
	cfg.StateDir, cfg.DiskFree = filepath.Join(dir, "state"), 4<<20
	n := begin(t, cfg)
	s := c.welcome()
	s.beat("it takes work", func(b wire.Heartbeat) bool { return b.Accepting })
	s.run(offerOf(1, "tool", toolPayload("until", job)))
	started(t, job)
	log := filepath.Join(cfg.StateDir, "jobs", jobID(1)+"-1", "log")
	await(t, "the job's log", func() bool { return exists(log) })

	empty := fill(t, dir)
	s.beat("its disk is full", func(b wire.Heartbeat) bool {
		return !b.Accepting && b.Reason == nodecore.ReasonDiskFull && len(b.Running) == 1
	})
	s.send(offerOf(2, "checksum", wire.Payload{}))
	if d := expect[wire.Decline](s); d.Reason != nodecore.ReasonDiskFull {
		t.Errorf("declined for %s", d.Reason)
	}
	release(t, job) // what its log frees is room enough for its result
	r := expect[wire.Result](s)
	if r.Status != wire.ResultSucceeded {
		t.Errorf("result %+v", r)
	}
	fill(t, dir)

	s.conn.CloseNow()
	again := c.welcome()
	for range 3 {
		again.beat("what the welcome brought can't be stored", func(b wire.Heartbeat) bool {
			return b.Unsaved && !b.Accepting && b.Reason == nodecore.ReasonStateFailing
		})
	}
	again.ackResult(expect[wire.Result](again), wire.VerdictStored)
	empty()
	again.beat("all is well again", func(b wire.Heartbeat) bool { return !b.Unsaved && b.Accepting && b.Spooled == 0 })
	n.stop()
	begin(t, cfg)
	if last := c.welcome(); last.hello.Chain != chainOf(2) {
		t.Errorf("the next hello says %q", last.hello.Chain)
	}
}

// An agent that is killed on a full disk and starts again is the same node.
func TestFullDisk_ARestartIsTheSameNode(t *testing.T) {
	t.Parallel()
	c := newControl(t, nil)
	cfg := testConfig(t, c.server.URL)
	dir := smallDisk(t)
	cfg.StateDir, cfg.DiskFree = filepath.Join(dir, "state"), 4<<20
	n := begin(t, cfg)
	c.welcome().beat("it takes work", func(b wire.Heartbeat) bool { return b.Accepting })
	n.stop()
	empty := fill(t, dir)
	n = begin(t, cfg)
	s := c.welcome()
	if s.hello.Chain != chainOf(1) || s.hello.LastEpoch != 1 {
		t.Errorf("hello says chain %q and epoch %d", s.hello.Chain, s.hello.LastEpoch)
	}
	s.beat("it takes none", func(b wire.Heartbeat) bool { return b.Unsaved && !b.Accepting })
	n.stop()
	n = begin(t, cfg)
	s = c.welcome()
	if s.hello.Chain != chainOf(1) {
		t.Errorf("the second hello says chain %q", s.hello.Chain)
	}
	empty()
	s.beat("it takes work again", func(b wire.Heartbeat) bool { return !b.Unsaved && b.Accepting })
	n.stop()
}
