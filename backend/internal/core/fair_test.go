package core

import (
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// shared makes a pool in which apps share nodes.
func shared(t *testing.T, shares map[string]fleet.Share, nodes ...fleet.NodeRecord) *world {
	w := script(t, nodes...)
	for _, app := range []string{"a", "b"} {
		w.d.PutApp(w.now, fleet.App{ID: app, Share: shares[app], Bindings: []fleet.Binding{{Pools: []string{"pool-1"}}}}, w.pending)
		w.store.apps = append(w.store.apps, *w.d.apps[app])
	}
	w.after()
	return w
}

// flood submits so many jobs without looking at everything after each.
func (w *world) flood(app string, slots int64, many int) (list []ids.JobID) {
	for range many {
		spec := w.spec(app, slots)
		w.jobs = append(w.jobs, spec)
		w.d.Submit(w.now, JobInsert{Spec: spec}, w.pending)
		list = append(list, spec.ID)
	}
	return list
}

// finishOldest ends the job that has been longest on the node and gives its app.
func (w *world) finishOldest(node string) string {
	n := w.d.nodes[node]
	oldest := n.jobs[0]
	for _, j := range n.jobs {
		if j.row.AssignedAt < oldest.row.AssignedAt || j.row.AssignedAt == oldest.row.AssignedAt && j.wait.Seq < oldest.wait.Seq {
			oldest = j
		}
	}
	w.now++
	w.d.Cancel(w.now, oldest.spec.ID, "u:1", 1, w.pending)
	if oldest.held != nil {
		w.d.Result(w.now, node, n.epoch, Attempt{Job: oldest.spec.ID, Attempt: oldest.row.Attempt}, &fleet.Result{}, w.pending)
	}
	return oldest.spec.App
}

func TestFairness_AnotherAppsTenThousandJobs(t *testing.T) {
	w := shared(t, nil, record("n1", "pool-1", 0, 4))
	w.flood("a", 1, 10_000)
	first := w.flood("b", 1, 1)[0]
	for range 4 { // one job's length: each slot is free once
		w.finishOldest("n1")
	}
	if j := w.d.jobs[first]; j.row.State != fleet.JobOffered {
		t.Fatalf("the other app's job is %v (%s)", j.row.State, j.row.Cause)
	}
}

func TestFairness_SharesFollowWeights(t *testing.T) {
	w := shared(t, map[string]fleet.Share{"a": {Weight: 100}, "b": {Weight: 300}}, record("n1", "pool-1", 0, 4))
	w.flood("a", 1, 1000)
	w.flood("b", 1, 1000)
	began := map[string]int{}
	for i := range 804 {
		if app := w.finishOldest("n1"); i >= 4 {
			began[app]++
		}
	}
	if b := began["b"]; b < 570 || b > 630 {
		t.Fatalf("of 800 jobs %v", began)
	}
}

func TestReserve_LargeJobGetsItsTurn(t *testing.T) {
	w := shared(t, nil, record("n1", "pool-1", 0, 8), record("n2", "pool-1", 0, 8))
	w.flood("a", 1, 200)
	large := w.flood("b", 8, 1)[0]
	w.after()
	w.commit()
	w.now += testConfig.ReserveAfter - 1000
	w.finishOldest("n1")
	if len(w.d.reserves) > 0 {
		t.Fatal("a node is reserved too early")
	}
	w.now += 1000
	w.finishOldest("n1")
	if len(w.d.reserves) != 1 {
		t.Fatal("no node is reserved")
	}
	node := w.d.reserves[0].n.rec.ID
	if n := w.d.nodes[node].view(); n.ReservedFor != large {
		t.Fatalf("%s is reserved for %s", node, n.ReservedFor)
	}
	for range 8 {
		w.finishOldest(node)
		w.checkReserves()
	}
	if j := w.d.jobs[large]; j.row.State != fleet.JobOffered || j.row.Node != node || len(w.d.reserves) > 0 {
		t.Fatalf("the large job is %v on %q", j.row.State, j.row.Node)
	}
}

func TestReserve_EndsWithItsReason(t *testing.T) {
	for name, end := range map[string]func(w *world, large ids.JobID, node string){
		"canceled": func(w *world, large ids.JobID, _ string) { w.d.Cancel(w.now, large, "u:1", 1, w.pending) },
		"held": func(w *world, _ ids.JobID, node string) {
			w.move(node, func(r *fleet.NodeRecord) {
				r.Holds = []fleet.Hold{{Kind: fleet.HoldCordon, Owner: fleet.OwnerOperator}}
			})
		},
		"moved": func(w *world, _ ids.JobID, node string) {
			w.move(node, func(r *fleet.NodeRecord) { r.Pool = "other" })
		},
		"lost": func(w *world, _ ids.JobID, node string) { w.disconnect(w.agent(node)) },
		"placed elsewhere": func(w *world, _ ids.JobID, node string) {
			w.store.nodes["n3"].rec.Pool = "pool-1"
			w.hear(w.store.nodes["n3"])
			w.listen()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := shared(t, nil, record("n1", "pool-1", 0, 8), record("n3", "other", 0, 8))
			w.flood("a", 1, 40)
			large := w.flood("b", 8, 1)[0]
			w.after()
			w.commit()
			w.now += testConfig.ReserveAfter
			w.finishOldest("n1")
			if len(w.d.reserves) != 1 {
				t.Fatal("no node is reserved")
			}
			w.after()
			w.commit()
			end(w, large, "n1")
			w.after()
			if len(w.d.reserves) != 0 {
				t.Fatal("it is reserved still")
			}
		})
	}
}

func TestQuota_JobsPastItWait(t *testing.T) {
	w := shared(t, map[string]fleet.Share{"a": {MaxSlots: 2}}, record("n1", "pool-1", 0, 4))
	list := w.flood("a", 1, 4)
	w.after()
	third := w.d.jobs[list[2]]
	if third.row.State != fleet.JobQueued || third.row.Cause != fleet.CauseQuota {
		t.Fatalf("the third is %v (%s)", third.row.State, third.row.Cause)
	}
	other := w.flood("b", 1, 2)
	w.after()
	if j := w.d.jobs[other[1]]; j.row.State != fleet.JobOffered {
		t.Fatalf("the other app's is %v (%s)", j.row.State, j.row.Cause)
	}
	w.commit()
	w.now += 99
	w.finishOldest("n1")
	w.after()
	if third.row.State != fleet.JobOffered || third.row.Waits != (fleet.WaitLedger{Quota: 100}) {
		t.Fatalf("the third is %v and waited %+v", third.row.State, third.row.Waits)
	}
	fourth := w.d.jobs[list[3]]
	w.d.PutApp(w.now, fleet.App{ID: "a", Bindings: w.d.apps["a"].Bindings}, w.pending)
	w.after()
	if fourth.row.State == fleet.JobQueued && fourth.row.Cause == fleet.CauseQuota {
		t.Fatal("without a bound the fourth waits for its quota")
	}
}

func TestSubmit_PastABoundWritesNothing(t *testing.T) {
	w := shared(t, map[string]fleet.Share{"b": {MaxOpenJobs: 3}}, record("n1", "pool-1", 0, 1))
	w.d.cfg.QueueLimit = 5
	w.flood("a", 1, 6)
	inserts := len(w.pending.Inserts)
	if why, refused := w.d.Submit(w.now, JobInsert{Spec: w.spec("a", 1)}, w.pending); !refused || why != RefusedQueueFull {
		t.Fatalf("the seventh is refused: %v, %v", refused, why)
	}
	if len(w.pending.Inserts) != inserts {
		t.Fatal("it is written")
	}
	w.flood("b", 1, 3)
	if why, refused := w.d.Submit(w.now, JobInsert{Spec: w.spec("b", 1)}, w.pending); !refused || why != RefusedOpenJobs {
		t.Fatalf("the fourth of the other app is refused: %v, %v", refused, why)
	}
	w.finishOldest("n1")
	if _, refused := w.d.Submit(w.now, JobInsert{Spec: w.spec("a", 1)}, w.pending); refused {
		t.Fatal("refused although there is room again")
	}
}
