package core

import (
	"encoding/json"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
)

// checkIsolation looks at each assignment as soon as it was decided, by whatever
// way: its node is in a pool that the work resolves to now, or in default when
// that is allowed, and then there is a record.
func (w *world) checkIsolation(e *Effects) {
	for _, r := range e.Reservations {
		if placementIn(e, r.Job) != nil {
			continue
		}
		j := w.d.jobs[r.Job]
		at := Attempt{Job: r.Job, Attempt: j.row.Attempt}
		if r.Adopt && !w.judged[at] {
			w.fail("%s adopts an attempt that was never assigned: %+v", r.Node, r)
		}
		if r.Release || r.Adopt || w.judged[at] || j.row.State != fleet.JobOffered {
			continue
		}
		w.judged[at] = true
		if n := w.d.nodes[r.Node]; n.rec.Pool != r.Pool || j.row.Pool != r.Pool {
			w.fail("%s was assigned in %s to a node of %s", r.Job, r.Pool, n.rec.Pool)
		}
		allowed := w.allowed(j.spec)
		if r.Pool == fleet.PoolUnassigned || !slices.Contains(allowed, r.Pool) {
			w.fail("%s (%s for %s) runs in %s, resolved to %v", r.Job, j.spec.App, j.spec.Role, r.Pool, allowed)
		}
		recorded := slices.ContainsFunc(e.Fallbacks, func(f FallbackRecord) bool { return f.Job == r.Job && f.Attempt == at.Attempt })
		if foreign := !slices.Contains(w.resolved(j.spec), r.Pool); foreign != recorded || foreign != j.row.Fallback {
			w.fail("%s runs in %s, resolved to %v: recorded %v, row %+v", r.Job, r.Pool, w.resolved(j.spec), recorded, j.row)
		}
	}
}

// resolved is allowed without what fallback alone allows.
func (w *world) resolved(spec *fleet.JobSpec) []string {
	app := w.d.apps[spec.App]
	for _, role := range []string{spec.Role, ""} {
		for _, b := range app.Bindings {
			if b.Role == role && spec.Pool == "" {
				return b.Pools
			}
		}
	}
	if spec.Pool != "" || app.Owner == 0 {
		return w.allowed(spec)
	}
	return []string{fleet.OwnerPool(app.Owner)}
}

// begin loads a snapshot, connects its nodes and commits, and writes down every
// effect and everything that can be seen afterwards.
func begin(t *rapid.T, snap *Snapshot) string {
	d, now := New(testConfig), fleet.Time(1000)
	var said []any
	commit := func(e *Effects) {
		for e.Durable() {
			next := &Effects{}
			said = append(said, e)
			d.Committed(now, e, nil, next)
			e = next
		}
		said = append(said, e)
	}
	d.Load(now, snap)
	out := &Effects{}
	d.Tick(now, out)
	commit(out)
	for _, n := range d.Fleet(now).Nodes {
		rec, out := n.Record, &Effects{}
		report := &fleet.NodeReport{BootID: "b", Backend: rec.Backend, Region: rec.Region, Capacity: rec.Capacity, Runners: rec.Runners}
		d.Hello(now, HelloEvent{Node: rec.ID, Report: report}, out)
		commit(out)
	}
	said = append(said, d.Fleet(now), d.Alignment())
	for _, j := range snap.Jobs {
		v, _ := d.LiveJob(now, j.Spec.ID)
		said = append(said, v)
	}
	text, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The same fleet decides the same, in whatever order it is told of.
func TestDecide_OrderOfInputDoesNotMatter(t *testing.T) {
	placed := 0
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(func(name string, n int) int { return rapid.IntRange(0, n-1).Draw(t, name) }, t.Fatalf)
		w.found(8)
		for range 40 {
			w.submitAny()
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			w.step()
		}
		for w.inFlight != nil || w.pending.Durable() {
			w.start()
			w.finish(0)
		}
		snap := w.store.snapshot()
		for i := range snap.Nodes {
			snap.Nodes[i].Backend, snap.Nodes[i].Region = []string{"cpu", "cuda"}[i%2], []string{"ams", "fra"}[i/2%2]
		}
		first := begin(t, snap)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 1))
		for range 3 {
			again := *snap
			again.Pools, again.Apps = slices.Clone(snap.Pools), slices.Clone(snap.Apps)
			again.Nodes, again.Jobs = slices.Clone(snap.Nodes), slices.Clone(snap.Jobs)
			r.Shuffle(len(again.Pools), func(i, j int) { again.Pools[i], again.Pools[j] = again.Pools[j], again.Pools[i] })
			r.Shuffle(len(again.Apps), func(i, j int) { again.Apps[i], again.Apps[j] = again.Apps[j], again.Apps[i] })
			r.Shuffle(len(again.Nodes), func(i, j int) { again.Nodes[i], again.Nodes[j] = again.Nodes[j], again.Nodes[i] })
			r.Shuffle(len(again.Jobs), func(i, j int) { again.Jobs[i], again.Jobs[j] = again.Jobs[j], again.Jobs[i] })
			if second := begin(t, &again); second != first {
				t.Fatalf("another order, another decision:\n%s\n%s", first, second)
			}
		}
		placed += len(w.judged)
	})
	if placed == 0 {
		t.Fatal("nothing was placed: the test shows nothing")
	}
}

func TestHistory_SameWithAnyNumberOfProcessors(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(procs)
	hashes := map[uint64]bool{}
	for _, n := range []int{1, 2, 8} {
		runtime.GOMAXPROCS(n)
		hashes[seeded(t, 42, 600, true).hash()] = true
	}
	if len(hashes) != 1 {
		t.Fatalf("%d different histories", len(hashes))
	}
}

// Every role is held by the same boundary: those that are built in and one that a
// superadmin added.
func TestDecide_EveryRoleStaysInItsPools(t *testing.T) {
	for _, role := range []string{"edge", "forward", "origin", "recorder", "standalone", "worker", "probe-8k"} {
		t.Run(role, func(t *testing.T) {
			var nodes []fleet.NodeRecord
			for _, pool := range []string{"pool-1", fleet.PoolDefault, "other", fleet.PoolUnassigned, "pool-2"} {
				mine, foreign := record("a-"+pool, pool, 1, 1), record("b-"+pool, pool, 1, 4)
				mine.Role, foreign.Role = role, "another"
				nodes = append(nodes, mine, foreign)
			}
			w := script(t, nodes...)
			ask := func(app string) *fleet.JobSpec {
				spec := w.spec(app, 1)
				spec.Role = role
				w.submit(spec, "")
				w.commit()
				return spec
			}
			first := ask("a1")
			w.wantRow(first.ID, fleet.JobOffered, "", 1, 0, "a-pool-1")
			second := ask("a1")
			w.wantRow(second.ID, fleet.JobQueued, fleet.CausePoolExhausted, 0, 0, "")
			dec := w.store.jobs[second.ID].row.Decision
			if dec.FallbackOK || len(dec.Pools) != 1 || dec.Pools[0].Rejected[fleet.NoSlots] != 1 || dec.Pools[0].Rejected[fleet.WrongRole] != 1 {
				t.Fatalf("decision %+v", dec)
			}
			// The node is lost, and then all of its pool: the work does not go elsewhere.
			w.move("a-pool-1", func(r *fleet.NodeRecord) { r.Left = true })
			w.commit()
			w.wantRow(first.ID, fleet.JobQueued, fleet.CauseNodeLost, 1, 0, "")
			// A binding of that role alone is what lets it.
			w.bind("a1", 1, fleet.Binding{Role: "another", Pools: []string{fleet.PoolDefault}}, fleet.Binding{Role: role, Pools: []string{"other"}})
			w.commit()
			w.wantRow(first.ID, fleet.JobOffered, "", 2, 0, "a-other")
			w.wantRow(second.ID, fleet.JobQueued, fleet.CausePoolExhausted, 0, 0, "")
		})
	}
}

// An app of a user without nodes runs in default, with a record each time; with
// the user's first node it runs there and nowhere else; when the last one has
// left, default helps out again. A node in unassigned is none of the user's own.
func TestDecide_OwnersFirstAndLastNode(t *testing.T) {
	shared, mine := record("shared", fleet.PoolDefault, 0, 9), record("mine", fleet.PoolUnassigned, 1, 1)
	w := script(t, shared, mine)
	ask := func(node string, fallback bool) {
		t.Helper()
		spec := w.spec("a1", 1)
		w.submit(spec, "")
		records := len(w.pending.Fallbacks)
		w.commit()
		row := w.store.jobs[spec.ID].row
		if row.Node != node || row.Fallback != fallback || row.Decision.Rule != fleet.RuleOwnerPool || (records == 1) != fallback {
			t.Fatalf("%d records, row %+v", records, row)
		}
		if row.State == fleet.JobQueued {
			w.d.Cancel(w.now, spec.ID, "u:1", 0, w.pending)
			w.commit()
		}
	}
	ask("shared", true)
	w.move("mine", func(r *fleet.NodeRecord) { r.Pool = "pool-1" })
	ask("mine", false)
	ask("", false) // it is full, and that does not open default
	w.move("mine", func(r *fleet.NodeRecord) { r.Pool = "pool-2" })
	ask("", false) // a node of their own elsewhere is one
	w.move("mine", func(r *fleet.NodeRecord) { r.Pool = "pool-1" })
	w.disconnect(w.agents[1])
	for range 12 {
		w.pass(10_000)
		w.heartbeat(w.agents[0])
	}
	ask("", false) // and so is a lost one
	w.move("mine", func(r *fleet.NodeRecord) { r.Left = true })
	w.commit() // what it ran goes to default as well
	ask("shared", true)
}

// Ten thousand decisions, of apps with and without a pool of their own, as nodes
// fill up: none is for a node in a canary pool or in unassigned.
func TestDecide_NothingGoesToCanaryOrUnassigned(t *testing.T) {
	nodes := []fleet.NodeRecord{
		record("canary", "other", 0, 9), record("mine", "pool-1", 1, 2), record("parked", fleet.PoolUnassigned, 1, 9), record("shared", fleet.PoolDefault, 0, 2),
	}
	w := script(t, nodes...)
	decided := map[string]int{}
	for n := range 10_000 {
		spec := w.spec([]string{"a0", "a1", "a2"}[n%3], 1)
		spec.WhenExhausted = fleet.WhenExhaustedFail
		out := &Effects{}
		w.d.Submit(w.now, JobInsert{Spec: spec}, out)
		row := out.Inserts[len(out.Inserts)-1].Row
		decided[row.Node]++
		if row.Node != "" && n%4 == 0 { // else it stays until the next that is placed has no room
			w.d.Cancel(w.now, spec.ID, "u:1", 0, out)
		}
		if n%100 == 99 { // all nodes are empty anew
			w = script(t, nodes...)
			w.specs = n
		}
	}
	if decided["canary"] != 0 || decided["parked"] != 0 || decided["mine"] == 0 || decided["shared"] == 0 || decided[""] == 0 {
		t.Fatalf("decisions by node: %v", decided)
	}
}
