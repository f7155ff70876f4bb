package core

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/hold"
)

// drain puts an operator's drain on the node; 0: without a deadline.
func (w *world) drain(node string, deadline fleet.Time) {
	w.move(node, func(r *fleet.NodeRecord) {
		r.Holds = []fleet.Hold{{Kind: fleet.HoldDrain, Owner: fleet.OwnerOperator, Actor: "u:1", Deadline: deadline}}
	})
}

func (w *world) undrain(node string) {
	w.move(node, func(r *fleet.NodeRecord) { r.Holds = nil })
}

// beat lets time pass with a heartbeat of all agents every five seconds.
func (w *world) beat(ms fleet.Time) {
	for end := w.now + ms; w.now < end; {
		w.pass(min(5000, end-w.now))
		for _, a := range w.agents {
			w.heartbeat(a)
		}
	}
}

func TestCase_E4_DrainedWorkRunsAgainOrFailsByPolicy(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 2))
	a := w.agents[0]
	again, never := w.spec("a1", 1), w.spec("a1", 1)
	again.MaxAttempts, never.OnNodeLost = 1, fleet.OnLostFail
	w.run(again, a)
	w.run(never, a)
	w.drain("n1", w.now+1000)
	if mailed(a, SendCancel) != 0 {
		t.Fatal("canceled before the deadline")
	}
	w.pass(1000)
	if mailed(a, SendCancel) != 2 {
		t.Fatalf("at the deadline it was told %+v", a.mail)
	}
	w.readAll(a)
	w.work(a)
	w.work(a)
	w.commit()
	w.wantRow(again.ID, fleet.JobQueued, fleet.CauseDrained, 1, 0, "n1")
	w.wantRow(never.ID, fleet.JobFailed, fleet.CauseDrained, 1, 0, "n1")
	w.undrain("n1")
	w.commit()
	w.readAll(a)
	w.work(a)
	w.commit()
	w.wantRow(again.ID, fleet.JobSucceeded, "", 2, 1, "n1")
	if first := w.store.attempts[Attempt{Job: again.ID, Attempt: 1}]; first.Cause != fleet.CauseDrained || first.Outcome != fleet.AttemptEnded {
		t.Fatalf("the drained attempt reads %+v", first)
	}
}

func TestCase_E6_DrainOfASuspectNodeIsDeliveredOnItsReturn(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1), record("n2", "pool-1", 1, 1))
	a, other := w.agents[0], w.agents[1]
	spec := w.spec("a1", 1)
	w.run(spec, a)
	w.disconnect(a)
	w.drain("n1", w.now+1000)
	w.pass(10_000)
	if v, _ := w.d.LiveJob(w.now, spec.ID); v.State != fleet.JobRunning || v.Node != "n1" {
		t.Fatalf("the suspect node's work reads %+v", v)
	}
	w.connect(a)
	w.commit()
	if first := a.mail[0]; first.Kind != SendWelcome || len(first.Welcome.Holds) != 1 || first.Welcome.Holds[0].Kind != fleet.HoldDrain {
		t.Fatalf("its first message is %+v", first)
	}
	if mailed(a, SendCancel) != 1 {
		t.Fatalf("on its return it was told %+v", a.mail)
	}
	w.readAll(a)
	w.work(a)
	w.commit()
	w.readAll(other)
	w.wantRow(spec.ID, fleet.JobOffered, "", 2, 0, "n2")
	w.work(other)
	w.commit()
	w.wantRow(spec.ID, fleet.JobSucceeded, "", 2, 1, "n2")
}

// A node that was lost meanwhile comes back past the deadline: what it still runs
// is adopted, to be ended, and counts neither as lost nor as tried.
func TestCase_E6_DrainOfALostNode(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	spec := w.spec("a1", 1)
	w.run(spec, a)
	w.disconnect(a)
	w.drain("n1", w.now+100_000)
	w.pass(120_000)
	w.commit()
	w.wantRow(spec.ID, fleet.JobQueued, fleet.CauseNodeLost, 1, 1, "n1")
	w.connect(a)
	w.commit()
	if mailed(a, SendCancel) != 1 {
		t.Fatalf("on its return it was told %+v", a.mail)
	}
	w.readAll(a)
	w.work(a)
	w.commit()
	w.wantRow(spec.ID, fleet.JobQueued, fleet.CauseDrained, 1, 0, "n1")
}

func TestDrain_OffersAreTakenBackAtOnce(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 2), record("n2", "pool-1", 1, 1))
	a, other := w.agents[0], w.agents[1]
	sent := w.spec("a1", 1)
	w.submit(sent, "")
	w.commit()
	w.drain("n1", 0)
	if mailed(a, SendVoid) != 1 {
		t.Fatalf("the node was told %+v", a.mail)
	}
	w.readAll(a) // and says yes to the offer that came before
	w.commit()
	w.readAll(other)
	w.work(other)
	w.commit()
	w.wantRow(sent.ID, fleet.JobSucceeded, "", 2, 1, "n2")
	if len(a.begun) != 0 {
		t.Fatal("the draining node began it")
	}
}

func TestDrain_WithoutADeadlineWaits(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	spec := w.spec("a1", 1)
	w.run(spec, a)
	w.drain("n1", 0)
	w.beat(3_600_000)
	w.work(a)
	w.commit()
	w.wantRow(spec.ID, fleet.JobSucceeded, "", 1, 1, "n1")
}

func TestDrain_LiftedBeforeTheDeadlineStops(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	spec := w.spec("a1", 1)
	w.run(spec, a)
	w.drain("n1", w.now+10_000)
	w.beat(5000)
	w.undrain("n1")
	w.beat(60_000)
	w.readAll(a)
	w.work(a)
	w.commit()
	w.wantRow(spec.ID, fleet.JobSucceeded, "", 1, 1, "n1")
}

func TestDrain_AnotherDeadlineReplacesTheFirst(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	w.run(w.spec("a1", 1), a)
	w.drain("n1", w.now+10_000)
	w.drain("n1", w.now+30_000)
	w.beat(29_000)
	w.readAll(a)
	if a.work[0].canceled {
		t.Fatal("canceled at the first deadline")
	}
	w.drain("n1", w.now)
	if mailed(a, SendCancel) != 1 {
		t.Fatal("a deadline that has passed is not due at once")
	}
}

func TestDrain_LiftedAfterTheCancelEndsAndRunsAgain(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	spec := w.spec("a1", 1)
	w.run(spec, a)
	w.drain("n1", w.now)
	a.mail = nil // the order is lost on the way
	w.undrain("n1")
	w.heartbeat(a)
	w.readAll(a) // and repeated
	w.work(a)
	w.commit()
	w.commit()
	w.wantRow(spec.ID, fleet.JobOffered, "", 2, 0, "n1")
	w.readAll(a)
	w.work(a)
	w.commit()
	w.wantRow(spec.ID, fleet.JobSucceeded, "", 2, 1, "n1")
}

func TestDrain_SuccessThatComesFirstCounts(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1), record("n2", "pool-1", 1, 1))
	a := w.agents[0]
	spec := w.spec("a1", 1)
	w.run(spec, a)
	w.drain("n1", w.now)
	w.work(a) // it has not read the order
	w.commit()
	w.wantRow(spec.ID, fleet.JobSucceeded, "", 1, 1, "n1")
	w.readAll(a)
	if len(a.spool) != 0 {
		t.Fatal("its result was not acknowledged")
	}
}

func TestDrain_NodeThatNeverConfirmsIsFenced(t *testing.T) {
	for _, free := range []bool{true, false} {
		w := script(t, record("n1", "pool-1", 1, 1), record("n2", "pool-1", 1, 1))
		a, other := w.agents[0], w.agents[1]
		if !free {
			w.move("n2", func(r *fleet.NodeRecord) { r.Pool = "other" })
		}
		spec := w.spec("a1", 1)
		w.run(spec, a)
		w.drain("n1", w.now)
		w.beat(39_000)
		w.wantRow(spec.ID, fleet.JobOffered, "", 1, 0, "n1")
		w.pass(1000)
		w.commit()
		a.mail = nil
		w.heartbeat(a) // it still runs the attempt
		ack := a.mail[len(a.mail)-1]
		if len(ack.Ack.Void) != 1 {
			t.Fatalf("free %v: the silent node is told %+v", free, ack.Ack)
		}
		if !free {
			w.wantRow(spec.ID, fleet.JobQueued, fleet.CauseDrained, 1, 0, "n1")
			w.work(a) // nobody else has it: its success is welcome
			w.commit()
			w.wantRow(spec.ID, fleet.JobSucceeded, "", 1, 1, "n1")
			continue
		}
		w.wantRow(spec.ID, fleet.JobOffered, "", 2, 0, "n2")
		w.work(a)
		w.wantAudit(AuditResultFenced)
		w.readAll(other)
		w.work(other)
		w.commit()
		w.wantRow(spec.ID, fleet.JobSucceeded, "", 2, 1, "n2")
	}
}

func TestDrain_SurvivesARestart(t *testing.T) {
	for _, c := range []struct {
		name  string
		after fleet.Time // of the restart to the deadline
	}{{"the deadline passed meanwhile", -60_000}, {"it passes later", 20_000}} {
		t.Run(c.name, func(t *testing.T) {
			w := script(t, record("n1", "pool-1", 1, 1))
			a := w.agents[0]
			spec := w.spec("a1", 1)
			w.run(spec, a)
			w.store.nodes["n1"].rec.Holds = []fleet.Hold{{Kind: fleet.HoldDrain, Owner: fleet.OwnerOperator, Deadline: w.now + c.after}}
			a.open, a.ready = false, false
			w.d = New(testConfig)
			w.d.Load(w.now, w.store.snapshot())
			w.after()
			w.join(a)
			w.beat(max(0, c.after))
			w.readAll(a)
			w.work(a)
			w.commit()
			w.wantRow(spec.ID, fleet.JobQueued, fleet.CauseDrained, 1, 0, "n1")
		})
	}
}

func TestDrain_GoesOnAfterAReload(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	spec := w.spec("a1", 1)
	w.run(spec, a)
	w.drain("n1", w.now)
	w.undrain("n1")
	w.reload()
	w.after()
	w.readAll(a)
	w.work(a)
	w.commit()
	w.commit()
	w.wantRow(spec.ID, fleet.JobOffered, "", 2, 0, "n1")
}

func TestDrain_AUsersCancelWins(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1), record("n2", "pool-1", 1, 1))
	a := w.agents[0]
	spec := w.spec("a1", 1)
	w.run(spec, a)
	w.drain("n1", w.now)
	w.beat(35_000)
	a.mail = nil
	w.d.Cancel(w.now, spec.ID, "u:1", 2000, w.pending)
	w.after()
	w.commit()
	if mailed(a, SendCancel) != 1 || a.mail[0].GraceMs != 2000 {
		t.Fatalf("the node was told %+v", a.mail)
	}
	w.beat(10_000) // past the drain's own end, not past the cancel's
	w.commit()
	w.wantRow(spec.ID, fleet.JobCanceling, "", 1, 0, "n1")
	w.readAll(a)
	w.work(a)
	w.commit()
	w.wantRow(spec.ID, fleet.JobCanceled, fleet.CauseCanceledByUser, 1, 1, "n1")
}

// A fleet that is mostly up and busy, with drains that come and go.
func TestHistory_DrainsOfBusyNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(func(name string, n int) int { return rapid.IntRange(0, n-1).Draw(t, name) }, t.Fatalf)
		w.busyHistory(rapid.IntRange(20, 150).Draw(t, "steps"))
	})
}

func TestHistory_DrainsOfBusyNodesLongSeeds(t *testing.T) {
	drained := 0
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := newWorld(func(_ string, n int) int { return r.IntN(n) }, t.Fatalf)
		w.busyHistory(1000)
		drained += w.store.drained()
	}
	if drained < 10 {
		t.Fatalf("the histories show too little: %d drained attempts", drained)
	}
}

func (w *world) busyHistory(steps int) {
	w.found(6)
	for _, a := range w.agents {
		w.join(a)
	}
	for range steps {
		w.busyStep()
	}
	w.heal()
}

func (w *world) busyStep() {
	a := w.agents[w.pick("agent", len(w.agents))]
	switch choice := w.pick("what", 44); {
	case choice < 6:
		w.submitAny()
	case choice < 14:
		w.start()
		w.finish([]int{0, 0, 0, 0, 0, 0, 0, 1, 2}[w.pick("commit", 9)])
	case choice < 26:
		w.readAll(a)
	case choice < 28:
		w.work(a)
	case choice < 33: // lifted soon, so that there is work to drain
		n := w.store.nodes[a.id]
		n.rec.Holds = hold.Merged(nil, n.rec.Holds)
		w.hear(n)
		w.listen()
	case choice < 35:
		n := w.store.nodes[w.busy().id]
		if w.holdAny(n); w.pick("drain", 2) == 0 {
			deadline := w.now + []fleet.Time{-500, 1, 2000}[w.pick("deadline", 3)]
			n.rec.Holds = hold.With(n.rec.Holds, fleet.Hold{Kind: fleet.HoldDrain, Owner: fleet.OwnerOperator, Deadline: deadline})
		}
		w.hear(n)
		w.listen()
	case choice < 37:
		w.heartbeat(a)
	case choice < 40:
		w.pass([]fleet.Time{1, 500, 2000, 6000, 41_000}[w.pick("pass", 5)])
	case choice < 41:
		w.disconnect(a)
	case choice < 42:
		w.restart(a)
	case choice < 43 && len(w.jobs) > 0:
		w.d.Cancel(w.now, w.jobs[w.pick("job", len(w.jobs))].ID, "u:1", 1000, w.pending)
		w.after()
	default:
		w.connect(a)
	}
}
