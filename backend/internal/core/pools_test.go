package core

import (
	"fmt"
	"slices"
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/pool"
)

func (w *world) put(id string, kind fleet.PoolKind, state fleet.PoolState) {
	w.d.PutPool(w.now, fleet.Pool{ID: id, Kind: kind, State: state}, w.pending)
	w.after()
}

func (w *world) bind(app string, owner int64, bindings ...fleet.Binding) {
	w.d.PutApp(w.now, fleet.App{ID: app, Owner: owner, Bindings: bindings}, w.pending)
	w.after()
}

func (w *world) poolView(id string) PoolView {
	for _, p := range w.d.Fleet(w.now).Pools {
		if p.Pool.ID == id {
			return p
		}
	}
	w.fail("no pool %s in sight", id)
	return PoolView{}
}

func TestCanary_JobRunsInThePoolItNamesAndNowhereElse(t *testing.T) {
	w := script(t, record("c1", "other", 0, 1), record("n1", "pool-1", 1, 8), record("shared", fleet.PoolDefault, 0, 8))
	w.put("other", fleet.KindNamed, fleet.PoolActive)
	if !w.poolView("other").Canary || w.poolView("pool-1").Canary {
		t.Fatal("other is the canary pool, and pool-1 is none")
	}
	first, second, ordinary := w.spec("a1", 1), w.spec("a1", 1), w.spec("a1", 1)
	first.Pool, second.Pool = "other", "other"
	for _, spec := range []*fleet.JobSpec{first, second, ordinary} {
		w.submit(spec, "")
	}
	w.commit()
	w.wantRow(first.ID, fleet.JobOffered, "", 1, 0, "c1")
	w.wantRow(second.ID, fleet.JobQueued, fleet.CausePoolExhausted, 0, 0, "")
	w.wantRow(ordinary.ID, fleet.JobOffered, "", 1, 0, "n1")
	dec := w.store.jobs[second.ID].row.Decision
	if dec.Rule != fleet.RuleCanary || dec.FallbackOK || len(dec.Pools) != 1 {
		t.Fatalf("decision %+v", dec)
	}
	const words = "other (named by a canary job of a1): none of 1 nodes can take it (1 without a free slot). A canary job goes nowhere else."
	if got := dec.Text("a1", 1, 1); got != words {
		t.Errorf("in words: %s", got)
	}
	// Where the app is sent does not matter to it, and it is woken like any other.
	w.bind("a1", 1, fleet.Binding{Pools: []string{fleet.PoolDefault}})
	w.readAll(w.agents[0])
	w.work(w.agents[0])
	w.commit()
	w.wantRow(second.ID, fleet.JobOffered, "", 1, 0, "c1")
}

func TestCanary_IsAPoolUntilSomethingResolvesToIt(t *testing.T) {
	w := script(t)
	w.put("other", fleet.KindNamed, fleet.PoolActive)
	both := fleet.Binding{Role: "edge", Pools: []string{"pool-1", "other"}}
	for i, step := range []struct {
		do   func()
		want bool
	}{
		{func() {}, true},
		{func() { w.bind("a1", 1, both) }, false},
		{func() { w.bind("a2", 2, fleet.Binding{Pools: []string{"other"}}) }, false},
		{func() { w.bind("a1", 1) }, false},
		{func() { w.bind("a2", 2, fleet.Binding{Pools: []string{"pool-2"}}) }, true},
		{func() {
			w.store.apps[0].Bindings, w.store.pools[4].Kind = []fleet.Binding{both}, fleet.KindNamed
			w.reload()
			w.after()
		}, false},
	} {
		step.do()
		if got := w.poolView("other").Canary; got != step.want {
			t.Errorf("step %d: canary %v", i, got)
		}
	}
}

// Ten thousand decisions, and none on a node of a canary pool or of unassigned.
func TestDecide_NeverOnCanaryOrUnassignedNodes(t *testing.T) {
	var nodes []fleet.NodeRecord
	for i := range 40 {
		pools := []string{"pool-1", "pool-2", fleet.PoolDefault, "other", fleet.PoolUnassigned}
		nodes = append(nodes, record(fmt.Sprintf("n%02d", i), pools[i%len(pools)], int64(i%3), fleet.MaxSlots))
	}
	w := script(t, nodes...)
	w.put("other", fleet.KindNamed, fleet.PoolActive)
	w.bind("a0", 0, fleet.Binding{Role: "edge", Pools: []string{fleet.PoolUnassigned}}, fleet.Binding{Pools: []string{"pool-2", "pool-1"}, AllowFallback: true})
	placed := 0
	for i := range 10_000 {
		spec := w.spec([]string{"a0", "a1", "a2", "stranger"}[i%4], int64(i%7))
		spec.ID[12] = byte(i >> 12)
		spec.Owner, spec.Role = int64(i%5), []string{"worker", "worker", "edge"}[i%3]
		w.d.Submit(w.now, JobInsert{Spec: spec}, w.pending)
		row := w.d.jobs[spec.ID].row
		if row.Node != "" {
			placed++
		}
		if row.Pool == "other" || row.Pool == fleet.PoolUnassigned {
			t.Fatalf("decision %d: %+v", i, row)
		}
		if i%30 > 0 {
			w.d.Cancel(w.now, spec.ID, "u:1", 0, w.pending)
		}
		w.pending.Reset()
	}
	if placed < 5000 {
		t.Fatalf("only %d were placed: the test shows nothing", placed)
	}
}

func TestAlignment_SaysWhatWillFail(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 2), record("n2", "other", 2, 2), record("n3", "other", 2, 2), record("n4", fleet.PoolUnassigned, 2, 1))
	w.put("other", fleet.KindNamed, fleet.PoolActive)
	got := w.d.Alignment()
	want := []Misaligned{
		{App: "a0", Rule: fleet.RuleNoOwner, Pools: []string{fleet.PoolDefault}},
		{App: "a2", Owner: 2, Rule: fleet.RuleOwnerPool, Pools: []string{"pool-2"}, Elsewhere: 2},
	}
	if fmt.Sprint(got.Apps) != fmt.Sprint(want) || fmt.Sprint(got.Pools) != "[{other named 2}]" {
		t.Fatalf("%+v", got)
	}
	w.bind("a2", 2, fleet.Binding{Role: "worker", Pools: []string{"other"}})
	w.bind("a0", 0, fleet.Binding{Role: "edge", Pools: []string{"pool-1"}}, fleet.Binding{Pools: []string{"pool-1"}})
	w.move("n1", func(r *fleet.NodeRecord) {
		r.Holds = []fleet.Hold{{Kind: fleet.HoldCordon, Owner: fleet.OwnerOperator}}
	})
	got = w.d.Alignment()
	rows := map[string]Misaligned{}
	for _, m := range got.Apps {
		rows[m.App+"/"+m.Role] = m
	}
	if len(got.Pools) != 0 || len(rows) != 4 || rows["a1/"].Nodes != 1 || rows["a0/"].Nodes != 1 || rows["a0/edge"].Rule != fleet.RuleBinding {
		t.Fatalf("%+v", got)
	}
	if m := rows["a2/"]; m.Rule != fleet.RuleOwnerPool || m.Elsewhere != 2 {
		t.Fatalf("what no binding of a2 names: %+v", m)
	}
	if n := w.d.Usable(fleet.App{ID: "a2", Owner: 2, Bindings: w.d.apps["a2"].Bindings}, "worker"); n != 2 {
		t.Fatalf("%d usable nodes", n)
	}
}

func TestResolvers_ListsWhoComes(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 2))
	w.bind("a0", 0, fleet.Binding{Role: "edge", Pools: []string{"other", "pool-1"}, AllowFallback: true}, fleet.Binding{Pools: []string{"pool-2"}})
	w.run(w.spec("a1", 1), w.agents[0])
	if got := w.d.Resolvers("pool-1"); !slices.Equal(got, []Resolver{
		{App: "a0", Role: "edge", Rule: fleet.RuleBinding, Place: 1, Allowed: true},
		{App: "a1", Owner: 1, Rule: fleet.RuleOwnerPool, Running: 1},
	}) {
		t.Errorf("pool-1: %+v", got)
	}
	if got := w.d.Resolvers(fleet.PoolDefault); !slices.Equal(got, []Resolver{
		{App: "a0", Role: "edge", Rule: fleet.RuleBinding, Place: 2, Fallback: true, Allowed: true},
		{App: "a2", Owner: 2, Rule: fleet.RuleOwnerPool, Place: 1, Fallback: true, Allowed: true},
	}) {
		t.Errorf("default: %+v", got)
	}
}

func TestImpact_WorstFirst(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 2), record("n2", "pool-2", 2, 4), record("n3", "pool-2", 2, 4), record("n4", fleet.PoolDefault, 0, 1))
	running := w.spec("a1", 1)
	w.run(running, w.agents[0])
	waits := w.spec("a1", 2)
	w.submit(waits, "")
	got := w.d.Impact(w.now, Proposal{Kind: ProposeMove, Nodes: []string{"n1", "n2", "gone"}, Pool: fleet.PoolDefault})
	if fmt.Sprint(got.Pools) != fmt.Sprint([]PoolImpact{
		{Pool: "default", UsableBefore: 1, Usable: 3, FreeBefore: 1, Free: 6, SlotsBefore: 1, Slots: 7},
		{Pool: "pool-1", UsableBefore: 1, FreeBefore: 1, SlotsBefore: 2},
		{Pool: "pool-2", UsableBefore: 2, Usable: 1, FreeBefore: 8, Free: 4, SlotsBefore: 8, Slots: 4},
	}) {
		t.Errorf("pools %+v", got.Pools)
	}
	if !slices.Equal(got.Apps, []AppImpact{
		{App: "a1", Owner: 1, Role: "worker", UsableBefore: 1, Waiting: 1},
		{App: "a2", Owner: 2, Role: "worker", UsableBefore: 2, Usable: 1},
		{App: "a0", Role: "worker", UsableBefore: 1, Usable: 3},
	}) {
		t.Errorf("apps %+v", got.Apps)
	}
	if !got.Apps[0].Exhausted() || got.Waiting != 1 || len(got.Running) != 1 || got.Running[0].Job != running.ID {
		t.Errorf("%+v", got)
	}
	// To unassigned the user has no node any more, and default may help out.
	got = w.d.Impact(w.now, Proposal{Kind: ProposeMove, Nodes: []string{"n1"}, Pool: fleet.PoolUnassigned})
	if !slices.Equal(got.Apps, []AppImpact{}) || got.Waiting != 0 {
		t.Errorf("one usable node before, one after: %+v", got)
	}
	got = w.d.Impact(w.now, Proposal{Kind: ProposePoolState, Pool: "pool-1", State: fleet.PoolDrains})
	if len(got.Apps) != 1 || !got.Apps[0].Exhausted() || got.Waiting != 1 || len(got.Running) != 1 || got.Pools[0].OutOfUse != 1 {
		t.Errorf("a draining pool: %+v", got)
	}
	w.after()
}

func TestPromotion_AsksTheFleet(t *testing.T) {
	w := script(t, record("c1", "other", 0, 1), record("c2", "other", 0, 1), record("c3", "other", 0, 1))
	w.move("c2", func(r *fleet.NodeRecord) {
		r.Holds = []fleet.Hold{{Kind: fleet.HoldCordon, Owner: fleet.OwnerOperator}}
	})
	w.move("c3", func(r *fleet.NodeRecord) { r.Left = true })
	joined := w.now
	for range 6 {
		w.pass(10_000)
		for _, a := range w.agents[:2] {
			w.heartbeat(a)
		}
	}
	checks := pool.Checks{Jobs: 1, NoRestart: true, ReadyFor: 60_000}
	facts := w.d.Fleet(w.now).PromotionFacts("other", w.now, 0)
	if facts.Nodes[0].Since != joined || facts.Nodes[0].BootSince != joined {
		t.Fatalf("facts %+v", facts)
	}
	if got := pool.Promotable(checks, facts); !slices.Equal(got, []string{"0 of 1 canary jobs have succeeded", "c2 is cordoned"}) {
		t.Fatalf("%q", got)
	}
	w.restart(w.agents[0])
	w.join(w.agents[0])
	w.move("c2", func(r *fleet.NodeRecord) { r.Holds = nil })
	got := pool.Promotable(checks, w.d.Fleet(w.now).PromotionFacts("other", w.now+1000, 1))
	if !slices.Equal(got, []string{"c1's agent began anew 1s ago", "c1 has been ready for 1s, not for 1m 00s"}) {
		t.Fatalf("after a restart: %q", got)
	}
}

// News of two changes may come in another order than they were made: the newer
// record stays.
func TestPut_AnOlderRecordIsIgnored(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	p, a := *w.d.pools["pool-1"], *w.d.apps["a1"]
	p.Version, p.State = 7, fleet.PoolIsClosed
	a.Version, a.Bindings = 7, []fleet.Binding{{Pools: []string{"pool-2"}}}
	w.d.PutPool(w.now, p, w.pending)
	w.d.PutApp(w.now, a, w.pending)
	p.Version, p.State = 6, fleet.PoolActive
	a.Version, a.Bindings = 6, nil
	w.d.PutPool(w.now, p, w.pending)
	w.d.PutApp(w.now, a, w.pending)
	if got := w.d.pools["pool-1"].State; got != fleet.PoolIsClosed {
		t.Errorf("the pool is %s again", got)
	}
	if got := w.d.apps["a1"].Bindings; len(got) != 1 || got[0].Pools[0] != "pool-2" {
		t.Errorf("the app has its older bindings %+v", got)
	}
}
