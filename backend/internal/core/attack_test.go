package core

import (
	"testing"

	"rockpool/backend/internal/core/fleet"
)

func TestAttack_A11_ResultForAnotherNodesJob(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 2), record("n2", "pool-2", 2, 1))
	a, thief := w.agents[0], w.agents[1]
	spec := w.spec("a1", 1)
	w.run(spec, a)
	before := w.d.jobs[spec.ID].row
	w.d.Result(w.now, Session{Node: "n2", Epoch: thief.epoch}, Attempt{Job: spec.ID, Attempt: 1}, &fleet.Result{}, w.pending)
	w.d.Accept(w.now, Session{Node: "n2", Epoch: thief.epoch}, Attempt{Job: spec.ID, Attempt: 1}, w.pending)
	w.wantAudit(AuditResultNotYours)
	w.wantAudit(AuditAcceptNotYours)
	w.after()
	if w.d.jobs[spec.ID].row != before || len(w.pending.Updates) != 0 {
		t.Fatal("it changed something")
	}
	if mailed(thief, SendError) != 2 || thief.mail[0].Code != fleet.CodeNotYours {
		t.Fatalf("the answer is %+v", thief.mail)
	}
	w.work(a)
	w.commit()
	w.d.Result(w.now, Session{Node: "n2", Epoch: thief.epoch}, Attempt{Job: spec.ID, Attempt: 1}, &fleet.Result{}, w.pending)
	w.after() // the job is read back from the store
	w.wantAudit(AuditResultNotYours)
	if !w.store.jobs[spec.ID].hasResult {
		t.Fatal("the owner's result is gone")
	}
}

func TestAttack_A12_StaleResultIsFenced(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 2), record("n2", "pool-1", 1, 1))
	zombie, other := w.agents[0], w.agents[1]
	spec := w.spec("a1", 1)
	w.run(spec, zombie)
	w.disconnect(zombie)
	w.work(zombie) // ends while it is cut off
	for range 11 {
		w.pass(9_000)
		w.heartbeat(other)
	}
	w.commit()
	w.readAll(other)
	w.wantRow(spec.ID, fleet.JobOffered, "", 2, 1, "n2")
	w.connect(zombie)
	w.commit()
	w.read(zombie) // the welcome: it hands in
	w.wantAudit(AuditResultFenced)
	w.commit()
	if mailed(zombie, SendResultAck) != 1 || zombie.mail[0].Verdict != VerdictFenced {
		t.Fatalf("the answer is %+v", zombie.mail)
	}
	w.wantRow(spec.ID, fleet.JobOffered, "", 2, 1, "n2")
	w.work(other)
	w.commit()
	w.wantRow(spec.ID, fleet.JobSucceeded, "", 2, 2, "n2")
	w.d.Result(w.now, Session{Node: "n1", Epoch: zombie.epoch}, Attempt{Job: spec.ID, Attempt: 1}, &fleet.Result{}, w.pending)
	w.after() // once more, after the end
	w.wantAudit(AuditResultFenced)
}

func TestAttack_A12_ResultOverASupersededSession(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	spec := w.spec("a1", 1)
	w.run(spec, a)
	old := a.epoch
	a.open = false // the old socket lives on unnoticed
	w.join(a)
	w.d.Result(w.now, Session{Node: "n1", Epoch: old}, Attempt{Job: spec.ID, Attempt: 1}, &fleet.Result{}, w.pending)
	w.wantAudit(AuditResultFenced)
	if len(w.pending.Updates) != 0 || mailed(a, SendResultAck) != 0 {
		t.Fatal("it changed something, or was answered")
	}
}

func TestAttack_A13_SecondResultDoesNotReplaceTheFirst(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	spec := w.spec("a1", 1)
	w.run(spec, a)
	at := Attempt{Job: spec.ID, Attempt: 1}
	first := &fleet.Result{Digest: [32]byte{1}}
	w.d.Result(w.now, Session{Node: "n1", Epoch: a.epoch}, at, first, w.pending)
	w.d.Result(w.now, Session{Node: "n1", Epoch: a.epoch}, at, first, w.pending) // a duplicate while it is on its way
	w.after()
	if mailed(a, SendResultAck) != 0 {
		t.Fatal("acknowledged before the commit")
	}
	w.commit()
	for _, c := range []struct {
		digest  byte
		verdict Verdict
	}{{1, VerdictDuplicate}, {2, VerdictFenced}} {
		a.mail = nil
		w.d.Result(w.now, Session{Node: "n1", Epoch: a.epoch}, at, &fleet.Result{Digest: [32]byte{c.digest}}, w.pending)
		w.after()
		if mailed(a, SendResultAck) != 1 || a.mail[0].Verdict != c.verdict {
			t.Fatalf("digest %d is answered with %+v", c.digest, a.mail)
		}
	}
	w.wantAudit(AuditResultConflict)
	if w.store.jobs[spec.ID].digest != first.Digest {
		t.Fatal("the stored result changed")
	}
}
