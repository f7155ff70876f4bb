package core

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
)

// mass is a pool of so many nodes of one slot, each of which runs a job, and a
// neighbor's pool of two idle ones.
func mass(t *testing.T, nodes int) (w *world, specs []*fleet.JobSpec) {
	t.Helper()
	var recs []fleet.NodeRecord
	for i := range nodes {
		recs = append(recs, record(fmt.Sprintf("n%02d", i), "pool-1", 1, 1))
	}
	w = script(t, append(recs, record("other1", "pool-2", 2, 1), record("other2", "pool-2", 2, 1))...)
	for i := range nodes {
		specs = append(specs, w.spec("a1", 1))
		w.run(specs[i], w.agents[i])
	}
	return w, specs
}

// beatBut lets time pass in which all but the first so many agents are heard.
func (w *world) beatBut(silent int, ms fleet.Time) {
	for end := w.now + ms; w.now < end; {
		w.pass(min(5000, end-w.now))
		for _, a := range w.agents[silent:] {
			w.heartbeat(a)
		}
		w.commit()
	}
}

func (w *world) leases() (ready, suspect, lost int) {
	for _, n := range w.d.order {
		switch n.lease.State {
		case fleet.LeaseReady:
			ready++
		case fleet.LeaseSuspect:
			suspect++
		case fleet.LeaseLost:
			lost++
		}
	}
	return ready, suspect, lost
}

func TestCase_F4_MassLossKeepsThePoolsWork(t *testing.T) {
	w, specs := mass(t, 12)
	for _, a := range w.agents[:4] {
		w.disconnect(a) // some break off, the others fall silent
	}
	w.beatBut(7, 300_000)
	if ready, suspect, lost := w.leases(); ready != 7 || suspect != 7 || lost != 0 {
		t.Fatalf("%d ready, %d suspect, %d lost", ready, suspect, lost)
	}
	a := w.lasting(fleet.AlarmMassLoss)
	if a.Pool != "pool-1" || a.Count != 1 || a.Detail != "7 of 12 nodes fell silent at once; their work is kept for them for 10m 00s at most" {
		t.Fatalf("the alarm reads %+v", a)
	}
	for _, p := range w.d.Fleet(w.now).Pools {
		if since := p.MassLoss; (since != 0) != (p.Pool.ID == "pool-1") || since > w.now-200_000 {
			t.Errorf("%s shows a mass loss since %d", p.Pool.ID, since)
		}
	}
	for i, a := range w.agents[:7] {
		w.join(a)
		w.heartbeat(a)
		w.wantRow(specs[i].ID, fleet.JobOffered, "", 1, 0, a.id)
	}
	w.beatBut(0, 2000)
	if a := w.lasting(fleet.AlarmMassLoss); a.ID != 0 {
		t.Fatalf("most are back, and %+v lasts", a)
	}
	for i, a := range w.agents[:12] {
		w.work(a)
		w.commit()
		w.wantRow(specs[i].ID, fleet.JobSucceeded, "", 1, 1, a.id)
	}
	if a := w.lasting(fleet.AlarmNodeLost); a.ID != 0 {
		t.Fatalf("%+v lasts", a)
	}
}

// What ends a mass loss without the nodes: its time, or a person's word.
func TestMassLoss_EndsByTimeAndByWord(t *testing.T) {
	for _, word := range []bool{false, true} {
		w, specs := mass(t, 10)
		w.beatBut(6, 120_000)
		w.wantRow(specs[0].ID, fleet.JobOffered, "", 1, 0, "n00")
		began := w.lasting(fleet.AlarmMassLoss).RaisedAt
		if word {
			if !w.d.ReleasePool(w.now, "pool-1", Actor{Subject: "u:1"}, "power cut", w.pending) {
				t.Fatal("it can't be released")
			}
			w.after()
			if at := len(w.pending.Audits); at != 1 || w.pending.Audits[0].Pool != "pool-1" || w.pending.Audits[0].Detail != "power cut" {
				t.Fatalf("notes %+v", w.pending.Audits)
			}
			w.commit()
		} else {
			w.beatBut(6, began+massSpan-w.now-1)
			if _, _, lost := w.leases(); lost != 0 {
				t.Fatalf("%d were lost before its time was over", lost)
			}
			w.beatBut(6, 2000)
		}
		if _, _, lost := w.leases(); lost != 6 {
			t.Fatalf("word %v: %d are lost", word, lost)
		}
		w.wantRow(specs[0].ID, fleet.JobQueued, fleet.CauseNodeLost, 1, 1, "")
		w.beatBut(6, 100_000)
		if a := w.lasting(fleet.AlarmMassLoss); a.ID != 0 {
			t.Fatalf("it began anew of the same nodes: %+v", a)
		}
		if w.d.ReleasePool(w.now, "pool-1", Actor{}, "", w.pending) || w.d.ReleasePool(w.now, "nowhere", Actor{}, "", w.pending) {
			t.Fatal("nothing stands, and it was released")
		}
	}
}

func TestMassLoss_WhatIsNone(t *testing.T) {
	for name, play := range map[string]func(t *testing.T) *world{
		"a pool of nine": func(t *testing.T) *world {
			w, _ := mass(t, 9)
			w.beatBut(8, 100_000)
			return w
		},
		"half of ten": func(t *testing.T) *world {
			w, _ := mass(t, 10)
			w.beatBut(5, 100_000)
			return w
		},
		"one after the other": func(t *testing.T) *world {
			w, _ := mass(t, 10)
			for i := range 7 {
				w.beatBut(i+1, 40_000)
			}
			return w
		},
		"connections that break for seconds": func(t *testing.T) *world {
			w, _ := mass(t, 10)
			for _, a := range w.agents {
				w.disconnect(a)
			}
			w.pass(10_000)
			for _, a := range w.agents {
				w.join(a)
			}
			w.beatBut(0, 60_000)
			return w
		},
		"a restart after which come back all but those that were lost before": func(t *testing.T) *world {
			w, _ := mass(t, 10)
			for i := range 7 {
				w.beatBut(i+1, 40_000)
			}
			w.beatBut(7, 100_000)
			w.restartServer()
			for _, a := range w.agents[7:] {
				w.join(a)
			}
			w.beatBut(7, 100_000)
			return w
		},
		"a server that stood still": func(t *testing.T) *world {
			w, _ := mass(t, 10)
			w.now += 90_000
			w.after()
			for _, a := range w.agents { // they had given the session up meanwhile
				w.disconnect(a)
			}
			w.pass(60_000)
			for _, a := range w.agents {
				w.join(a)
			}
			w.beatBut(0, 60_000)
			return w
		},
	} {
		w := play(t)
		for _, a := range w.store.alarms.rows {
			if a.Kind == fleet.AlarmMassLoss {
				t.Errorf("%s raised %+v", name, a)
			}
		}
	}
}

// The hold stands as long as its alarm, which the database has.
func TestMassLoss_OverReloadAndRestart(t *testing.T) {
	w, specs := mass(t, 10)
	w.beatBut(6, 120_000)
	for _, again := range []func(){func() { w.reload(); w.after() }, w.restartServer} {
		again()
		w.commit()
		if w.lasting(fleet.AlarmMassLoss).ID == 0 {
			t.Fatal("it is forgotten")
		}
	}
	w.pass(120_000) // longer than the grace after the restart
	w.commit()
	w.wantRow(specs[0].ID, fleet.JobOffered, "", 1, 0, "n00")
	for _, a := range w.agents[:10] {
		w.join(a)
	}
	w.beatBut(0, 2000)
	if a := w.lasting(fleet.AlarmMassLoss); a.ID != 0 {
		t.Fatalf("all are back, and %+v lasts", a)
	}
	w.wantRow(specs[0].ID, fleet.JobOffered, "", 1, 0, "n00")
}

// Most of a pool that does not come back when the server does is kept its work like
// one that fell silent under it.
func TestMassLoss_OfNodesThatARestartDoesNotBringBack(t *testing.T) {
	w, specs := mass(t, 12)
	w.restartServer()
	for _, a := range w.agents[7:] {
		w.join(a)
	}
	w.beatBut(7, 300_000)
	if ready, suspect, lost := w.leases(); ready != 7 || suspect != 7 || lost != 0 {
		t.Fatalf("%d ready, %d suspect, %d lost", ready, suspect, lost)
	}
	if a := w.lasting(fleet.AlarmMassLoss); a.Pool != "pool-1" || a.Count != 1 {
		t.Fatalf("the alarm reads %+v", a)
	}
	for i := range 7 {
		w.wantRow(specs[i].ID, fleet.JobOffered, "", 1, 0, w.agents[i].id)
	}
	for _, a := range w.agents[:7] {
		w.join(a)
	}
	w.beatBut(0, 2000)
	if a := w.lasting(fleet.AlarmMassLoss); a.ID != 0 {
		t.Fatalf("all are back, and %+v lasts", a)
	}
}

// A mass loss says all that the pool's threshold of nodes could say: that alarm ends
// with it, or follows it.
func TestMassLoss_SaysThatNodesAreNotReady(t *testing.T) {
	w, _ := mass(t, 12)
	w.beatBut(12, 120_000)
	if loss, few := w.lasting(fleet.AlarmMassLoss), w.lasting(fleet.AlarmNodesNotReady); loss.ID == 0 || few.ID != 0 {
		t.Fatalf("while it stands: %+v and %+v", loss, few)
	}
	w.beatBut(12, massSpan)
	if loss, few := w.lasting(fleet.AlarmMassLoss), w.lasting(fleet.AlarmNodesNotReady); loss.ID != 0 || few.ID == 0 {
		t.Fatalf("afterwards: %+v and %+v", loss, few)
	}
	for _, a := range w.store.alarms.rows {
		if a.Kind == fleet.AlarmNodesNotReady && a.RaisedAt < w.now-massSpan/2 {
			t.Fatalf("it was raised before, too: %+v", a)
		}
	}
}

func TestMassLoss_ANodeThatMovesAwayIsNotKept(t *testing.T) {
	w, specs := mass(t, 12)
	w.beatBut(8, 120_000)
	w.move("n00", func(rec *fleet.NodeRecord) { rec.Pool = "pool-2" })
	w.beatBut(8, 1000)
	if got := w.d.nodes["n00"].lease.State; got != fleet.LeaseLost {
		t.Fatalf("it is %v", got)
	}
	w.wantRow(specs[0].ID, fleet.JobQueued, fleet.CauseNodeLost, 1, 1, "")
	w.wantRow(specs[1].ID, fleet.JobOffered, "", 1, 0, "n01")
}

// Heartbeats that come up to an interval early or late move no lease.
func TestCase_N41_JitterFlipsNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := script(t, record("n1", "pool-1", 1, 1))
		a, begin := w.agents[0], w.now
		changes := len(w.d.nodes["n1"].lease.Past)
		for i := fleet.Time(1); i <= 50; i++ {
			due := begin + i*testConfig.Heartbeat
			at := due + fleet.Time(rapid.Int64Range(-int64(testConfig.Heartbeat), int64(testConfig.Heartbeat)).Draw(rt, "jitter"))
			if late := w.d.nodes["n1"].lease.Seen + 2*testConfig.Heartbeat; at > late { // two in a row, the one early and the other late
				at = late
			}
			if at > w.now {
				w.pass(at - w.now)
			}
			w.heartbeat(a)
			view, _ := w.d.LiveNode("n1")
			if listed := w.d.Fleet(w.now).Nodes[0]; listed.Lease != view.Lease || view.Lease != fleet.LeaseReady || listed.LastSeen != view.LastSeen {
				rt.Fatalf("listed as %v, itself %v", listed.Lease, view.Lease)
			}
		}
		if past := w.d.nodes["n1"].lease.Past; len(past) != changes {
			rt.Fatalf("its lease moved: %+v", past)
		}
	})
}

// However nodes of a pool come and go, most of it is never lost at once before its
// ten minutes are over, and none while the mass loss stands.
func TestMassLoss_NeverLosesMostAtOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w, _ := mass(t, rapid.IntRange(10, 14).Draw(rt, "nodes"))
		nodes := len(w.agents) - 2
		silent := make([]bool, len(w.agents))
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			for i := range nodes {
				silent[i] = silent[i] != (rapid.IntRange(0, 2).Draw(rt, "turn") == 0)
			}
			for range rapid.IntRange(1, 40).Draw(rt, "beats") {
				before, stood := w.lostOf("pool-1"), w.d.massSince("pool-1")
				w.pass(5000)
				lost, stands := w.lostOf("pool-1")-before, w.d.massSince("pool-1")
				if over := stood != 0 && w.now >= stood+massSpan; 2*lost > nodes && !over || lost > 0 && stood != 0 && stands == stood {
					rt.Fatalf("%d of %d were lost at once; a mass loss stood since %d, now %d", lost, nodes, stood, stands)
				}
				for i, a := range w.agents {
					if !silent[i] {
						w.join(a)
						w.heartbeat(a)
					}
				}
				w.commit()
			}
		}
	})
}

// lostOf counts the pool's nodes that are lost.
func (w *world) lostOf(pool string) (lost int) {
	for _, n := range w.d.order {
		if n.rec.Pool == pool && n.lease.State == fleet.LeaseLost {
			lost++
		}
	}
	return lost
}
