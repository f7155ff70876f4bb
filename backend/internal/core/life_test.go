package core

import (
	"math/rand/v2"
	"slices"
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

func TestBackoff_DoublesPerCountedAttempt(t *testing.T) {
	for _, c := range []struct {
		asked   int64
		counted int32
		want    fleet.Time
	}{
		{0, 1, 1000}, {0, 2, 2000}, {0, 4, 8000}, {0, 10, 300_000}, {0, 100, 300_000},
		{30_000, 1, 30_000}, {30_000, 4, 240_000}, {30_000, 5, 300_000}, {fleet.NoBackoff, 3, 0},
	} {
		j := &job{spec: &fleet.JobSpec{RetryBackoffMs: c.asked}, row: JobRow{Counted: c.counted}}
		if got := j.backoff(); got != c.want {
			t.Errorf("of %d after %d attempts: %d, want %d", c.asked, c.counted, got, c.want)
		}
	}
}

// Attempts that never started, or that a drain ended, pause nobody.
func TestBackoff_OnlyAfterAttemptsThatCount(t *testing.T) {
	for name, end := range map[string]func(w *world, a *agent){
		"declined": func(w *world, a *agent) {
			w.d.Decline(w.now, a.session(), Attempt{Job: w.jobs[0].ID, Attempt: 1}, "no", w.pending)
			w.after()
		},
		"unanswered": func(w *world, a *agent) {
			a.mail = nil
			w.pass(5000)
		},
		"drained": func(w *world, a *agent) {
			w.readAll(a)
			w.drain("n1", w.now)
			w.readAll(a)
			w.work(a)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := script(t, record("n1", "pool-1", 1, 2), record("n2", "pool-1", 1, 1))
			spec := w.spec("a1", 1)
			spec.RetryBackoffMs = 60_000
			w.submit(spec, "")
			w.commit()
			end(w, w.agents[0])
			w.commit()
			w.wantRow(spec.ID, fleet.JobOffered, "", 2, 0, "n2")
		})
	}
}

// A pause is nobody's fault: no alarm, no place in line, no part in what waits.
func TestPause_StandsInNoLine(t *testing.T) {
	w := script(t)
	spec := w.spec("a1", 1)
	w.submitAt(spec, "", w.now+400_000)
	w.pass(399_999)
	if len(w.d.Alarms()) != 0 || w.poolView("pool-1").Queued != 0 || w.d.queue.Len() != 0 {
		t.Fatalf("alarms %+v, pool %+v", w.d.Alarms(), w.poolView("pool-1"))
	}
	if w.d.Totals().Waiting != 1 {
		t.Fatalf("sums %+v", w.d.Totals())
	}
	w.pass(1)
	w.commit()
	w.wantRow(spec.ID, fleet.JobQueued, fleet.CausePoolExhausted, 0, 0, "")
	if _, lasts := w.alarmOf("a1"); !lasts || w.poolView("pool-1").Queued != 1 {
		t.Fatal("now it waits, and nobody is told")
	}
}

// A pause is no part of how long work has waited, for another process neither.
func TestPause_IsNoWaitAfterARestart(t *testing.T) {
	w := script(t)
	spec := w.spec("a1", 1)
	w.submitAt(spec, "", w.now+400_000)
	w.pass(410_000)
	began := w.poolView("pool-1").OldestWait
	less := w.reborn(0)
	if got := w.poolView("pool-1").OldestWait; got != began-less || w.now-got != 10_000 {
		t.Fatalf("it waits since %d, at %d", got, w.now)
	}
}

// A time when this server stood still moves no promise to the work.
func TestPause_EndsOnTimeAfterAStandstill(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	spec := w.spec("a1", 1)
	due := w.now + 400_000
	w.submitAt(spec, "", due)
	w.commit()
	w.now += 300_000
	w.after()
	for w.now < due-1 {
		w.pass(min(5000, due-1-w.now))
		w.heartbeat(w.agents[0])
	}
	if v, _ := w.d.LiveJob(w.now, spec.ID); v.State != fleet.JobQueued {
		t.Fatalf("early: %+v", v)
	}
	w.pass(1)
	w.commit()
	w.wantRow(spec.ID, fleet.JobOffered, "", 1, 0, "n1")
}

func TestPause_IsNoneOfTheQueueTimeout(t *testing.T) {
	w := script(t)
	spec := w.spec("a1", 1)
	spec.QueueTimeoutMs = 10_000
	w.submitAt(spec, "", w.now+100_000)
	w.pass(109_999)
	w.commit()
	w.wantRow(spec.ID, fleet.JobQueued, fleet.CausePoolExhausted, 0, 0, "")
	w.pass(1)
	w.commit()
	w.wantRow(spec.ID, fleet.JobExpired, fleet.CauseQueueTimeout, 0, 0, "")
	if waits := w.store.jobs[spec.ID].row.Waits; waits != (fleet.WaitLedger{Pool: 10_000, Backoff: 100_000}) {
		t.Fatalf("its ledger reads %+v", waits)
	}
}

// The queue timeout counts all the waiting of a job, over all its attempts.
func TestQueueTimeout_AddsUp(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	blocker, spec := w.spec("a1", 1), w.spec("a1", 1)
	spec.QueueTimeoutMs, spec.Priority = 60_000, fleet.MaxPriority
	w.run(blocker, a)
	w.submit(spec, "")
	w.beat(40_000)
	w.work(a)
	w.commit()
	w.readAll(a)
	w.beat(100_000) // it runs
	w.failOnce(a)   // and keeps away from its node for a while
	w.beat(19_999)
	w.commit()
	w.wantRow(spec.ID, fleet.JobQueued, fleet.CauseStartFailed, 1, 1, "n1")
	w.pass(1)
	w.commit()
	w.wantRow(spec.ID, fleet.JobExpired, fleet.CauseQueueTimeout, 1, 1, "n1")
}

// held brings a job to be held: its node is lost.
func held(t *testing.T, nodes ...fleet.NodeRecord) (*world, *agent, *fleet.JobSpec) {
	w := script(t, nodes...)
	a := w.agents[0]
	spec := w.spec("a1", 1)
	spec.OnNodeLost, spec.MaxAttempts = fleet.OnLostHold, 1
	w.run(spec, a)
	w.disconnect(a)
	for range 19 {
		w.pass(5000)
		for _, other := range w.agents[1:] {
			w.heartbeat(other)
		}
	}
	w.commit()
	w.wantRow(spec.ID, fleet.JobQueued, fleet.CauseHeld, 1, 1, "n1")
	return w, a, spec
}

func (w *world) resolve(spec *fleet.JobSpec, action fleet.ResolveAction) (fleet.JobState, bool) {
	state, ok := w.d.Resolve(w.now, spec.ID, action, Actor{Subject: "u:1"}, w.pending)
	w.after()
	return state, ok
}

func TestHold_WaitsForAPerson(t *testing.T) {
	for _, restart := range []bool{false, true} {
		w, a, spec := held(t, record("n1", "pool-1", 1, 2), record("n2", "pool-1", 1, 1))
		if restart {
			w.reborn(0)
			w.join(w.agents[1])
		}
		for range 100 {
			w.pass(9000)
			w.heartbeat(w.agents[1])
		}
		w.wantRow(spec.ID, fleet.JobQueued, fleet.CauseHeld, 1, 1, "n1")
		if state, ok := w.resolve(spec, fleet.ResolveRequeue); !ok || state != fleet.JobOffered {
			t.Fatalf("resolved: %v, %v", state, ok)
		}
		w.wantAudit(AuditJobResolved)
		w.commit()
		w.readAll(w.agents[1])
		w.wantRow(spec.ID, fleet.JobOffered, "", 2, 1, "n2")
		if _, ok := w.resolve(spec, fleet.ResolveFail); ok {
			t.Fatal("a person decides twice")
		}
		w.join(a) // too late: the next attempt fences it
		w.readAll(a)
		if len(a.work) != 0 {
			t.Fatal("the fenced attempt goes on")
		}
		w.work(w.agents[1])
		w.commit()
		w.wantRow(spec.ID, fleet.JobSucceeded, "", 2, 2, "n2")
		if past := w.store.attempts[Attempt{Job: spec.ID, Attempt: 1}]; past.Cause != fleet.CauseNodeLost || past.Outcome != fleet.AttemptOrphaned {
			t.Fatalf("restart %v: the first attempt reads %+v", restart, past)
		}
	}
}

func TestHold_FailsOnAPersonsWord(t *testing.T) {
	w, a, spec := held(t, record("n1", "pool-1", 1, 1))
	if state, ok := w.resolve(spec, fleet.ResolveFail); !ok || state != fleet.JobFailed {
		t.Fatalf("resolved: %v, %v", state, ok)
	}
	w.commit()
	w.wantRow(spec.ID, fleet.JobFailed, fleet.CauseNodeLost, 1, 1, "n1")
	w.join(a)
	if len(a.work) != 0 {
		t.Fatal("its node goes on with it")
	}
}

func TestHold_EndsWhenItsNodeReturns(t *testing.T) {
	w, a, spec := held(t, record("n1", "pool-1", 1, 1))
	began := w.now
	w.pass(1_000_000)
	w.join(a)
	w.commit()
	w.wantRow(spec.ID, fleet.JobOffered, "", 1, 0, "n1")
	if waits := w.d.jobs[spec.ID].row.Waits; waits.Hold < int64(w.now-began) {
		t.Fatalf("its ledger reads %+v", waits)
	}
	w.work(a)
	w.commit()
	w.wantRow(spec.ID, fleet.JobSucceeded, "", 1, 1, "n1")
}

func TestHold_CanBeCanceled(t *testing.T) {
	w, _, spec := held(t, record("n1", "pool-1", 1, 1))
	if state, open := w.d.Cancel(w.now, spec.ID, "u:1", 0, w.pending); !open || state != fleet.JobCanceled {
		t.Fatalf("it is %v", state)
	}
	w.after()
	w.commit()
	w.wantRow(spec.ID, fleet.JobCanceled, fleet.CauseCanceledByUser, 1, 1, "n1")
	if w.d.Totals() != (Totals{}) {
		t.Fatalf("left %+v", w.d.Totals())
	}
}

// A node on which the job has failed is none for it any more, also for another
// process of the server; other work still gets it.
func TestAvoidFailedNode_ForGood(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 3), record("n2", "pool-1", 1, 2))
	spec := w.spec("a1", 1)
	spec.AvoidFailedNode, spec.MaxAttempts = true, 10
	w.run(spec, w.agents[0])
	w.failOnce(w.agents[0])
	w.commit()
	w.readAll(w.agents[1])
	w.wantRow(spec.ID, fleet.JobOffered, "", 2, 1, "n2")
	w.failOnce(w.agents[1])
	w.commit()
	w.reborn(0)
	for _, a := range w.agents {
		w.join(a)
	}
	w.beat(300_000)
	w.commit()
	w.wantRow(spec.ID, fleet.JobQueued, fleet.CauseStartFailed, 2, 2, "n2")
	if v, _ := w.d.LiveJob(w.now, spec.ID); v.Decision.Pools[0].Rejected[fleet.Excluded] != 2 {
		t.Fatalf("why it waits: %+v", v.Decision)
	}
	other := w.spec("a1", 1)
	w.submit(other, "")
	w.commit()
	w.wantRow(other.ID, fleet.JobOffered, "", 1, 0, "n1")
}

func TestCancelMany_AnswersForEachAndPlacesNothingBetween(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	running, waiting, later := w.spec("a1", 1), w.spec("a1", 1), w.spec("a1", 1)
	w.run(running, w.agents[0])
	w.submit(waiting, "")
	w.submitAt(later, "", w.now+1000)
	w.commit()
	list := []ids.JobID{later.ID, running.ID, {9}, waiting.ID, running.ID}
	got := w.d.CancelMany(w.now, list, "u:1", 1000, w.pending)
	w.after()
	want := []Canceled{
		{later.ID, fleet.JobCanceled, true}, {running.ID, fleet.JobCanceling, true}, {Job: ids.JobID{9}},
		{waiting.ID, fleet.JobCanceled, true}, {running.ID, fleet.JobCanceling, true},
	}
	if !slices.Equal(got, want) {
		t.Fatalf("answers %+v", got)
	}
	w.commit()
	w.readAll(w.agents[0])
	w.work(w.agents[0])
	w.commit()
	for _, spec := range []*fleet.JobSpec{running, waiting, later} {
		if row := w.store.jobs[spec.ID].row; row.State != fleet.JobCanceled || row.CancelBy != "u:1" {
			t.Fatalf("%s reads %+v", spec.ID, row)
		}
	}
}

// Cancel and result in a thousand orders: one outcome each, which never changes,
// the slot is free and nothing is left on the node. That no end is written twice
// the store sees.
func TestCancel_RacesWithResults(t *testing.T) {
	ends := map[fleet.JobState]int{}
	for seed := range uint64(1000) {
		ends[race(t, rand.New(rand.NewPCG(seed, 5)))]++
	}
	if ends[fleet.JobCanceled] < 100 || ends[fleet.JobSucceeded] < 100 || ends[fleet.JobCanceled]+ends[fleet.JobSucceeded] != 1000 {
		t.Fatalf("the races show too little: %v", ends)
	}
}

func race(t *testing.T, r *rand.Rand) fleet.JobState {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	spec := w.spec("a1", 1)
	w.run(spec, a)
	moves := []func(){
		func() { w.d.Cancel(w.now, spec.ID, "u:1", 1000, w.pending); w.after() },
		func() { w.work(a) },
		w.start,
		func() { w.finish([]int{0, 0, 0, 1, 2}[r.IntN(5)]) },
		func() { w.read(a) },
		func() { w.heartbeat(a) },
		func() { w.disconnect(a); w.connect(a) },
	}
	for range 3 + r.IntN(12) {
		moves[r.IntN(len(moves))]()
	}
	moves[0]()
	for range 60 {
		w.commit()
		w.connect(a)
		w.commit()
		w.readAll(a)
		w.work(a)
		w.handIn(a)
		w.heartbeat(a)
		w.pass(1000)
	}
	row := w.store.jobs[spec.ID].row
	if !row.State.Terminal() || w.d.Totals() != (Totals{}) || w.store.nodes["n1"].reserved != 0 {
		t.Fatalf("it ends as %+v, left %+v", row, w.d.Totals())
	}
	if len(a.work)+len(a.spool) != 0 || len(a.begun) > 1 {
		t.Fatalf("its node keeps %+v and %+v, begun %v", a.work, a.spool, a.begun)
	}
	if succeeded := row.State == fleet.JobSucceeded; succeeded && !w.store.jobs[spec.ID].hasResult || !succeeded && w.acks[spec.ID] > 0 {
		t.Fatalf("%v with %d acknowledged results", row.State, w.acks[spec.ID])
	}
	return row.State
}

// A pause after an attempt is stored as a wall time: with the clock set back an hour
// before the fleet is loaded anew, it must not last an hour longer.
func TestPause_AClockSetBackLengthensNone(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	spec := w.spec("a1", 1)
	spec.RetryBackoffMs = 20_000
	w.run(spec, w.agents[0])
	w.failOnce(w.agents[0])
	w.commit()
	w.wantRow(spec.ID, fleet.JobQueued, fleet.CauseBackoff, 1, 1, "n1")
	w.store.jobs[spec.ID].row.NotBefore += 3_600_000
	w.reborn(0)
	if v, _ := w.d.LiveJob(w.now, spec.ID); v.NotBefore == 0 || v.NotBefore > w.now+20_000 {
		t.Fatalf("at %d it pauses until %d", w.now, v.NotBefore)
	}
}
