package core

import (
	"math/rand/v2"
	"testing"

	"rockpool/backend/internal/core/fleet"
)

// revive connects everybody who may come and lets them read what is theirs.
func (w *world) revive() {
	for _, a := range w.agents {
		w.connect(a)
	}
	w.start()
	w.finish(0)
	for _, a := range w.agents {
		for len(a.mail) > 0 {
			w.read(a)
		}
		w.heartbeat(a)
	}
}

// Histories that are mostly of placements, on nodes that mostly live: whatever
// comes, reservations add up, nodes are distinct, a key has one, and nothing is
// left when all have ended.
func TestHistory_Placements(t *testing.T) {
	grants, states, refused := 0, map[fleet.PlacementState]int{}, 0
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := newWorld(func(_ string, n int) int { return r.IntN(n) }, func(format string, args ...any) {
			t.Helper()
			t.Fatalf("seed %d: "+format, append([]any{seed}, args...)...)
		})
		w.found(8)
		for range 400 {
			switch what := w.pick("what", 20); {
			case what < 8:
				w.placeAny()
			case what < 10:
				w.revive()
			case what < 11:
				w.change()
			case what < 13:
				w.listen()
			default:
				w.step()
			}
		}
		w.heal()
		grants += w.grants
		refused += w.store.grants.refused
		for state, rows := range w.store.grants.states {
			states[state] += rows
		}
	}
	t.Logf("%d placements, %d refused by the store; rows by state: %v", grants, refused, states)
	if grants < 200 || refused == 0 || len(states) != 5 {
		t.Fatalf("the histories show too little: %d placements, %d refused, by state %v", grants, refused, states)
	}
}
