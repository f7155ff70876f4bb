package core

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/hold"
)

// change alters the store now; the core hears of it later.
func (w *world) change() {
	s := w.store
	switch w.pick("change", 8) {
	case 0, 1:
		n := s.nodes[w.agents[w.pick("node", len(w.agents))].id]
		n.rec.Pool = s.pools[w.pick("pool", len(s.pools))].ID
		w.hear(n)
	case 2, 6, 7:
		n := s.nodes[w.busy().id]
		w.holdAny(n)
		w.hear(n)
		w.listen()
	case 3:
		a := &s.apps[w.pick("app", len(s.apps))]
		a.Bindings = nil
		if w.pick("bind", 2) == 0 {
			a.Bindings = []fleet.Binding{{
				Pools:         []string{s.pools[w.pick("pool", len(s.pools))].ID, s.pools[w.pick("pool", len(s.pools))].ID},
				AllowFallback: w.pick("fallback", 2) == 0,
			}}
		}
		a.Share = fleet.Share{Weight: int32(100 * (1 + w.pick("weight", 3)))}
		if w.quotas && w.pick("quota", 3) == 0 {
			a.Share.MaxSlots = int64(1 + w.pick("most", 3))
		}
		a.Version++
		app := *a
		w.admin = append(w.admin, func() { w.d.PutApp(w.now, app, w.pending) })
	case 4:
		p := &s.pools[w.pick("pool", len(s.pools))]
		p.State = []fleet.PoolState{fleet.PoolActive, fleet.PoolDrains, fleet.PoolIsClosed}[w.pick("state", 3)]
		p.Thresholds.QueueWaitMs = []int64{0, 5000, 60_000}[w.pick("wait", 3)]
		p.Version++
		pool := *p
		w.admin = append(w.admin, func() { w.d.PutPool(w.now, pool, w.pending) })
	case 5: // a node that left registers again
		for _, a := range w.agents {
			if n := s.nodes[a.id]; n.rec.Left {
				n.rec.Left, n.rec.Identity = false, fleet.Identity{} // it begins anew
				w.hear(n)
				return
			}
		}
	}
}

// busy is an agent that has work, if there is one.
func (w *world) busy() *agent {
	from := w.pick("node", len(w.agents))
	for i := range w.agents {
		if a := w.agents[(from+i)%len(w.agents)]; len(a.work) > 0 {
			return a
		}
	}
	return w.agents[from]
}

// holdAny lifts an operator's holds, or puts one: a drain mostly has a deadline,
// also one that has passed already.
func (w *world) holdAny(n *modelNode) {
	var holds []fleet.Hold
	if w.pick("hold", 3) > 0 {
		kinds := []fleet.HoldKind{fleet.HoldDrain, fleet.HoldDrain, fleet.HoldCordon, fleet.HoldQuarantine}
		h := fleet.Hold{Kind: kinds[w.pick("kind", len(kinds))], Owner: fleet.OwnerOperator}
		if span := []fleet.Time{0, -500, 1, 2000, 20_000}[w.pick("deadline", 5)]; span != 0 && h.Kind == fleet.HoldDrain {
			h.Deadline = w.now + span
		}
		if w.pick("until", 4) == 0 {
			h.Until = w.now + []fleet.Time{1, 15_000, 60_000}[w.pick("ends", 3)]
		}
		holds = append(holds, h)
	}
	n.rec.Holds = hold.Merged(holds, n.rec.Holds)
}

// liftAny lets a person lift a hold that the core put.
func (w *world) liftAny(a *agent) {
	for _, h := range w.d.nodes[a.id].rec.Holds {
		lifted := w.d.LiftHold(w.now, a.id, h.Kind, h.Owner, Actor{Subject: "u:1"}, "by hand", w.pending)
		if lifted != hold.OfCore(h) {
			w.fail("lifting %+v: %v", h, lifted)
		}
		w.after()
	}
}

func (w *world) hear(n *modelNode) {
	rec := n.written()
	w.admin = append(w.admin, func() { w.d.PutNode(w.now, rec, w.pending) })
}

// written makes the record the store's next.
func (n *modelNode) written() fleet.NodeRecord {
	n.rec.Version++
	rec := n.rec
	rec.Holds = slices.Clone(rec.Holds)
	return rec
}

// gone takes the node out of the store's fleet, and gives its record since.
func (w *world) gone(id string) fleet.NodeRecord {
	n := w.store.nodes[id]
	n.rec.Left = true
	return n.written()
}

// listen lets the core hear of the oldest change, and listenAny of any: the order
// in which it hears need not be that in which they were made.
func (w *world) listen() { w.listenTo(0) }

func (w *world) listenAny() { w.listenTo(w.pick("told", max(1, len(w.admin)))) }

func (w *world) listenTo(n int) {
	if len(w.admin) > 0 {
		tell := w.admin[n]
		w.admin = slices.Delete(w.admin, n, n+1)
		tell()
		w.after()
	}
}

// step lets one thing happen.
func (w *world) step() {
	a := w.agents[w.pick("agent", len(w.agents))]
	choice := w.pick("what", 100)
	if w.record {
		w.note("step", choice)
	}
	switch {
	case choice < 7:
		w.submitAny()
	case choice < 10:
		w.placeAny()
	case choice < 25:
		w.start()
	case choice < 45:
		w.finish([]int{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2}[w.pick("commit", 12)])
	case choice < 52:
		w.connect(a)
	case choice < 54:
		w.disconnect(a)
	case choice < 55:
		w.restart(a)
	case choice < 72:
		w.read(a)
	case choice < 80:
		w.work(a)
	case choice < 85:
		w.heartbeat(a)
	case choice < 91:
		w.pass([]fleet.Time{10, 400, 1500, 3000, 6000, 26_000, 31_000, 95_000}[w.pick("pass", 8)])
	case choice < 92:
		w.forge(a)
	case choice < 93:
		if len(w.jobs) > 0 {
			w.resolveAny(w.jobs[w.pick("job", len(w.jobs))])
		}
	case choice < 94:
		if len(w.jobs) > 0 {
			w.d.Cancel(w.now, w.jobs[w.pick("job", len(w.jobs))].ID, "u:1", 1000, w.pending)
			w.after()
		}
	case choice < 95:
		w.liftAny(a)
	case choice < 97:
		w.change()
	case choice < 98:
		w.listenAny()
	case choice < 99:
		w.people()
	default:
		w.depart(a)
	}
}

func (w *world) submitAny() {
	spec := w.spec(w.store.apps[w.pick("app", len(w.store.apps))].ID, int64(1+w.pick("slots", 2)))
	spec.Priority = int32(w.pick("priority", 3))
	spec.MaxAttempts = int32(1 + w.pick("attempts", 4))
	spec.OnNodeLost = []fleet.NodeLostPolicy{fleet.OnLostFail, fleet.OnLostHold, fleet.OnLostRequeue, fleet.OnLostRequeue}[w.pick("lost", 4)]
	if w.pick("exhausted", 4) == 0 {
		spec.WhenExhausted = fleet.WhenExhaustedFail
	}
	spec.Role = worldRoles[w.pick("role", len(worldRoles))]
	notBefore := w.timesAny(spec)
	switch w.pick("special", 16) {
	case 14:
		spec.Pool = "canary"
	case 15:
		spec.Backend = "cuda"
	}
	key := ""
	if w.pick("key", 4) == 0 {
		key = fmt.Sprint("key-", w.pick("which", 3))
	}
	w.submitAt(spec, key, notBefore)
}

// timesAny gives the job limits and pauses, often none.
func (w *world) timesAny(spec *fleet.JobSpec) (notBefore fleet.Time) {
	spec.RetryBackoffMs = []int64{fleet.NoBackoff, 0, 5000, 20_000}[w.pick("backoff", 4)]
	spec.AvoidFailedNode = w.pick("avoid", 4) == 0
	if w.pick("queue timeout", 4) == 0 {
		spec.QueueTimeoutMs = []int64{1, 2000, 40_000}[w.pick("span", 3)]
	}
	if w.pick("run timeout", 4) == 0 {
		spec.RunTimeoutMs = []int64{1, 10_000}[w.pick("span", 2)]
	}
	if w.pick("not before", 6) == 0 {
		notBefore = w.now + []fleet.Time{-5, 0, 1, 3000, 100_000}[w.pick("span", 5)]
	}
	return notBefore
}

// resolveAny lets a person decide about any job; only held ones care.
func (w *world) resolveAny(spec *fleet.JobSpec) {
	j := w.d.jobs[spec.ID]
	held := j != nil && j.row.State == fleet.JobQueued && j.row.Cause == fleet.CauseHeld
	action := []fleet.ResolveAction{fleet.ResolveRequeue, fleet.ResolveFail}[w.pick("resolve", 2)]
	_, resolved := w.d.Resolve(w.now, spec.ID, action, Actor{Subject: "u:1"}, w.pending)
	if resolved != held {
		w.fail("%s was held: %v, resolved: %v", spec.ID, held, resolved)
	}
	if resolved {
		w.resolves++
	}
	w.after()
}

func TestHistory_InvariantsHoldAfterEveryEvent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(func(name string, n int) int { return rapid.IntRange(0, n-1).Draw(t, name) }, t.Fatalf)
		w.found(6)
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			w.step()
		}
		w.heal()
	})
}

func seeded(t *testing.T, seed uint64, steps int, record bool) *world {
	w := begun(t, seed, record)
	w.quotas = true
	for range steps {
		w.step()
	}
	w.heal()
	return w
}

// begun is a world in which the seed chooses what happens.
func begun(t *testing.T, seed uint64, record bool) *world {
	r := rand.New(rand.NewPCG(seed, 1))
	w := newWorld(func(_ string, n int) int { return r.IntN(n) }, func(format string, args ...any) {
		t.Helper()
		t.Fatalf("seed %d: "+format, append([]any{seed}, args...)...)
	})
	w.record = record
	w.found(8)
	return w
}

func TestHistory_LongSeeds(t *testing.T) {
	seeds := uint64(8)
	if os.Getenv("ROCKPOOL_TEST_SOAK") != "" {
		seeds = 200
	}
	autos, resolves, ends := 0, 0, map[fleet.JobState]int{}
	for seed := range seeds {
		w := seeded(t, seed, 1500, false)
		if len(w.store.order) < 50 {
			t.Fatalf("seed %d: only %d jobs", seed, len(w.store.order))
		}
		autos, resolves = autos+w.store.autos, resolves+w.resolves
		for _, j := range w.store.jobs {
			ends[j.row.State]++
		}
	}
	if autos == 0 || resolves == 0 {
		t.Fatalf("the histories show too little: %d automatic holds, %d resolved jobs", autos, resolves)
	}
	for _, state := range fleet.JobStates() {
		if state.Terminal() != (ends[state] > 0) {
			t.Errorf("%d jobs end %v", ends[state], state)
		}
	}
}

func TestHistory_SameHistorySameEffects(t *testing.T) {
	for seed := range uint64(5) {
		one, two := seeded(t, seed, 800, true), seeded(t, seed, 800, true)
		if one.hash() != two.hash() {
			for i := range one.trace {
				if one.trace[i] != two.trace[i] {
					t.Fatalf("seed %d differs at %d:\n%s\n%s", seed, i, one.trace[i], two.trace[i])
				}
			}
		}
	}
}
