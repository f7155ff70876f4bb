package core

import (
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/hold"
)

// repair is what an operator's choice leaves in the record.
func (w *world) repair(keep, rotation string) {
	w.move("n1", func(rec *fleet.NodeRecord) {
		rec.Identity.Keep, rec.Identity.Rotation, rec.Identity.NextSecret = keep, rotation, fleet.Sum{}
	})
}

func TestRepair_EndsWithTheNewSecret(t *testing.T) {
	for _, name := range []string{"the holder", "the other"} {
		for _, restart := range []bool{false, true} {
			w, a, b, spec := copied(t, "m2")
			w.dial(b)
			w.readAll(a)
			w.dial(a)
			list := w.d.nodes["n1"].rec.Identity.Claimants
			chosen, other, keep := a, b, list[0].ID
			if name == "the other" {
				chosen, other, keep = b, a, list[1].ID
			}
			w.repair(keep, "r-1")
			w.readAll(a)
			if name == "the other" && (a.open || a.rotation != "") {
				t.Fatal("who was not chosen keeps the session, or learned of the rotation")
			}
			if restart {
				w.restartServer()
			}
			w.dial(other)
			w.wantRefused(other)
			w.disconnect(chosen)
			w.dial(chosen)
			if !chosen.ready || chosen.rotation != "r-1" || other.rotation != "" {
				t.Fatalf("%s: chosen ready %v, asked for %q", name, chosen.ready, chosen.rotation)
			}
			w.wantHeld("n1", "quarantine/auto")
			w.move("n1", func(rec *fleet.NodeRecord) { rec.Identity.NextSecret = newSecret })
			w.disconnect(chosen)
			chosen.secret = newSecret
			w.join(chosen)
			w.wantAudit(AuditSecretRotated)
			w.commit()
			w.wantHeld("n1", "")
			other.secret = oldSecret // it was looked up a moment before
			w.connect(other)
			if other.refused != fleet.CodeUnauthenticated || w.held("n1") != "" {
				t.Fatalf("%s: the old secret is answered %q, holds %q", name, other.refused, w.held("n1"))
			}
			if w.store.secrets["n1"] != newSecret || w.lasting(fleet.AlarmDuplicate).ID != 0 {
				t.Fatalf("%s: secrets %v, alarm %+v", name, w.store.secrets, w.lasting(fleet.AlarmDuplicate))
			}
			if id := w.store.nodes["n1"].rec.Identity; id.Keep != "" || id.Rotation != "" || len(id.Claimants) != 0 {
				t.Fatalf("%s: the database keeps %+v", name, id)
			}
			w.dial(chosen)
			w.heartbeat(chosen)
			w.commit()
			w.settleOn(spec)
		}
	}
}

// settleOn lets the job end, wherever it is by now: none is lost.
func (w *world) settleOn(spec *fleet.JobSpec) {
	for range 30 {
		for _, a := range w.agents {
			if a.open {
				w.readAll(a)
				w.work(a)
				w.heartbeat(a)
			}
		}
		w.commit()
		if w.store.jobs[spec.ID].row.State == fleet.JobSucceeded {
			return
		}
		w.pass(10_000)
	}
	w.fail("the job is lost: %+v", w.store.jobs[spec.ID].row)
}

// A rotation of a node that nobody copied: with each welcome it is asked for again.
func TestAttack_A43_ARotationIsAskedForUntilItIsDone(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 2))
	a := w.agents[0]
	a.secret = oldSecret
	spec := w.spec("a1", 1)
	w.run(spec, a)
	w.repair("", "r-1")
	w.readAll(a)
	for range 3 {
		if a.rotation != "r-1" {
			t.Fatalf("asked for %q", a.rotation)
		}
		a.rotation = ""
		w.disconnect(a)
		w.join(a)
	}
	w.move("n1", func(rec *fleet.NodeRecord) { rec.Identity.NextSecret = newSecret })
	w.disconnect(a)
	w.join(a) // still with the old one: it crashed in between
	if a.rotation != "r-1" || len(w.store.secrets) != 0 {
		t.Fatal("the rotation ended without a session of the new secret")
	}
	stale := w.store.nodes["n1"].rec
	a.secret, a.rotation = newSecret, ""
	w.disconnect(a)
	w.join(a)
	w.commit()
	if a.rotation != "" || w.store.secrets["n1"] != newSecret {
		t.Fatalf("asked for %q, secrets %v", a.rotation, w.store.secrets)
	}
	stale.Version++ // a record that was read before the end of the rotation
	w.d.PutNode(w.now, stale, w.pending)
	w.after()
	w.readAll(a)
	if a.rotation != "" {
		t.Fatal("a rotation that is over was asked for again")
	}
	w.wantRow(spec.ID, fleet.JobOffered, "", 1, 0, "n1")
	w.work(a)
	w.commit()
	w.wantRow(spec.ID, fleet.JobSucceeded, "", 1, 1, "n1")
}

// Whoever learned of a rotation before the node was held can do nothing with it.
func TestQuarantine_EndsTheRotationThatWasUnderWay(t *testing.T) {
	w, a, b, _ := copied(t, "m2")
	w.repair("", "r-1")
	w.move("n1", func(rec *fleet.NodeRecord) { rec.Identity.NextSecret = newSecret })
	w.dial(b)
	w.commit()
	if id := w.store.nodes["n1"].rec.Identity; id.Rotation != "" || id.NextSecret != (fleet.Sum{}) {
		t.Fatalf("the database keeps %+v", id)
	}
	w.readAll(a)
	a.rotation = ""
	w.dial(a)
	if a.rotation != "" {
		t.Fatal("a node in quarantine is asked for a rotation")
	}
}

// The end of a rotation that the database did not take is done again.
func TestAttack_A43_TheEndOfARotationOutlivesALostCommit(t *testing.T) {
	for _, outcome := range []int{0, 1, 2} {
		w := script(t, record("n1", "pool-1", 1, 2))
		a := w.agents[0]
		a.secret = oldSecret
		w.repair("", "r-1")
		w.move("n1", func(rec *fleet.NodeRecord) { rec.Identity.NextSecret = newSecret })
		w.disconnect(a)
		a.secret = newSecret
		w.join(a)
		w.start()
		w.finish(outcome)
		w.commit()
		w.heartbeat(a)
		w.commit()
		w.move("n1", func(rec *fleet.NodeRecord) { rec.Region = "eu" })
		if rec := w.store.nodes["n1"].rec; w.store.secrets["n1"] != newSecret || rec.Identity.Rotation != "" {
			t.Fatalf("outcome %d: %+v, secrets %v", outcome, rec.Identity, w.store.secrets)
		}
		if id := w.d.nodes["n1"].rec.Identity; id.Rotation != "" || !a.open {
			t.Fatalf("outcome %d: memory has %+v", outcome, id)
		}
	}
}

// A node that dials anew because it was asked for another secret does not flap.
func TestRotation_IsNoFlap(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 2))
	a := w.agents[0]
	a.secret = oldSecret
	for i := range hold.MaxFlaps + 1 {
		w.repair("", "r-"+string(rune('1'+i)))
		w.readAll(a)
		next := fleet.Sum{byte(i + 1), 77}
		w.move("n1", func(rec *fleet.NodeRecord) { rec.Identity.NextSecret = next })
		a.secret, a.rotation = next, ""
		w.disconnect(a)
		w.join(a)
		w.commit()
		if w.store.secrets["n1"] != next {
			t.Fatalf("rotation %d did not end", i+1)
		}
		w.wantHeld("n1", "")
	}
}
