package core

import (
	"fmt"
	"strings"
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// exhaust submits a job that fails at once for want of a candidate.
func (w *world) exhaust(app string) {
	spec := w.spec(app, 1)
	spec.WhenExhausted = fleet.WhenExhaustedFail
	w.submit(spec, "")
	w.commit()
	w.wantRow(spec.ID, fleet.JobFailed, fleet.CausePoolExhausted, 0, 0, "")
}

func (w *world) wantNone(kind fleet.AlarmKind) {
	if a := w.lasting(kind); a.ID != 0 {
		w.fail("this lasts: %+v", a)
	}
}

func TestAlarm_ThousandExhaustionsAreOneAlarm(t *testing.T) {
	w := script(t)
	for i := range 1000 {
		w.exhaust("a0")
		if i%100 == 99 {
			w.pass(250)
			w.commit()
		}
	}
	w.pass(1000)
	w.commit()
	a := w.lasting(fleet.AlarmPoolExhausted)
	if a.Count != 1000 || a.App != "a0" || a.Role != "worker" || a.Pool != fleet.PoolDefault || a.LastAt <= a.RaisedAt || a.WaitingNow != 0 {
		t.Fatalf("after 1,000 failures: %+v", a)
	}
	if a.Detail != "there are no nodes" {
		t.Errorf("it says %q", a.Detail)
	}
	if rows := w.store.alarms.rows; len(rows) != 1 || rows[a.ID].Count != 1000 {
		t.Fatalf("stored: %+v", rows)
	}
	if n := w.store.alarms.wrote; n > 6 {
		t.Errorf("1,000 failures in 2.5 s cost %d writes", n)
	}
	w.pass(quiet - 3000)
	if w.lasting(fleet.AlarmPoolExhausted).ID == 0 {
		t.Fatal("it ended too early")
	}
	w.pass(4000)
	w.commit()
	w.wantNone(fleet.AlarmPoolExhausted)
	if w.store.alarms.rows[a.ID].ResolvedAt == 0 {
		t.Fatal("its end is not stored")
	}
	w.exhaust("a0")
	if next := w.lasting(fleet.AlarmPoolExhausted); next.ID <= a.ID || next.Count != 1 {
		t.Fatalf("the next one: %+v", next)
	}
}

func TestAlarm_OfWorkThatDoesNotWaitEndsWithTheNextSuccess(t *testing.T) {
	w := script(t, record("n1", fleet.PoolDefault, 0, 1))
	first := w.spec("a0", 1)
	w.run(first, w.agents[0])
	w.exhaust("a0")
	if a := w.lasting(fleet.AlarmPoolExhausted); a.Detail != "0 of 1 node can take it: 1 without a free slot" {
		t.Fatalf("while the node is full: %+v", a)
	}
	w.work(w.agents[0])
	w.commit()
	w.submit(w.spec("a0", 1), "")
	w.wantNone(fleet.AlarmPoolExhausted)
}

func TestAlarm_BusyWorkIsGivenThePoolsThreshold(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	w.run(w.spec("a1", 1), w.agents[0])
	one, two := w.spec("a1", 1), w.spec("a1", 1)
	w.submit(one, "")
	since := w.now
	w.beat(50_000)
	w.submit(two, "")
	w.beat(9000)
	w.wantNone(fleet.AlarmPoolExhausted)
	w.wantNone(fleet.AlarmQueueWait)
	w.beat(3000)
	a, q := w.lasting(fleet.AlarmPoolExhausted), w.lasting(fleet.AlarmQueueWait)
	if a.Count != 1 || a.WaitingNow != 2 || a.Waiting[0] != one.ID || a.Waiting[1] != two.ID || a.Detail != "0 of 1 node can take it: 1 without a free slot" {
		t.Fatalf("after a minute: %+v", a)
	}
	if q.Count != 1 || q.WaitingNow != 1 || len(q.Waiting) != 1 || !strings.HasPrefix(q.Detail, "1 job past the threshold of 1m 00s, the oldest waits 1m 0") {
		t.Fatalf("the pool's own: %+v", q)
	}
	if p := w.poolView("pool-1"); p.OldestWait != since || p.Overdue != 1 || p.Queued != 2 {
		t.Fatalf("the pool shows %+v", p)
	}
	// Another threshold: both are late, then none.
	w.d.PutPool(w.now, fleet.Pool{ID: "pool-1", State: fleet.PoolActive, Thresholds: fleet.Thresholds{QueueWaitMs: 5000, NotReadyPct: 100}}, w.pending)
	w.beat(1000)
	if p := w.poolView("pool-1"); p.Overdue != 2 {
		t.Fatalf("with 5 s the pool shows %+v", p)
	}
	w.d.PutPool(w.now, fleet.Pool{ID: "pool-1", State: fleet.PoolActive, Thresholds: fleet.Thresholds{QueueWaitMs: 1 << 40, NotReadyPct: 100}}, w.pending)
	w.beat(3000)
	if w.lasting(fleet.AlarmQueueWait).ID != q.ID {
		t.Fatal("it ended at once: the next late one would raise another")
	}
	w.beat(4000)
	w.wantNone(fleet.AlarmQueueWait)
	if w.lasting(fleet.AlarmPoolExhausted).Count != 2 {
		t.Fatalf("it still waits: %+v", w.lasting(fleet.AlarmPoolExhausted))
	}
	w.work(w.agents[0])
	w.d.Cancel(w.now, two.ID, "u:1", 0, w.pending)
	w.after()
	w.wantNone(fleet.AlarmPoolExhausted)
}

func TestAlarm_FallbackNeverAlarms(t *testing.T) {
	w := script(t, record("shared", fleet.PoolDefault, 0, 2))
	for range 2 {
		w.submit(w.spec("a2", 1), "") // its owner has no node
	}
	w.commit()
	if n := len(w.store.order); n != 2 || w.store.jobs[w.store.order[0]].row.Fallback == false {
		t.Fatal("it did not fall back")
	}
	if len(w.d.Alarms()) != 0 {
		t.Fatalf("alarms: %+v", w.d.Alarms())
	}
	// Neither has one: both pools' reasons, under the first pool.
	w.exhaust("a2")
	a := w.lasting(fleet.AlarmPoolExhausted)
	if a.Pool != "pool-2" || a.Detail != "pool-2: there are no nodes; default: 0 of 1 node can take it: 1 without a free slot" {
		t.Fatalf("neither has one: %+v", a)
	}
}

// All nodes of the owner are healthy, and in a pool to which the app does not
// resolve: the first thing that the alarm's words lead to.
func TestCase_B4_NodesExistInOtherPools(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 2), record("n2", "pool-1", 1, 2), record("n3", "pool-1", 2, 2))
	w.d.PutApp(w.now, fleet.App{ID: "a1", Owner: 1, Bindings: []fleet.Binding{{Pools: []string{fleet.PoolDefault}}}}, w.pending)
	w.exhaust("a1")
	if a := w.lasting(fleet.AlarmPoolExhausted); a.Detail != "there are no nodes; in other pools: 2 usable nodes of its owner" {
		t.Fatalf("it says %q", a.Detail)
	}
}

func TestAlarm_FreeSlotsWhileWorkWaits(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 2))
	limits := fleet.DefaultThresholds()
	limits.FreeSlots = 1
	w.d.PutPool(w.now, fleet.Pool{ID: "pool-1", State: fleet.PoolActive, Thresholds: limits}, w.pending)
	w.run(w.spec("a1", 1), w.agents[0])
	w.beat(3000)
	w.wantNone(fleet.AlarmFreeSlots) // one slot is free, and nothing waits
	big := w.spec("a1", 2)
	w.submit(big, "")
	w.beat(2000)
	a := w.lasting(fleet.AlarmFreeSlots)
	if a.Pool != "pool-1" || a.Detail != "1 slot free, 1 job waiting" || a.WaitingNow != 1 || a.Count != 1 {
		t.Fatalf("one slot free: %+v", a)
	}
	w.d.Cancel(w.now, big.ID, "u:1", 0, w.pending)
	w.after()
	w.beat(2000)
	w.submit(w.spec("a1", 2), "")
	w.beat(2000)
	if again := w.lasting(fleet.AlarmFreeSlots); again.ID != a.ID || again.Count != 2 {
		t.Fatalf("seconds later: %+v", again)
	}
	w.work(w.agents[0])
	w.beat(8000)
	w.wantNone(fleet.AlarmFreeSlots)
	w.beat(100_000)
	if w.d.look.at != fleet.Never {
		t.Fatalf("somebody goes on looking: %+v", w.d.look)
	}
}

func TestAlarm_NodesNotReady(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1), record("n2", "pool-1", 1, 1), record("n3", "pool-1", 1, 1))
	w.disconnect(w.agents[0])
	w.pass(1000)
	w.disconnect(w.agents[1])
	w.pass(20_000)
	w.wantNone(fleet.AlarmNodesNotReady)
	w.heartbeat(w.agents[2])
	w.pass(8000)
	w.wantNone(fleet.AlarmNodesNotReady) // for the first moments of a process: they may yet come back
	for range 10 {
		w.heartbeat(w.agents[2])
		w.pass(10_000)
	}
	a := w.lasting(fleet.AlarmNodesNotReady)
	if a.Pool != "pool-1" || a.Count != 2 || a.Detail != "2 of 3 nodes not ready" || a.Kind.Severity() != fleet.SeverityCritical {
		t.Fatalf("two of three: %+v", a)
	}
	w.disconnect(w.agents[2])
	w.pass(30_000)
	if more := w.lasting(fleet.AlarmNodesNotReady); more.ID != a.ID || more.Count != 3 || more.Detail != "3 of 3 nodes not ready" {
		t.Fatalf("three of three: %+v", more)
	}
	w.join(w.agents[0])
	w.join(w.agents[1])
	w.pass(1000)
	w.wantNone(fleet.AlarmNodesNotReady)
	// One more of those that are left tips it; leaving is no silence.
	w.d.RevokeNode(w.now, w.gone("n3"), "sold", w.pending)
	w.after()
	w.pass(2000)
	w.wantNone(fleet.AlarmNodesNotReady)
}

func TestCase_N48_ShortDropsRaiseNothing(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	spec := w.spec("a1", 1)
	w.run(spec, w.agents[0])
	w.beat(100_000)
	w.disconnect(w.agents[0])
	w.pass(5000)
	w.join(w.agents[0])
	w.pass(5000)
	if len(w.d.Alarms()) != 0 {
		t.Fatalf("a drop of 5 s raised %+v", w.d.Alarms())
	}
	w.restartServer()
	w.pass(5000)
	w.join(w.agents[0])
	w.beat(100_000)
	if len(w.d.Alarms()) != 0 {
		t.Fatalf("a restart raised %+v", w.d.Alarms())
	}
	if v, _ := w.d.LiveJob(w.now, spec.ID); v.State != fleet.JobRunning {
		t.Fatalf("the job is %+v", v)
	}
}

// What lasts over a restart is the same alarm; what is over ends.
func TestAlarm_OverARestart(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	waits, ends := w.spec("a1", 5), w.spec("a0", 5)
	for _, spec := range []*fleet.JobSpec{waits, ends} {
		w.submit(spec, "")
	}
	since := w.now
	w.exhaust("a2")
	w.beat(70_000)
	w.commit()
	w.reload()
	w.after()
	if got := w.poolView("pool-1").OldestWait; got != since {
		t.Fatalf("loaded anew, it waits since %d, not %d", got, since)
	}
	before := map[string]fleet.Alarm{}
	for _, a := range w.d.Alarms() {
		before[a.App+string(a.Kind)] = a
	}
	delete(w.store.jobs, ends.ID) // as another process ended it
	w.store.order = []ids.JobID{waits.ID}
	w.restartServer()
	if got := w.poolView("pool-1").OldestWait; got != since {
		t.Fatalf("after a restart it waits since %d, not %d", got, since)
	}
	w.join(w.agents[0])
	w.beat(5000)
	w.commit()
	for _, key := range []string{"a1pool_exhausted", "a2pool_exhausted", "queue_wait"} {
		was := before[key]
		now := w.store.alarms.rows[was.ID]
		if was.ID == 0 || now.ResolvedAt != 0 || now.Count != was.Count {
			t.Errorf("%s was %+v, is %+v", key, was, now)
		}
	}
	if a := w.store.alarms.rows[before["a0pool_exhausted"].ID]; a.ResolvedAt == 0 {
		t.Errorf("nothing of it waits: %+v", a)
	}
	for _, a := range w.d.Alarms() {
		if a.ID>>20 != 7 {
			t.Errorf("raised anew: %+v", a)
		}
	}
}

// Counting is seen once a second, and nobody who looks counts.
func TestAlarm_CountingIsSeenWhenItIsWritten(t *testing.T) {
	w := script(t)
	w.exhaust("a0")
	c := w.d.alarms.Lasting()[0]
	rev := w.d.Rev()
	w.d.exhausted(w.now, w.d.cohortOf(cohortKey{"a0", "worker", fleet.PoolDefault}), 5, w.pending)
	spec := w.spec("a0", 1)
	for range 10 {
		w.d.Preview(w.now, spec)
	}
	if w.d.Rev() != rev || w.d.Alarms()[0].Count != 1 {
		t.Fatalf("counted, and seen: revision %d after %d, %+v", w.d.Rev(), rev, w.d.Alarms())
	}
	w.pass(1000)
	if w.d.Rev() == rev || c.Count != 6 {
		t.Fatalf("a second later: %+v", c)
	}
	if got := w.d.Changed(w.now, rev, true).Alarms; len(got) != 1 || got[0].Count != 6 {
		t.Fatalf("shown: %+v", got)
	}
}

func TestWaits_AreOfTheWorkThatWasPlaced(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	w.run(w.spec("a1", 1), w.agents[0])
	w.submit(w.spec("a1", 1), "")
	w.pass(8000)
	w.work(w.agents[0])
	got := w.d.Fleet(w.now).Waits
	if got.Placed != 2 || got.P50 != 0 || got.P95 < 7000 || got.P95 > 9000 || w.d.Changed(w.now, 0, true).Waits != got {
		t.Fatalf("one at once and one after 8 s: %+v", got)
	}
	w.beat(6 * 60_000)
	if got := w.d.Fleet(w.now).Waits; got != (Waits{}) {
		t.Fatalf("six minutes later: %+v", got)
	}
}

// A refusal costs the same however many there were.
func BenchmarkRefusal(b *testing.B) {
	for _, policy := range []fleet.ExhaustedPolicy{fleet.WhenExhaustedFail, fleet.WhenExhaustedWait} {
		for _, nodes := range []int{10, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", policy, nodes), func(b *testing.B) { benchmarkRefusal(b, policy, nodes) })
		}
	}
}

func benchmarkRefusal(b *testing.B, policy fleet.ExhaustedPolicy, nodes int) {
	snap := &Snapshot{Epoch: 1, Apps: []fleet.App{{ID: "a0"}}}
	for i := range nodes {
		snap.Nodes = append(snap.Nodes, fleet.NodeRecord{
			ID: fmt.Sprintf("n%05d", i), Pool: fleet.PoolDefault, Role: "worker", Runners: []string{"noop"}, Capacity: fleet.Vector{Slots: 4},
		})
	}
	d, out, now := New(testConfig), &Effects{}, fleet.Time(1)
	d.Load(now, snap)
	d.Tick(now, out)
	spec := fleet.JobSpec{
		App: "a0", Role: "worker", Runner: "noop", MaxAttempts: 3, Demands: fleet.Vector{Slots: 1}, WhenExhausted: policy,
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		next := spec
		next.ID[0], next.ID[1], next.ID[2], next.ID[3] = byte(i), byte(i>>8), byte(i>>16), byte(i>>24)
		d.Submit(now, JobInsert{Spec: &next}, out)
		if len(out.Inserts) == 512 {
			now++
			batch := out
			out = &Effects{}
			d.Committed(now, batch, nil, out)
			for d.Next() <= now {
				d.Tick(now, out)
			}
		}
	}
}

// A node that leaves raises nothing; one that dies is suspect, then lost.
func TestCase_N26_LeavingIsNoAlarm(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1), record("n2", "pool-2", 2, 1))
	w.d.Goodbye(w.now, Session{Node: "n1", Epoch: w.agents[0].epoch}, GoodbyeLeft, w.pending)
	w.agents[0].open = false
	w.after()
	w.disconnect(w.agents[1])
	if got := w.d.nodes["n2"].lease.State; got != fleet.LeaseSuspect {
		t.Fatalf("without its connection it is %v", got)
	}
	w.pass(200_000)
	w.commit()
	for _, a := range w.store.alarms.rows {
		if a.Pool == "pool-1" || a.Node == "n1" {
			t.Errorf("it left, and %+v", a)
		}
	}
	if w.lasting(fleet.AlarmNodeLost).Node != "n2" || w.lasting(fleet.AlarmNodesNotReady).Pool != "pool-2" {
		t.Errorf("one died, and %+v", w.d.Alarms())
	}
}
