package core

import (
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/schedule"
)

// An offer that a session took along when it ended is made again over the next one,
// at once, whatever the node's spool holds: a result of what never began can't be
// in it.
func TestOffer_IsMadeAgainOverTheNextSession(t *testing.T) {
	for name, restarted := range map[string]bool{"the same process": false, "another one": true} {
		t.Run(name, func(t *testing.T) {
			w := script(t, record("n1", "pool-1", 1, 2))
			a := w.agents[0]
			w.run(w.spec("a1", 1), a)
			spec := w.spec("a1", 1)
			w.submit(spec, "")
			w.commit() // its offer is on the way
			w.disconnect(a)
			w.work(a) // into the spool
			if restarted {
				a.boot++
			}
			w.connect(a)
			w.commit()
			w.commit()
			w.readAll(a)
			w.wantRow(spec.ID, fleet.JobOffered, "", 2, 0, "n1")
			if v, _ := w.d.LiveJob(w.now, spec.ID); v.State != fleet.JobRunning {
				t.Fatalf("it is %v", v.State)
			}
		})
	}
}

// While its session is gone, or waits for its commit, a node can't answer: the job
// goes elsewhere after the offer's time, keeps away from nothing, and nothing counts
// against the node.
func TestOffer_NoSessionIsNoSilence(t *testing.T) {
	for name, connects := range map[string]bool{"gone": false, "not committed": true} {
		t.Run(name, func(t *testing.T) {
			w := script(t, record("n1", "pool-1", 1, 1))
			a := w.agents[0]
			spec := w.spec("a1", 1)
			w.submit(spec, "")
			w.commit()
			w.disconnect(a)
			if connects {
				w.connect(a)
			}
			w.pass(testConfig.OfferTimeout + 1)
			w.commit()
			j := w.d.jobs[spec.ID]
			if len(j.avoid) > 0 || !j.wait.Waiting() && !connects || w.d.nodes["n1"].silences.Deaf(fleet.Never) {
				t.Fatalf("avoids %+v, waits %v", j.avoid, j.wait.Waiting())
			}
			w.join(a)
			w.commit()
			w.commit()
			w.readAll(a)
			w.wantRow(spec.ID, fleet.JobOffered, "", 2, 0, "n1")
		})
	}
}

// Over a session that stands the silence is the node's.
func TestOffer_SilenceKeepsTheJobAway(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	spec := w.spec("a1", 1)
	w.submit(spec, "")
	w.commit()
	w.pass(testConfig.OfferTimeout + 1)
	want := schedule.Exclusion{Node: &w.d.nodes["n1"].slot, Until: w.now - 1 + testConfig.AvoidFor}
	if avoid := w.d.jobs[spec.ID].avoid; len(avoid) != 1 || avoid[0] != want {
		t.Fatalf("avoids %+v", avoid)
	}
}
