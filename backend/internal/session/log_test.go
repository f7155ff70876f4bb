package session

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/shared/wire"
)

// book is a log that tests may read while it is written.
type book struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *book) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *book) count(what string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.text.String(), what)
}

// newBookRig is a rig whose clock stands still and whose log is kept.
func newBookRig(t *testing.T) (*rig, *book) {
	frozen, log := time.Now(), &book{}
	return newRig(t, func(c *Config) {
		c.Now = func() time.Time { return frozen }
		c.Logger = slog.New(slog.NewTextHandler(log, nil))
	}), log
}

// sync waits until all that was said before is taken.
func (a *agent) sync() {
	a.t.Helper()
	a.say(wire.Goodbye{Kind: wire.GoodbyeStop})
	a.ended()
}

func TestRotated_IsBelievedOnceAndOfTheChangeThatWasTold(t *testing.T) {
	r, log := newBookRig(t)
	a := r.join("ams-1", r.node("ams-1"))
	a.say(wire.Rotated{ID: "rot-1"})
	r.loop.await(t, "alive ams-1 1")
	r.hub.Deliver([]core.Send{{Kind: core.SendRotate, Node: "ams-1", Epoch: 1, Rotate: "rot-1"}})
	hear[wire.Rotate](a)
	for _, id := range []string{"rot-0", "rot-1", "rot-1"} {
		a.say(wire.Rotated{ID: id})
	}
	a.sync()
	if n := log.count("node has a new secret"); n != 1 {
		t.Errorf("%d new secrets are in the log", n)
	}
	if n := r.hub.Counts().StrayRotated; n != 3 {
		t.Errorf("%d stray words are counted, want 3", n)
	}
}

// Audit entries stay for ever: a node that returns with its claims leaves a few.
func TestAudit_HoldsAFewEntriesOfEachNode(t *testing.T) {
	r, _ := newBookRig(t)
	for _, id := range []string{"ams-1", "ams-2"} {
		secret, hello := r.node(id), helloFrom(id)
		hello.Role, hello.Labels = "origin", []wire.Pair{{Name: "pool", Value: "gold"}}
		for range 2 * auditsAtOnce {
			a := r.dial(bearer(secret))
			a.say(hello)
			hear[wire.Welcome](a)
			a.sync()
		}
	}
	entries := map[string]int{}
	for _, note := range r.loop.notes() {
		entries[note.Action+" "+note.Node]++
	}
	for _, want := range []string{"claimed_pool_ignored ams-1", "claimed_role_ignored ams-1", "claimed_pool_ignored ams-2", "claimed_role_ignored ams-2"} {
		if entries[want] != auditsAtOnce {
			t.Errorf("%d entries %s, want %d", entries[want], want, auditsAtOnce)
		}
	}
	if n := r.hub.Counts().Unwritten; n != 4*auditsAtOnce {
		t.Errorf("%d are counted", n)
	}
}

// What a node repeats, within its session and with ever new ones, fills no log.
func TestLog_HoldsAFewLinesOfEachNode(t *testing.T) {
	r, log := newBookRig(t)
	secret := r.node("ams-1")
	a := r.join("ams-1", secret)
	for range 5 * linesAtOnce {
		a.say(wire.Error{Code: "internal", Detail: strings.Repeat("x", 900)})
	}
	a.sync()
	for range 3 {
		b := r.join("ams-1", secret)
		b.say(wire.Welcome{})
		b.ended()
	}
	if n := log.count("node=ams-1"); n != linesAtOnce {
		t.Errorf("%d lines, want %d", n, linesAtOnce)
	}
	if n := r.hub.Counts().Unwritten; n != 4*linesAtOnce+3 {
		t.Errorf("%d lines are counted", n)
	}
	c := r.join("ams-2", r.node("ams-2"))
	c.say(wire.Error{Code: "internal", Detail: "no disk"})
	c.sync()
	if log.count("no disk") != 1 {
		t.Error("another node's line is missing")
	}
}
