package core

import (
	"fmt"
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
		w.d.Result(w.now, Session{Node: node, Epoch: n.epoch}, Attempt{Job: oldest.spec.ID, Attempt: oldest.row.Attempt}, &fleet.Result{}, w.pending)
	}
	return oldest.spec.App
}

func TestFairness_AnotherAppsTenThousandJobs(t *testing.T) {
	w := shared(t, nil, record("n1", "pool-1", 0, 4))
	w.flood("a", 1, 10_000)
	first := w.flood("b", 1, 1)[0]
	w.finishOldest("n1")
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
	if after := w.d.RetryAfter(w.now, "a"); after != 10_000 {
		t.Fatalf("nothing has ended, and it may come again after %d", after)
	}
	w.flood("b", 1, 3)
	if why, refused := w.d.Submit(w.now, JobInsert{Spec: w.spec("b", 1)}, w.pending); !refused || why != RefusedOpenJobs {
		t.Fatalf("the fourth of the other app is refused: %v, %v", refused, why)
	}
	w.finishOldest("n1") // whose place the other app gets, which has nothing yet
	w.finishOldest("n1")
	last := w.spec("a", 1)
	w.jobs = append(w.jobs, last)
	if _, refused := w.d.Submit(w.now, JobInsert{Spec: last}, w.pending); refused {
		t.Fatal("refused although there is room again")
	}
	for range 30 { // one ends every five seconds
		w.now += 4999
		w.finishOldest("n1")
		w.flood("a", 1, 1)
		w.commit()
	}
	if after := w.d.RetryAfter(w.now, "a"); after < 4000 || after > 5000 {
		t.Fatalf("it may come again after %d", after)
	}
	w.now += 300_000
	if after := w.d.RetryAfter(w.now, "a"); after != mostRetry {
		t.Fatalf("nothing ends any more, and it may come again after %d", after)
	}
}

// Work that waits for its app's quota is short of no node: whatever it waits, and
// however little is free, nobody is told. What waits for a node is timed from the
// moment from which it does.
func TestQuota_RaisesNoAlarm(t *testing.T) {
	w := shared(t, map[string]fleet.Share{"a": {MaxSlots: 2}}, record("n1", "pool-1", 0, 2))
	list := w.flood("a", 1, 5)
	tooLarge := w.flood("a", 4, 1)[0]
	w.after()
	w.commit()
	limit := fleet.Time(fleet.DefaultThresholds().QueueWaitMs)
	spend := func(span fleet.Time) {
		for end := w.now + span; w.now < end; {
			w.readAll(w.agent("n1"))
			w.heartbeat(w.agent("n1"))
			w.pass(1000)
			w.commit()
		}
	}
	quiet := func(when string) {
		t.Helper()
		for _, kind := range []fleet.AlarmKind{fleet.AlarmPoolExhausted, fleet.AlarmQueueWait, fleet.AlarmFreeSlots} {
			if a := w.lasting(kind); a.ID != 0 {
				t.Fatalf("%s: %+v", when, a)
			}
		}
	}
	spend(2 * limit)
	quiet("past its quota")
	app := *w.d.apps["a"]
	app.Share.MaxSlots = 0
	w.d.Cancel(w.now, tooLarge, "u:1", 1, w.pending)
	w.d.PutApp(w.now, app, w.pending)
	w.after()
	spend(limit - 2000)
	w.wantNone(fleet.AlarmPoolExhausted)
	w.wantNone(fleet.AlarmQueueWait)
	spend(4000)
	if a := w.lasting(fleet.AlarmPoolExhausted); a.WaitingNow != 3 {
		t.Fatalf("of work that waits for nodes: %+v", w.d.Alarms())
	}
	app.Share.MaxSlots = 1
	w.d.PutApp(w.now, app, w.pending)
	w.finishOldest("n1")
	w.after()
	spend(10_000)
	quiet("past its quota again")
	if j := w.d.jobs[list[4]]; j.row.State != fleet.JobQueued {
		t.Fatalf("the last is %v", j.row.State)
	}
}

// What is put off is kept like what waits, and so it counts.
func TestSubmit_PausesCountInTheQueue(t *testing.T) {
	w := shared(t, nil, record("n1", "pool-1", 0, 1))
	w.d.cfg.QueueLimit = 3
	refused := func(app string, later fleet.Time) bool {
		spec := w.spec(app, 1)
		_, refused := w.d.Submit(w.now, JobInsert{Spec: spec, NotBefore: later}, w.pending)
		if !refused {
			w.jobs = append(w.jobs, spec)
		}
		return refused
	}
	due := w.now + 5000
	for range 3 {
		if refused("a", due) {
			t.Fatal("one of three is refused")
		}
	}
	if !refused("a", due) {
		t.Fatal("a fourth is put off")
	}
	if refused("b", due) {
		t.Fatal("another app's is refused")
	}
	if refused("a", 0) {
		t.Fatal("refused although a node is free")
	}
	w.after()
	w.commit()
	w.pass(5000)
	if w.d.useOf("a").paused != 0 || !refused("a", 0) {
		t.Fatal("when they wait, there is room for more")
	}
}

// Each kind of work that waits costs a decision a look: an app has so many and no
// more, and its other work goes on.
func TestSubmit_KindsAreBounded(t *testing.T) {
	w := shared(t, nil)
	w.d.cfg.QueueLimit = 10 * maxKinds
	submit := func(app, runner string) bool {
		spec := w.spec(app, 1)
		spec.Runner = runner
		_, refused := w.d.Submit(w.now, JobInsert{Spec: spec}, w.pending)
		if !refused {
			w.jobs = append(w.jobs, spec)
		}
		return !refused
	}
	for i := range maxKinds {
		if !submit("a", fmt.Sprint("nowhere-", i)) {
			t.Fatalf("kind %d is refused", i)
		}
	}
	if submit("a", "nowhere") || !submit("a", "nowhere-0") || !submit("b", "nowhere") {
		t.Fatal("another kind is taken, or more of the same or another app's is not")
	}
	for _, spec := range w.jobs[:2] { // of the first kind another one waits
		w.d.Cancel(w.now, spec.ID, "u:1", 1, w.pending)
	}
	if !submit("a", "nowhere") || submit("a", "elsewhere") {
		t.Fatal("for one kind less there is not one more")
	}
	w.after()
}
