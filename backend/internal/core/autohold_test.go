package core

import (
	"slices"
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/hold"
)

func TestCase_C6_NodeThatRejectsEverythingIsHeld(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 4), record("n2", "pool-1", 1, 1))
	a, other := w.agents[0], w.agents[1]
	for i := range hold.MaxRejections {
		w.wantHeld("n1", "")
		spec := w.decline(a)
		if i == hold.MaxRejections-1 {
			w.wantHeld("n1", "auto/auto")
			if alarm := w.lasting(fleet.AlarmRejectingOffers); alarm.Node != "n1" || alarm.Count != 1 {
				t.Fatalf("the alarm reads %+v", alarm)
			}
		}
		w.wantRow(spec.ID, fleet.JobOffered, "", 2, 0, "n2")
		w.readAll(other)
		w.work(other)
		w.commit()
	}
	if stored := w.store.nodes["n1"].rec.Holds; len(stored) != 1 || stored[0].Until != w.now+hold.RejectionHold || stored[0].Reason == "" {
		t.Fatalf("stored holds %+v", stored)
	}
	next := w.spec("a1", 1)
	w.run(next, other)
	w.wantRow(next.ID, fleet.JobOffered, "", 1, 0, "n2")
	waits := w.spec("a1", 4)
	w.submit(waits, "")
	w.commit()
	if v, _ := w.d.LiveJob(w.now, waits.ID); v.Decision.Pools[0].Rejected[fleet.AutoHold] != 1 {
		t.Fatalf("why it waits: %+v", v.Decision)
	}
	w.beat(60_000)
	w.commit()
	w.wantHeld("n1", "")
	w.wantRow(waits.ID, fleet.JobOffered, "", 1, 0, "n1")
	if stored := w.store.nodes["n1"].rec.Holds; len(stored) != 0 {
		t.Fatalf("the database keeps %+v", stored)
	}
}

func TestAutoHold_FailedStartsCountAndAStartEndsTheRow(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	end := func(res fleet.Result) {
		spec := w.spec("a1", 1)
		spec.MaxAttempts = 1
		w.run(spec, a)
		a.work = nil
		w.d.Result(w.now, Session{Node: "n1", Epoch: a.epoch}, Attempt{Job: spec.ID, Attempt: 1}, &res, w.pending)
		w.after()
		w.commit()
		a.mail = nil
	}
	for _, ran := range []bool{true, false} {
		for range hold.MaxRejections - 1 {
			end(fleet.Result{Status: fleet.ResultFailed, Cause: fleet.CauseStartFailed})
		}
		w.wantHeld("n1", "")
		if ran {
			end(fleet.Result{Status: fleet.ResultFailed, Cause: fleet.CauseExitCode})
		}
	}
	end(fleet.Result{Status: fleet.ResultFailed, Cause: fleet.CauseStartFailed})
	w.wantHeld("n1", "auto/auto")
}

func TestAutoHold_ThreeFlaps(t *testing.T) {
	flap := func(w *world, a *agent) {
		w.disconnect(a)
		w.join(a)
	}
	silence := func(w *world, a *agent) {
		w.pass(26_000)
		w.heartbeat(a)
	}
	for name, again := range map[string]func(w *world, a *agent){"broken connections": flap, "silences": silence} {
		t.Run(name, func(t *testing.T) {
			w := script(t, record("n1", "pool-1", 1, 1))
			a := w.agents[0]
			again(w, a)
			again(w, a)
			w.wantHeld("n1", "")
			again(w, a)
			w.wantHeld("n1", "auto/auto")
			w.commit()
			w.beat(hold.FlapHold - 10_000)
			w.wantHeld("n1", "auto/auto")
			w.beat(10_000)
			w.wantHeld("n1", "")
		})
	}
	t.Run("not in ten minutes", func(t *testing.T) {
		w := script(t, record("n1", "pool-1", 1, 1))
		for range 6 {
			flap(w, w.agents[0])
			w.beat(301_000)
			w.wantHeld("n1", "")
		}
	})
	t.Run("a restart of the server is not the node's fault", func(t *testing.T) {
		w := script(t, record("n1", "pool-1", 1, 1))
		for range 4 {
			w.restartServer()
			w.join(w.agents[0])
			w.wantHeld("n1", "")
		}
	})
	t.Run("nor is one that stood still", func(t *testing.T) {
		w := script(t, record("n1", "pool-1", 1, 1))
		for range 4 {
			w.now = w.d.Next() + 10_000
			flap(w, w.agents[0])
			w.wantHeld("n1", "")
			w.beat(100_000)
		}
	})
	t.Run("nor is a planned stop", func(t *testing.T) {
		w := script(t, record("n1", "pool-1", 1, 1))
		for range 4 {
			w.d.Goodbye(w.now, Session{Node: "n1", Epoch: w.agents[0].epoch}, GoodbyeUpgrade, w.pending)
			w.after()
			flap(w, w.agents[0])
			w.wantHeld("n1", "")
		}
	})
}

// nodeAlarms gives the kinds of the nodes' alarms that last.
func (w *world) nodeAlarms() (kinds []fleet.AlarmKind) {
	for _, a := range w.d.Alarms() {
		if a.Node != "" {
			kinds = append(kinds, a.Kind)
		}
	}
	return kinds
}

func TestAutoHold_RaisesItsAlarmOnceAndEndsIt(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 4))
	a := w.agents[0]
	for range hold.MaxRejections {
		w.decline(a)
	}
	for range hold.MaxFlaps {
		w.disconnect(a)
		w.join(a)
	}
	want := []fleet.AlarmKind{fleet.AlarmRejectingOffers, fleet.AlarmNodeFlapping}
	if got := w.nodeAlarms(); !slices.Equal(got, want) {
		t.Fatalf("alarms %v", got)
	}
	w.commit()
	w.beat(120_000) // the longer hold stands for both
	if got := w.nodeAlarms(); !slices.Equal(got, want) {
		t.Fatalf("alarms %v", got)
	}
	w.restartServer()
	if got := w.nodeAlarms(); !slices.Equal(got, want) {
		t.Fatalf("after a restart: %v", got)
	}
	w.join(a)
	w.beat(hold.FlapHold)
	w.commit()
	w.wantHeld("n1", "")
	if got := w.nodeAlarms(); len(got) != 0 {
		t.Fatalf("alarms %v last", got)
	}
}

// The wall clock was set back by an hour between an automatic hold and the load that
// reads its end: the hold lasts no longer for that.
func TestAutoHold_LastsNoLongerForAWallClockThatWasSetBack(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	w.store.nodes["n1"].rec.Holds = []fleet.Hold{{Kind: fleet.HoldAuto, Owner: fleet.OwnerAuto, Until: w.now + 3_600_000}}
	w.reload()
	w.after()
	w.beat(hold.FlapHold - 10_000)
	w.wantHeld("n1", "auto/auto")
	w.beat(10_000)
	w.wantHeld("n1", "")
}
