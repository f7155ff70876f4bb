package core

import (
	"testing"

	"rockpool/backend/internal/core/fleet"
)

func TestAlarm_AtOnceWhereNoNodeCouldEver(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 2), record("n2", "pool-1", 1, 1))
	w.move("n1", func(r *fleet.NodeRecord) {
		r.Holds = []fleet.Hold{{Kind: fleet.HoldCordon, Owner: fleet.OwnerOperator}}
	})
	w.disconnect(w.agents[1])
	hope := w.spec("a1", 2)
	w.submit(hope, "") // its node may be uncordoned
	w.wantNone(fleet.AlarmPoolExhausted)
	var none []*fleet.JobSpec
	for i := range fleet.MaxAlarmWaiting + 10 {
		spec := w.spec("a1", []int64{3, 1}[i%2])
		spec.Runner = []string{"noop", "nowhere"}[i%2]
		none = append(none, spec)
		w.submit(spec, "")
	}
	w.pass(1000)
	w.commit()
	a := w.lasting(fleet.AlarmPoolExhausted)
	if a.Count != int64(len(none)) || a.WaitingNow != int64(len(none)+1) || len(a.Waiting) != fleet.MaxAlarmWaiting || a.Waiting[0] != hope.ID {
		t.Fatalf("%d that nobody could take: %+v", len(none), a)
	}
	if a.Detail != "0 of 2 nodes can take it: 1 not connected, 1 cordoned" {
		t.Errorf("it says %q", a.Detail)
	}
	for _, spec := range none {
		w.d.Cancel(w.now, spec.ID, "u:1", 0, w.pending)
	}
	w.pass(2000)
	if w.lasting(fleet.AlarmPoolExhausted).WaitingNow != 1 {
		t.Fatal("one still waits")
	}
	w.move("n1", func(r *fleet.NodeRecord) { r.Holds = nil })
	w.wantNone(fleet.AlarmPoolExhausted)
}

func TestAlarm_AtOnceWhenTheLastNodeThatCouldGoes(t *testing.T) {
	for name, goes := range map[string]func(w *world){
		"leaves": func(w *world) { w.d.RevokeNode(w.now, w.gone("n1"), "sold", w.pending) },
		"moves": func(w *world) {
			w.move("n1", func(r *fleet.NodeRecord) { r.Pool = "other" })
		},
		"pool closes": func(w *world) {
			w.d.PutPool(w.now, fleet.Pool{ID: "pool-1", State: fleet.PoolIsClosed, Thresholds: fleet.DefaultThresholds()}, w.pending)
		},
		"comes back smaller": func(w *world) {
			w.disconnect(w.agents[0])
			w.agents[0].slots = 1
			w.join(w.agents[0])
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := script(t, record("n1", "pool-1", 1, 2), record("n2", "pool-1", 1, 1))
			w.run(w.spec("a1", 2), w.agents[0])
			w.submit(w.spec("a1", 2), "")
			w.pass(5000)
			w.wantNone(fleet.AlarmPoolExhausted)
			goes(w)
			w.after()
			w.pass(1000)
			if a := w.lasting(fleet.AlarmPoolExhausted); a.WaitingNow == 0 {
				t.Fatalf("no hope, and no alarm: %+v", a)
			}
		})
	}
}

// What waits is led to no pool, or the last node goes that could take it: its alarm
// comes within a second also when the work in front of it, which asks for the same,
// may go to another pool.
func TestAlarm_AtOnceWhereverItWaits(t *testing.T) {
	bind := func(w *world, pools ...string) {
		w.d.PutApp(w.now, fleet.App{ID: "a1", Owner: 1, Bindings: []fleet.Binding{{Pools: pools}}}, w.pending)
	}
	move := func(w *world) { w.move("n1", func(r *fleet.NodeRecord) { r.Pool = "other" }) }
	for _, c := range []struct {
		name   string
		pools  []string // of the app
		canary bool     // a canary job waits behind the app's other work
		lose   func(w *world)
		pool   string // of the alarm
	}{
		{"led to no pool", []string{"canary"}, false, func(w *world) { bind(w, fleet.PoolUnassigned) }, ""},
		{"its pool's node goes", []string{"canary"}, false, move, "canary"},
		{"the canary pool's goes, and the other work may be placed elsewhere", []string{"canary", "pool-1"}, true, move, "canary"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := script(t, record("n1", "canary", 0, 1), record("n2", "pool-1", 1, 1))
			bind(w, c.pools...)
			for range len(c.pools) + 1 { // the last one waits
				w.submit(w.spec("a1", 1), "")
			}
			if c.canary {
				spec := w.spec("a1", 1)
				spec.Pool = "canary"
				w.submit(spec, "")
			}
			w.commit()
			w.pass(2000)
			w.wantNone(fleet.AlarmPoolExhausted)
			c.lose(w)
			w.after()
			w.pass(1000)
			want := fleet.Fingerprint{Kind: fleet.AlarmPoolExhausted, Role: "worker", App: "a1", Pool: c.pool}
			if a := w.lasting(fleet.AlarmPoolExhausted); a.Fingerprint != want {
				t.Fatalf("the alarm is %+v", a)
			}
		})
	}
}
