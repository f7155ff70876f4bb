package runner

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"rockpool/shared/wire"
)

// newRigAlone has no control groups: what is found is found by its descent.
func newRigAlone(t *testing.T, spec Spec) *rig {
	t.Helper()
	r := newRig(t, spec, nil)
	if r.cgroups = nil; !household.adopts {
		t.Skip("the kernel does not list a process's children")
	}
	return r
}

// soak is more of a test for scripts/soak.
func soak(short, long int) int {
	if os.Getenv("ROCKPOOL_TEST_SOAK") != "" {
		return long
	}
	return short
}

// A tool takes TERM for nothing, and what it started twice over has a session, an
// environment and a name of its own. Each cancel has one effect and leaves nobody.
// A hundred rounds are for scripts/soak.
func TestCase_E1_WhatHidesIsCanceledToo(t *testing.T) {
	pids := t.TempDir()
	r := newRigAlone(t, tool("vanish", pids))
	for range soak(15, 100) {
		ref := r.start(wire.Payload{})
		there := running(t, pids, 4)
		r.Stop(ref, 10*time.Millisecond)
		r.Stop(ref, 10*time.Millisecond)
		if d := r.wait(); !d.Stopped || d.Ref != ref {
			t.Fatalf("ended with %+v", d)
		}
		mustBeDead(t, there)
		for _, pid := range there {
			_ = os.Remove(filepath.Join(pids, fmt.Sprint(pid)))
		}
	}
	if len(r.ended) > 0 || len(household.groups) > 0 {
		t.Errorf("%d more ends, %d groups are not forgotten", len(r.ended), len(household.groups))
	}
}

// Neither an ended first thread nor another parent hides a process.
func TestAttack_A58_NothingEscapesItsDescent(t *testing.T) {
	for _, how := range []string{"escape", "sibling", "behead"} {
		t.Run(how, func(t *testing.T) {
			pids := t.TempDir()
			if got := newRigAlone(t, tool(how, pids)).run(wire.Payload{}); got.Status != wire.ResultSucceeded {
				t.Errorf("%s %s", got.Status, got.Detail)
			}
			mustBeDead(t, running(t, pids, 1))
		})
	}
}

// Of two attempts at a time each takes along what it left, as far as that is known.
// What may be of either ends with the last of them.
func TestEnd_OfOneOfTwoAttemptsLeavesTheOthersProcesses(t *testing.T) {
	stays, pids, hides := t.TempDir(), t.TempDir(), t.TempDir()
	first := newRigAlone(t, tool("family", stays))
	ref := first.start(wire.Payload{})
	others := running(t, stays, 3)
	known := newRigAlone(t, tool("orphan", pids))
	known.run(wire.Payload{})
	mustBeDead(t, running(t, pids, 2))
	if len(known.folders.spare) != 1 {
		t.Error("a folder in which nobody is is not used again")
	}
	unknown := newRigAlone(t, tool("escape", hides))
	unknown.run(wire.Payload{})
	hidden := running(t, hides, 1)
	// It ends with its own attempt when that took so long that it was seen.
	if stat, ok := readStat(hidden[0]); ok && stat.lives() && len(unknown.folders.spare) != 0 {
		t.Error("a folder in which somebody may be yet is used again")
	}
	for _, pid := range others {
		if stat, ok := readStat(pid); !ok || !stat.lives() {
			t.Errorf("process %d ended with another's attempt", pid)
		}
	}
	first.Stop(ref, 0)
	first.wait()
	mustBeDead(t, append(hidden, others...))
}

func TestOwner_OfAnOrphan(t *testing.T) {
	first, second := &group{pgid: 71, since: 100}, &group{pgid: 72, since: 200, seen: map[int]string{0: "207"}}
	k := kin{session: 7, groups: []*group{first, second}}
	for name, c := range map[string]struct {
		orphan procStat
		want   *group
	}{
		"in the session of one":           {procStat{session: 71, start: "250"}, first},
		"in the process group of one":     {procStat{session: 9, pgid: 72, start: "250"}, second},
		"seen below one":                  {procStat{session: 9, start: "207"}, second},
		"in this process's session":       {procStat{session: 7, start: "150"}, nil},
		"born while one ran":              {procStat{session: 9, start: "150"}, first},
		"born while both ran":             {procStat{session: 9, start: "250"}, nil},
		"born before the first of them":   {procStat{session: 9, start: "99"}, nil},
		"born in one's first moment":      {procStat{session: 9, start: "100"}, first},
		"the number of one that was seen": {procStat{session: 9, start: "208"}, nil},
		"in the other's, seen below one":  {procStat{session: 72, start: "207"}, second},
	} {
		if got := k.owner(c.orphan); got != c.want {
			t.Errorf("%s: of %+v, want %+v", name, got, c.want)
		}
	}
	k.groups = []*group{second}
	if k.owner(procStat{session: 9, start: "250"}) != second {
		t.Error("what two may have left is not the last one's")
	}
}

// What was seen below an attempt is known to be its own when it has hidden.
func TestEnd_KnowsWhomItHasSeen(t *testing.T) {
	stays, pids := t.TempDir(), t.TempDir()
	other := newRigAlone(t, tool("sleep", stays))
	ref := other.start(wire.Payload{})
	running(t, stays, 1)
	r := newRigAlone(t, sh(fmt.Sprintf(`env -i setsid %s helper stray %s & until test -e seen; do sleep 0.01; done; echo > clip`, os.Args[0], pids)))
	r.start(wire.Payload{})
	hidden := running(t, pids, 1)
	household.mu.Lock()
	groups := slices.Clone(household.groups)
	household.mu.Unlock()
	for _, g := range groups {
		g.usage()
	}
	for _, dir := range glob(t, filepath.Join(r.Set.dir, "*", "work")) {
		if err := os.WriteFile(filepath.Join(dir, "seen"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.wait()
	mustBeDead(t, hidden)
	other.Stop(ref, 0)
	other.wait()
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	list, err := filepath.Glob(pattern)
	if err != nil || len(list) == 0 {
		t.Fatalf("nothing is at %s: %v", pattern, err)
	}
	return list
}

// A signal is for the process that was looked at, not for who has its number since.
func TestSignal_DoesNotReachAReusedPid(t *testing.T) {
	stranger := exec.Command(os.Args[0], "helper", "sleep", t.TempDir())
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Wait() }()
	defer func() { _ = stranger.Process.Kill() }()
	stat, _ := readStat(stranger.Process.Pid)
	before := stat
	before.start = "1"
	before.signal(kill)
	if now, ok := readStat(stat.pid); !ok || !now.lives() || now.start != stat.start {
		t.Error("the one that has the number now was killed")
	}
}

// Orphans that end are waited for: none stays a zombie. A thousand jobs are for
// scripts/soak.
func TestEnd_NoZombiesStay(t *testing.T) {
	r := newRigAlone(t, sh(`(env -i setsid true &); (setsid true &); echo > clip`))
	for range soak(60, 1000) {
		if got := r.run(wire.Payload{}); got.Status != wire.ResultSucceeded {
			t.Fatalf("%s %s", got.Status, got.Detail)
		}
	}
	household.mu.Lock()
	defer household.mu.Unlock()
	if left := readChildren(household.orphans, nil); len(left) > 1 { // of the last job, at most
		t.Errorf("%d orphans stay: %v", len(left), left)
	}
}
