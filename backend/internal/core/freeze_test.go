package core

import (
	"testing"

	"rockpool/backend/internal/core/fleet"
)

func TestCase_N32_WhileTheDatabaseIsAwayNoLeaseRunsOut(t *testing.T) {
	w, specs := mass(t, 3)
	w.d.Freeze(w.now)
	away := w.now
	w.disconnect(w.agents[0]) // it can't come back: who it is stands in the database
	w.beatBut(1, 300_000)
	if f := w.d.Frozen(w.now); f.Since != away || f.Until != 0 || f.Cause != FrozenByDatabase {
		t.Fatalf("it shows %+v", f)
	}
	if ready, suspect, lost := w.leases(); ready != 4 || suspect != 1 || lost != 0 {
		t.Fatalf("%d ready, %d suspect, %d lost", ready, suspect, lost)
	}
	w.d.Thaw(w.now, w.pending)
	w.after()
	if f := w.d.Frozen(w.now); f.Since != away || f.Until != w.now+testConfig.Lost {
		t.Fatalf("in its grace it shows %+v", f)
	}
	w.beatBut(1, 89_000)
	w.join(w.agents[0])
	w.wantRow(specs[0].ID, fleet.JobOffered, "", 1, 0, "n00")
	w.beatBut(1, 89_000)
	if f := w.d.Frozen(w.now); f != (Freeze{}) {
		t.Fatalf("it goes on: %+v", f)
	}
	w.beatBut(1, 2_000)
	if got := w.d.nodes["n00"].lease.State; got != fleet.LeaseLost {
		t.Fatalf("silence afterwards: %v", got)
	}
}

func TestFreeze_WhatIsShown(t *testing.T) {
	w, _ := mass(t, 2)
	shows := func(when string, since, until fleet.Time, cause FreezeCause) {
		t.Helper()
		if got, want := w.d.Frozen(w.now), (Freeze{Since: since, Until: until, Cause: cause}); got != want {
			t.Errorf("%s: %+v, want %+v", when, got, want)
		}
	}
	shows("a fleet that is new", 0, 0, "")
	w.reload() // in a moment
	w.after()
	w.beatBut(0, 1000)
	shows("after a blink", 0, 0, "")
	w.d.Freeze(w.now)
	w.beatBut(0, 2000)
	shows("for two seconds", 0, 0, "")
	w.d.Load(w.now, w.store.snapshot())
	w.after()
	shows("and then no more", 0, 0, "")

	stood := w.d.Next()
	w.now = stood + 60_000
	w.after()
	shows("after it stood still", stood, w.now+testConfig.Lost, FrozenByStandstill)
	w.d.Freeze(w.now)
	w.beatBut(0, 10_000)
	shows("and the database went", stood, 0, FrozenByDatabase)
	w.d.Load(w.now, w.store.snapshot())
	w.after()
	until := w.now + testConfig.Lost
	shows("and came back", stood, until, FrozenByDatabase)
	w.beatBut(0, 89_999)
	shows("before its end", stood, until, FrozenByDatabase)
	w.beatBut(0, 1)
	shows("at its end", 0, 0, "")

	w.restartServer()
	shows("after a restart", w.now, w.now+testConfig.Lost, FrozenByRestart)
}
