package core

import (
	"slices"
	"strings"
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/hold"
)

// held lists a node's holds as views show them: kind and owner.
func (w *world) held(node string) string {
	var list []string
	for _, h := range w.d.nodes[node].view().Record.Holds {
		list = append(list, string(h.Kind)+"/"+string(h.Owner))
	}
	return strings.Join(list, " ")
}

func (w *world) wantHeld(node, want string) {
	if got := w.held(node); got != want {
		w.fail("%s has the holds %q, want %q", node, got, want)
	}
}

// restartServer begins with an empty memory; agents lose their sessions.
func (w *world) restartServer() {
	for _, a := range w.agents {
		a.open, a.ready, a.mail = false, false, nil
	}
	w.commit()
	w.commit()
	w.store.epoch++
	w.d = New(testConfig)
	w.d.Load(w.now, w.store.snapshot())
	w.after()
}

// decline lets the agent say no to a new job of user 1.
func (w *world) decline(a *agent) *fleet.JobSpec {
	spec := w.spec("a1", 1)
	w.submit(spec, "")
	w.commit()
	w.wantRow(spec.ID, fleet.JobOffered, "", 1, 0, a.id)
	a.mail = nil
	w.d.Decline(w.now, a.session(), Attempt{Job: spec.ID, Attempt: 1}, "no", w.pending)
	w.after()
	w.commit()
	return spec
}

func TestCase_E7_EachHoldEndsWithItsOwner(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 4))
	a := w.agents[0]
	w.move("n1", func(r *fleet.NodeRecord) {
		r.Holds = []fleet.Hold{{Kind: fleet.HoldCordon, Owner: fleet.OwnerOperator, Actor: "u:1"}}
	})
	w.d.Goodbye(w.now, Session{Node: "n1", Epoch: a.epoch}, GoodbyeStop, w.pending)
	w.after()
	w.wantHeld("n1", "cordon/operator drain/self")
	w.reload()
	w.after()
	w.wantHeld("n1", "cordon/operator drain/self")
	w.heartbeat(a)
	w.wantHeld("n1", "cordon/operator drain/self")
	if w.d.LiftHold(w.now, "n1", fleet.HoldCordon, fleet.OwnerOperator, Actor{}, "", w.pending) {
		t.Fatal("an operator's hold was lifted past the store")
	}
	w.restart(a)
	w.join(a)
	w.wantHeld("n1", "cordon/operator")
	w.restartServer()
	w.join(a)
	w.wantHeld("n1", "cordon/operator")
	w.move("n1", func(r *fleet.NodeRecord) { r.Holds = nil })
	w.wantHeld("n1", "")
	for range hold.MaxRejections {
		w.decline(a)
	}
	w.wantHeld("n1", "auto/auto")
	// An operator's change does not lift it, not even a record that was read before
	// it was written.
	w.move("n1", func(r *fleet.NodeRecord) {
		r.Holds = hold.Merged([]fleet.Hold{{Kind: fleet.HoldCordon, Owner: fleet.OwnerOperator}}, r.Holds)
	})
	w.wantHeld("n1", "auto/auto cordon/operator")
	w.d.PutNode(w.now, fleet.NodeRecord{ID: "n1", Pool: "pool-1", Version: w.store.nodes["n1"].rec.Version}, w.pending)
	w.after()
	w.wantHeld("n1", "auto/auto")
	w.restartServer()
	w.wantHeld("n1", "auto/auto cordon/operator")
}

func TestHold_EndsByItselfAlsoOverARestart(t *testing.T) {
	for _, restart := range []bool{false, true} {
		w := script(t, record("n1", "pool-1", 1, 1))
		until := w.now + 30_000
		w.store.nodes["n1"].rec.Holds = []fleet.Hold{
			{Kind: fleet.HoldAuto, Owner: fleet.OwnerAuto, Until: until}, {Kind: fleet.HoldQuarantine, Owner: fleet.OwnerOperator, Until: until},
		}
		w.reload()
		w.after()
		w.wantHeld("n1", "auto/auto quarantine/operator")
		if restart {
			w.now += 40_000
			w.restartServer()
			w.join(w.agents[0])
		} else {
			w.beat(30_000)
		}
		w.commit()
		w.wantHeld("n1", "")
		if stored := w.store.nodes["n1"].rec.Holds; len(stored) != 0 {
			t.Fatalf("the database keeps %+v", stored)
		}
		spec := w.spec("a1", 1)
		w.submit(spec, "")
		w.commit()
		w.wantRow(spec.ID, fleet.JobOffered, "", 1, 0, "n1")
	}
}

func TestLiftHold(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 4))
	for range hold.MaxRejections {
		w.decline(w.agents[0])
	}
	waits := w.spec("a1", 1)
	w.submit(waits, "")
	w.commit()
	w.wantRow(waits.ID, fleet.JobQueued, fleet.CausePoolExhausted, 0, 0, "")
	by := Actor{Subject: "u:7"}
	if w.d.LiftHold(w.now, "n1", fleet.HoldAuto, fleet.OwnerSelf, by, "", w.pending) || w.d.LiftHold(w.now, "n9", fleet.HoldAuto, fleet.OwnerAuto, by, "", w.pending) {
		t.Fatal("lifted what does not stand")
	}
	if !w.d.LiftHold(w.now, "n1", fleet.HoldAuto, fleet.OwnerAuto, by, "new firmware", w.pending) {
		t.Fatal("not lifted")
	}
	at := slices.IndexFunc(w.pending.Audits, func(a AuditNote) bool { return a.Action == AuditHoldLifted })
	if at < 0 || w.pending.Audits[at].By == nil || *w.pending.Audits[at].By != by || w.pending.Audits[at].Node != "n1" ||
		!strings.Contains(w.pending.Audits[at].Detail, "new firmware") {
		t.Fatalf("audit notes %+v", w.pending.Audits)
	}
	w.after()
	w.commit()
	w.wantRow(waits.ID, fleet.JobOffered, "", 1, 0, "n1")
	if stored := w.store.nodes["n1"].rec.Holds; len(stored) != 0 {
		t.Fatalf("the database keeps %+v", stored)
	}
}

func TestHold_OneWriteOfEachInABatch(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 4))
	h := fleet.Hold{Kind: fleet.HoldAuto, Owner: fleet.OwnerAuto, Until: w.now + 1000}
	w.d.putHold(w.now, w.d.nodes["n1"], h, w.pending)
	h.Until += 1000
	w.d.putHold(w.now, w.d.nodes["n1"], h, w.pending)
	w.d.LiftHold(w.now, "n1", fleet.HoldAuto, fleet.OwnerAuto, Actor{}, "", w.pending)
	if len(w.pending.Holds) != 1 || !w.pending.Holds[0].Lift {
		t.Fatalf("the batch has %+v", w.pending.Holds)
	}
}

func TestCase_D16_NodeThatIsTakenOutLeavesNothingBehind(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 2), record("n2", "pool-1", 1, 1))
	a, other := w.agents[0], w.agents[1]
	old, goesOn, fails := w.spec("a1", 1), w.spec("a1", 1), w.spec("a1", 1)
	w.run(old, a)
	w.work(a)
	w.commit()
	w.readAll(a)
	w.move("n2", func(r *fleet.NodeRecord) {
		r.Holds = []fleet.Hold{{Kind: fleet.HoldCordon, Owner: fleet.OwnerOperator}}
	})
	fails.OnNodeLost = fleet.OnLostFail
	w.run(goesOn, a)
	w.run(fails, a)
	w.move("n2", func(r *fleet.NodeRecord) { r.Holds = nil })
	w.store.nodes["n1"].rec.Left = true
	w.d.LeaveNode(w.now, w.gone("n1"), "sold", w.pending)
	w.after()
	if last := a.mail[len(a.mail)-1]; last.Kind != SendClose || last.Detail != CloseLeft+": sold" {
		t.Fatalf("its session ends with %+v", last)
	}
	w.commit()
	w.wantRow(goesOn.ID, fleet.JobOffered, "", 2, 1, "n2")
	w.wantRow(fails.ID, fleet.JobFailed, fleet.CauseNodeLost, 1, 1, "n1")
	v := w.d.Fleet(w.now)
	if n := v.Nodes[0]; n.Lease != fleet.LeaseLeft || len(n.Running) != 0 || n.SessionOpen {
		t.Fatalf("the node reads %+v", n)
	}
	w.readAll(other)
	w.restartServer()
	w.join(other)
	w.work(other)
	w.commit()
	w.wantRow(goesOn.ID, fleet.JobSucceeded, "", 2, 2, "n2")
	w.d.LeaveNode(w.now, fleet.NodeRecord{ID: "n9", Left: true}, "", w.pending)
}

func TestBootSince(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	since := func() fleet.Time { return w.d.nodes["n1"].view().BootSince }
	first := w.now
	if since() != first {
		t.Fatalf("its first boot is said to be since %d", since())
	}
	w.pass(1000)
	w.disconnect(a)
	w.join(a)
	if since() != first {
		t.Fatal("a reconnect is taken for a boot")
	}
	w.pass(1000)
	w.restart(a)
	w.connect(a)
	w.start()
	w.finish(2) // whether it was committed is known by the reload alone
	if since() != w.now {
		t.Fatalf("its next boot is said to be since %d, at %d", since(), w.now)
	}
	w.restartServer()
	w.join(a)
	if since() != 0 {
		t.Fatal("a boot that was on record is taken for a new one")
	}
}
