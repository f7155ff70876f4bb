package core

import (
	"testing"

	"rockpool/backend/internal/core/fleet"
)

func TestCase_D1_ShortCutChangesNothing(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1), record("n2", "pool-1", 1, 1))
	a := w.agents[0]
	spec := w.spec("a1", 1)
	w.run(spec, a)
	w.disconnect(a)
	w.pass(60_000)
	w.join(a)
	w.work(a)
	w.commit()
	w.wantRow(spec.ID, fleet.JobSucceeded, "", 1, 1, "n1")
}

func TestCase_D2_NeverTwiceMeansNever(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1), record("n2", "pool-1", 1, 1))
	a := w.agents[0]
	spec := w.spec("a1", 1)
	spec.MaxAttempts, spec.OnNodeLost = 1, fleet.OnLostFail
	w.run(spec, a)
	w.disconnect(a)
	w.pass(91_000)
	w.commit()
	w.wantRow(spec.ID, fleet.JobFailed, fleet.CauseNodeLost, 1, 1, "n1")
	w.join(a)
	if len(a.work) != 0 {
		t.Fatal("the returning node was not told to drop it")
	}
}

func TestCase_D3_ReturningNodeKeepsItsWork(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	spec := w.spec("a1", 1)
	w.run(spec, a)
	w.disconnect(a)
	w.pass(120_000)
	w.commit()
	w.wantRow(spec.ID, fleet.JobQueued, fleet.CauseNodeLost, 1, 1, "n1")
	w.join(a)
	w.commit()
	w.wantRow(spec.ID, fleet.JobOffered, "", 1, 0, "n1")
	if v, _ := w.d.LiveJob(w.now, spec.ID); v.State != fleet.JobRunning || v.Decision.Outcome != fleet.OutcomePlaced {
		t.Fatalf("adopted again, it reads %+v", v)
	}
	w.work(a)
	w.commit()
	w.wantRow(spec.ID, fleet.JobSucceeded, "", 1, 1, "n1")
}

func TestCase_D9_SilentNodeIsNotWaitedFor(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 2), record("n2", "pool-1", 1, 1))
	deaf, other := w.agents[0], w.agents[1]
	spec := w.spec("a1", 1)
	w.submit(spec, "")
	w.commit()
	w.wantRow(spec.ID, fleet.JobOffered, "", 1, 0, "n1")
	for range 4 {
		w.pass(1200)
		w.heartbeat(deaf) // it heartbeats and never answers
	}
	w.pass(1000)
	w.commit()
	w.readAll(other)
	w.wantRow(spec.ID, fleet.JobOffered, "", 2, 0, "n2")
	first := w.store.attempts[Attempt{Job: spec.ID, Attempt: 1}]
	if first.Outcome != fleet.AttemptUnanswered || first.Cause != fleet.CauseUnanswered || first.Node != "n1" {
		t.Fatalf("the first attempt reads %+v", first)
	}
	if mailed(deaf, SendVoid) != 1 {
		t.Fatal("the silent node was not told to forget the offer")
	}
	w.readAll(deaf) // its late yes
	w.work(other)
	w.commit()
	w.wantRow(spec.ID, fleet.JobSucceeded, "", 2, 1, "n2")
	if len(deaf.begun) != 0 {
		t.Fatal("the late yes was started")
	}
}

func TestCase_D9_SingleSilentNodeGetsItAgainLater(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	spec := w.spec("a1", 1)
	w.submit(spec, "")
	w.commit()
	w.pass(5000)
	w.commit()
	w.wantRow(spec.ID, fleet.JobQueued, fleet.CauseUnanswered, 1, 0, "")
	v, _ := w.d.LiveJob(w.now, spec.ID)
	if v.Decision.Pools[0].Rejected[fleet.Excluded] != 1 {
		t.Fatalf("why it waits: %+v", v.Decision)
	}
	for range 3 {
		w.pass(9_000)
		w.heartbeat(w.agents[0])
	}
	w.pass(3_000)
	w.commit()
	w.wantRow(spec.ID, fleet.JobOffered, "", 2, 0, "n1")
}

func TestCase_D10_OfferLostWithItsConnection(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 2), record("n2", "pool-1", 1, 1))
	a := w.agents[0]
	spec := w.spec("a1", 1)
	w.submit(spec, "")
	w.commit()
	if mailed(a, SendOffer) != 1 {
		t.Fatal("no offer")
	}
	w.disconnect(a)
	w.pass(5000)
	w.commit()
	w.wantRow(spec.ID, fleet.JobOffered, "", 2, 0, "n2")
}

func TestCase_D10_ReturningNodeIsOfferedAgainAtOnce(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	spec := w.spec("a1", 1)
	w.submit(spec, "")
	w.commit()
	w.disconnect(a)
	w.join(a)
	w.commit()
	w.readAll(a)
	w.work(a)
	w.commit()
	w.wantRow(spec.ID, fleet.JobSucceeded, "", 2, 1, "n1")
}

func TestCase_F4_FrozenControlPlaneLosesNobody(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1), record("n2", "pool-1", 1, 1))
	spec := w.spec("a1", 1)
	w.run(spec, w.agents[0])
	w.now += 300_000 // nobody listened
	w.after()
	for _, n := range w.d.order {
		if n.lease.State != fleet.LeaseReady {
			t.Fatalf("%s is %v", n.rec.ID, n.lease.State)
		}
	}
	w.pass(26_000)
	if got := w.d.nodes["n1"].lease.State; got != fleet.LeaseSuspect {
		t.Fatalf("real silence afterwards: %v", got)
	}
}

func TestCase_N20_EveryDropIsSuspectAtOnce(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	old := a.epoch
	for range 2 {
		w.disconnect(a)
		if got := w.d.nodes["n1"].lease.State; got != fleet.LeaseSuspect {
			t.Fatalf("after a drop it is %v", got)
		}
		w.join(a)
		w.d.SessionClosed(w.now, Session{Node: "n1", Epoch: old}, w.pending) // late, of an older session
		if got := w.d.nodes["n1"].lease.State; got != fleet.LeaseReady {
			t.Fatalf("an old session's end made it %v", got)
		}
	}
}
