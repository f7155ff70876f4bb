package core

import (
	"testing"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/hold"
	"rockpool/shared/ids"
)

// ignored offers the agent so many jobs, one after the other, none of which it answers.
func (w *world) ignored(a *agent, jobs int) {
	for range jobs {
		w.submit(w.spec("a1", a.slots), "")
		w.commit()
		if mailed(a, SendOffer) != 1 {
			w.fail("%s was not offered the job", a.id)
		}
		a.mail = nil
		w.pass(4000)
		w.heartbeat(a)
		w.pass(1000)
		w.commit()
	}
}

func TestCase_D9_ThreeOffersInARowMakeANodeDeaf(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 4), record("n2", "pool-1", 1, 2))
	deaf := w.agents[0]
	w.ignored(deaf, 2)
	w.wantHeld("n1", "")
	w.ignored(deaf, 1)
	w.wantHeld("n1", "deaf/auto")
	if a := w.lasting(fleet.AlarmNodeDeaf); a.Node != "n1" || a.Pool != "pool-1" || a.Count != 1 || a.Detail != hold.DeafReason {
		t.Fatalf("the alarm reads %+v", a)
	}
	if stored := w.store.nodes["n1"].rec.Holds; len(stored) != 0 {
		t.Fatalf("what only memory knows is stored: %+v", stored)
	}
	deaf.mail = nil
	small := w.spec("a1", 1)
	w.submit(small, "")
	w.commit()
	if mailed(deaf, SendOffer) > 0 {
		t.Fatal("a deaf node was offered work")
	}
	if on := w.granted(w.placementSpec("a1", "worker", "", 1, 1)); len(on) != 1 || on[0] != "n2" {
		t.Fatalf("a placement went to %v", on)
	}

	w.heartbeat(deaf)
	if mailed(deaf, SendProbe) != 1 {
		t.Fatalf("%d probes at its heartbeat", mailed(deaf, SendProbe))
	}
	w.pass(5_001) // it leaves that one unanswered, too
	late := deaf.mail[len(deaf.mail)-1]
	w.heartbeat(deaf)
	if mailed(deaf, SendProbe) != 1 {
		t.Fatal("a second probe within ten seconds")
	}
	w.d.Decline(w.now, Session{Node: "n1", Epoch: deaf.epoch}, Attempt{Job: late.Job, Attempt: late.Attempt}, "runner", w.pending)
	w.after()
	w.wantHeld("n1", "deaf/auto")
	w.pass(5_000)
	w.heartbeat(deaf)
	w.readAll(deaf) // its no, in time
	w.wantHeld("n1", "")
	if a := w.lasting(fleet.AlarmNodeDeaf); a.ID != 0 {
		t.Fatalf("it hears, and %+v lasts", a)
	}
	deaf.mail = nil
	w.beat(30_000) // the jobs that it ignored keep away from it for so long
	w.commit()
	if mailed(deaf, SendOffer) != 1 {
		t.Fatal("it hears, and gets no work")
	}
}

func TestCase_D9_AnAnswerEndsTheRow(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	for range 3 {
		w.ignored(a, hold.MaxSilences-1)
		w.run(w.spec("a1", 1), a)
		w.work(a)
		w.commit()
		w.readAll(a)
	}
	w.wantHeld("n1", "")
}

func TestDeaf_WhatIsSilentAltogetherIsNotDeaf(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 4))
	for range 3 {
		w.submit(w.spec("a1", 1), "")
	}
	w.commit()
	w.pass(6000)
	w.commit()
	w.wantHeld("n1", "") // its connection may be what is dead
	w.heartbeat(w.agents[0])
	w.wantHeld("n1", "deaf/auto")
}

func TestDeaf_ANewSessionBeginsTheRowAnew(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	w.ignored(a, hold.MaxSilences-1)
	w.disconnect(a)
	w.join(a)
	w.ignored(a, 1)
	w.wantHeld("n1", "")
	w.ignored(a, 2)
	w.wantHeld("n1", "deaf/auto")
	w.heartbeat(a)
	w.disconnect(a) // with the probe under way
	w.join(a)
	w.wantHeld("n1", "deaf/auto")
	w.heartbeat(a)
	w.readAll(a)
	w.wantHeld("n1", "")
}

// Nothing but the answer to that very probe over that very session counts.
func TestDeaf_OnlyItsProbesAnswerEndsIt(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	w.ignored(a, hold.MaxSilences)
	offered := w.jobs[0].ID
	say := func(job ids.JobID, attempt int32) {
		w.d.Decline(w.now, Session{Node: "n1", Epoch: a.epoch}, Attempt{Job: job, Attempt: attempt}, "runner", w.pending)
		w.d.Accept(w.now, Session{Node: "n1", Epoch: a.epoch}, Attempt{Job: job, Attempt: attempt}, w.pending)
		w.after()
		w.wantHeld("n1", "deaf/auto")
	}
	say(probeJob, 0)
	say(probeJob, 1) // before it was asked
	w.heartbeat(a)
	asked := w.d.nodes["n1"].probe
	say(offered, asked.attempt)
	say(probeJob, asked.attempt-1)
	say(probeJob, asked.attempt+1)
	w.disconnect(a)
	w.connect(a) // and its commit is still to come
	say(probeJob, asked.attempt)
	w.commit()
	w.readAll(a)
	say(probeJob, asked.attempt)
	w.heartbeat(a)
	say(probeJob, asked.attempt)
	w.readAll(a)
	w.wantHeld("n1", "")

	w.submit(w.spec("a1", 1), "") // deaf again, while the answer may come twice
	for range hold.MaxSilences {
		w.d.unanswered(w.now, w.d.nodes["n1"], w.pending)
	}
	w.heartbeat(a)
	w.wantHeld("n1", "deaf/auto")
	w.d.nodes["n1"].probe.at = w.now // the pause is not over yet
	say(probeJob, asked.attempt+1)
}

// What only memory knows outlives a database that was away, but not the process.
func TestDeaf_OverReloadAndRestart(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	w.ignored(a, hold.MaxSilences)
	w.commit()
	w.reload()
	w.after()
	w.wantHeld("n1", "deaf/auto")
	if c := w.lasting(fleet.AlarmNodeDeaf); c.ID == 0 {
		t.Fatal("its alarm is gone")
	}
	w.restartServer()
	w.wantHeld("n1", "")
	if c := w.lasting(fleet.AlarmNodeDeaf); c.ID != 0 {
		t.Fatalf("nothing is known of it, and %+v lasts", c)
	}
}

func TestDeaf_EndsWithThePersonsWordAndWithTheNode(t *testing.T) {
	for _, end := range []func(w *world){
		func(w *world) {
			if !w.d.LiftHold(w.now, "n1", fleet.HoldDeaf, fleet.OwnerAuto, Actor{Subject: "u:1"}, "", w.pending) {
				t.Fatal("it can't be lifted")
			}
		},
		func(w *world) { w.d.LeaveNode(w.now, w.gone("n1"), "sold", w.pending) },
	} {
		w := script(t, record("n1", "pool-1", 1, 1))
		w.ignored(w.agents[0], hold.MaxSilences)
		end(w)
		w.after()
		w.wantHeld("n1", "")
		w.pass(1000)
		w.heartbeat(w.agents[0])
		w.wantHeld("n1", "") // the row began anew
		if c := w.lasting(fleet.AlarmNodeDeaf); c.ID != 0 {
			t.Fatalf("%+v lasts", c)
		}
	}
}

// Whatever comes and stays away in whichever order: a node is deaf exactly when so
// many offers in a row were left unanswered and it was heard since the first.
func TestSilences_Rows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s hold.Silences
		row, first, heard := 0, fleet.Time(0), fleet.Time(0)
		for now := fleet.Time(1); now < 60; now++ {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				s.Answered()
				row = 0
			case 1:
				heard = now
			default:
				s.Silent(now)
				if row++; row == 1 {
					first = now
				}
			}
			if want := row >= hold.MaxSilences && heard > first; s.Deaf(heard) != want {
				t.Fatalf("deaf is %v after %d in a row since %d, heard at %d", !want, row, first, heard)
			}
		}
	})
}
