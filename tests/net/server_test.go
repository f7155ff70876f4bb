package net

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// A fault of the control plane is nobody's on a node: whatever it is and however long
// it lasts, no node is lost, no job runs again, no alarm is raised.

// ownServer is one that a test may do anything to. Its leases are short: to stand
// still lasts longer than one. A busy machine stalls for less than the suspect time.
func ownServer(t *testing.T, settings ...string) *rig.Server {
	t.Helper()
	need(t)
	t.Parallel()
	settings = append([]string{"ROCKPOOL_LEASE_SUSPECT=10s", "ROCKPOOL_LEASE_LOST=20s"}, settings...)
	return rig.NewServer(t, slices.Concat(shortTimes, settings)...) // the last one counts
}

func TestServer_IsKilledAndStarts(t *testing.T) {
	// Who dialed in vain may wait for up to 30 s by the third time.
	h := newHouse(t, ownServer(t, "ROCKPOOL_LEASE_LOST=90s"), 2)
	h.begin()
	for range 2 {
		brief := h.submit("brief") // may be anywhere in its life
		h.s.Kill(t)
		killed := time.Now()
		h.s.Start(t)
		h.awaitFrozen("restart", killed, time.Since(killed)) // by the new process, at some moment of its start
		t.Logf("back after %v", h.awaitReady())
		h.await(brief.ID, "succeeded")
	}
	h.s.Stop(t)
	h.s.Start(t)
	t.Logf("back after a planned stop after %v", h.awaitReady())
	h.finish(0, 0)
}

// standstill is how long a part of the control plane stands still: three times the
// lost time of the leases.
const standstill = time.Minute

func TestCase_F4_TheServerStandsStill(t *testing.T) {
	h := newHouse(t, ownServer(t), 2)
	h.begin()
	halt(t, h.s.PID())
	halted := time.Now()
	wait(standstill)
	goOn(h.s.PID())
	h.awaitFrozen("standstill", halted, standstill/2)
	t.Logf("back after %v", h.awaitReady())
	h.finish(0, 0)
}

// The process lives and says that it takes no work; sessions are kept.
func TestCase_N32_PostgreSQLStandsStill(t *testing.T) {
	h := newHouse(t, ownServer(t), 2)
	h.begin()
	epochs := h.epochs()
	pids := h.s.Postgres(t)
	halt(t, pids...)
	began := time.Now()
	h.awaitHealth("/readyz", http.StatusServiceUnavailable)
	if f := h.awaitFrozen("database", began, standstill/2); f.Until != nil {
		t.Errorf("frozen until %v while the database is away", f.Until)
	}
	for time.Since(began) < standstill {
		h.awaitHealth("/livez", http.StatusOK)
		wait(time.Second)
	}
	goOn(pids...)
	h.awaitHealth("/readyz", http.StatusOK)
	rig.Await(t, patience, func() (bool, string) {
		return h.awaitFrozen("database", began, standstill/2).Until != nil, "frozen without an end although the database is back"
	})
	t.Logf("back after %v", h.awaitReady())
	h.finish(0, 0)
	if now := h.epochs(); !slices.Equal(now, epochs) {
		t.Errorf("sessions were %v and are %v", epochs, now)
	}
}

// awaitFrozen waits until health and the command line say since when the fleet is
// frozen: about that moment, give or take some time.
func (h *house) awaitFrozen(by string, since time.Time, about time.Duration) (f backendtest.Frozen) {
	h.t.Helper()
	nobody := h.s.Client(h.t, "")
	rig.Await(h.t, patience, func() (bool, string) {
		health, err := nobody.Ready(h.t.Context())
		if err != nil || health.Frozen == nil {
			return false, fmt.Sprintf("want frozen by %s: %+v %v", by, health, err)
		}
		f = *health.Frozen
		return f.By == by, fmt.Sprintf("want frozen by %s: %+v", by, f)
	})
	if off := f.Since.Sub(since).Abs(); off > about {
		h.t.Errorf("frozen since %v, %v from the fault", f.Since, off)
	}
	if said := h.s.Run(h.t, "", "admin", "ready"); !strings.Contains(said.Out, "fleet frozen since") {
		h.t.Errorf("rockpool admin ready prints %q, %q", said.Out, said.Err)
	}
	return f
}

// awaitHealth waits for the answer of a page of health.
func (h *house) awaitHealth(path string, status int) {
	h.t.Helper()
	asker := http.Client{Timeout: 5 * time.Second}
	rig.Await(h.t, patience, func() (bool, string) {
		answer, err := asker.Get(h.s.URL + path)
		if err != nil {
			return false, err.Error()
		}
		defer answer.Body.Close()
		return answer.StatusCode == status, fmt.Sprintf("%s answers %d, want %d", path, answer.StatusCode, status)
	})
}

// halt stops processes in their tracks; goOn lets them go on, as the test's end does.
func halt(t *testing.T, pids ...int) {
	t.Helper()
	t.Cleanup(func() { goOn(pids...) })
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatalf("stop process %d: %v", pid, err)
		}
	}
}

func goOn(pids ...int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGCONT) // it may have ended
	}
}

// wait is for what lasts: a standstill is nothing but time.
func wait(span time.Duration) { <-time.After(span) }
