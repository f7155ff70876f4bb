package core

import (
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/nodecore"
)

// A node that says hello in a loop is refused beyond its budget, and costs nothing
// then; it is let in again when it has kept away as it was told. No other node
// notices.
func TestHello_ALoopIsRefused(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1), record("n2", "pool-1", 1, 1))
	a, taken := w.agents[0], 0
	w.pass(hellosAtOnce * helloEvery)
	for range 20 * hellosAtOnce {
		w.disconnect(a)
		w.connect(a)
		w.commit()
		if a.open {
			taken++
		}
		w.pass(10)
	}
	if most := hellosAtOnce + int(20*hellosAtOnce*10/helloEvery); taken < hellosAtOnce || taken > most+1 {
		t.Fatalf("%d of its hellos were taken, %d are allowed", taken, most)
	}
	w.join(a)
	for a.open {
		w.disconnect(a)
		w.connect(a)
		w.commit()
	}
	if a.refused != fleet.CodeRateLimited {
		t.Fatalf("it was refused with %q", a.refused)
	}
	refused := w.d.nodes["n1"].hellos.take(w.now)
	if w.pending.Durable() || refused == nil || refused.RetryAfter < helloWait {
		t.Fatalf("refused with %+v, and the batch %+v", refused, w.pending)
	}
	w.disconnect(w.agents[1])
	w.join(w.agents[1])
	w.pass(refused.RetryAfter)
	w.join(a)
	if !a.ready || !w.agents[1].ready {
		t.Fatal("a node that may come is not let in")
	}
}

// A copy that dials in a loop uses nothing up of what the node itself may say.
func TestHello_ACopysLoopIsNotInTheNodesWay(t *testing.T) {
	w, a, b, _ := copied(t, "m2")
	w.dial(b) // one of the two in turn, both held
	for range 5 * hellosAtOnce {
		w.connect(b)
		if b.open {
			t.Fatal("the copy is let in")
		}
	}
	if b.refused != fleet.CodeRateLimited {
		t.Fatalf("the copy was refused with %q", b.refused)
	}
	w.readAll(a)
	w.join(a)
	if !a.ready {
		t.Fatalf("the node was refused with %q", a.refused)
	}
}

// However often an honest node has to come back, it is never over the budget: one
// whose welcomes are all lost, and one of a fleet that returns after each of many
// restarts of the server.
func TestHello_HonestNodesAreNeverOver(t *testing.T) {
	for seed := range uint64(200) {
		var lost, storm hellos
		redial, now := nodecore.NewRedial(seed), fleet.Time(1)
		for i := range 1000 {
			now += fleet.Time(redial.Wait(0))
			if refused := lost.take(now); refused != nil {
				t.Fatalf("seed %d: refused after %d lost welcomes", seed, i)
			}
		}
		for i := range 100 {
			redial = nodecore.NewRedial(seed + uint64(i)) // as after a healthy session
			for range 5 {
				now += fleet.Time(redial.Wait(0))
				if refused := storm.take(now); refused != nil {
					t.Fatalf("seed %d: refused in storm %d", seed, i)
				}
			}
			now += 60_000
		}
	}
}
