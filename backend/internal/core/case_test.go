package core

import (
	"cmp"
	"fmt"
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// script is a world in which only what the test says happens.
func script(t *testing.T, nodes ...fleet.NodeRecord) *world {
	t.Helper()
	w := newWorld(func(string, int) int { return 3 }, t.Fatalf)
	w.calm = true
	for _, id := range []string{fleet.PoolDefault, fleet.PoolUnassigned, "pool-1", "pool-2", "other"} {
		w.store.pools = append(w.store.pools, fleet.Pool{ID: id, State: fleet.PoolActive, Thresholds: fleet.DefaultThresholds()})
	}
	w.store.apps = []fleet.App{{ID: "a1", Owner: 1}, {ID: "a2", Owner: 2}, {ID: "a0"}}
	for _, rec := range nodes {
		rec.Role, rec.Version, rec.Runners = cmp.Or(rec.Role, "worker"), 1, []string{"noop"}
		w.store.nodes[rec.ID] = &modelNode{rec: rec}
		w.agents = append(w.agents, &agent{id: rec.ID, slots: rec.Capacity.Slots})
	}
	w.d.Load(w.now, w.store.snapshot())
	w.after()
	for _, a := range w.agents {
		w.join(a)
	}
	return w
}

func record(id, pool string, owner, slots int64) fleet.NodeRecord {
	return fleet.NodeRecord{ID: id, Pool: pool, Owner: owner, Capacity: fleet.Vector{Slots: slots}}
}

// join connects an agent up to its welcome.
func (w *world) join(a *agent) {
	w.connect(a)
	w.commit()
	w.readAll(a)
}

func (w *world) commit() {
	w.start()
	w.finish(0)
}

func (w *world) readAll(a *agent) {
	for len(a.mail) > 0 {
		w.read(a)
	}
}

// move changes a node's record in the store and in the core, as one call does.
func (w *world) move(node string, change func(*fleet.NodeRecord)) {
	n := w.store.nodes[node]
	change(&n.rec)
	w.hear(n)
	w.listen()
}

// run submits a job and brings it to run on the agent.
func (w *world) run(spec *fleet.JobSpec, a *agent) {
	w.submit(spec, "")
	w.commit()
	w.readAll(a)
}

func (w *world) wantRow(id ids.JobID, state fleet.JobState, cause fleet.Cause, attempt, counted int32, node string) {
	row := w.store.jobs[id].row
	if row.State != state || row.Cause != cause || row.Attempt != attempt || row.Counted != counted || node != "" && row.Node != node {
		w.fail("row is %v (%q), attempt %d, counted %d, on %q; want %v (%q), %d, %d, %q",
			row.State, row.Cause, row.Attempt, row.Counted, row.Node, state, cause, attempt, counted, node)
	}
}

func (w *world) wantAudit(action string) {
	for _, e := range []*Effects{w.pending, w.inFlight} {
		if e == nil {
			continue
		}
		for _, a := range e.Audits {
			if a.Action == action {
				return
			}
		}
	}
	w.fail("no audit note %q in %+v", action, w.pending.Audits)
}

// mailed counts what the agent has been sent and not read.
func mailed(a *agent, kind SendKind) (n int) {
	for _, s := range a.mail {
		if s.Kind == kind {
			n++
		}
	}
	return n
}

func TestCase_A1_MovedNodeMayFinishItsWork(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 2), record("n2", "pool-2", 2, 2))
	a := w.agents[0]
	spec := w.spec("a1", 1)
	w.run(spec, a)
	w.move("n1", func(r *fleet.NodeRecord) { r.Pool = "pool-2" })
	w.d.Progress(w.now, Session{Node: "n1", Epoch: a.epoch}, Attempt{Job: spec.ID, Attempt: 1}, 40, w.pending)
	if v, _ := w.d.LiveJob(w.now, spec.ID); v.Percent != 40 || v.State != fleet.JobRunning || v.Pool != "pool-1" {
		t.Fatalf("after the move: %+v", v)
	}
	next := w.spec("a1", 1)
	w.submit(next, "")
	w.work(a)
	w.commit()
	w.readAll(a)
	w.wantRow(spec.ID, fleet.JobSucceeded, "", 1, 1, "n1")
	if got := w.store.jobs[spec.ID].row.Pool; got != "pool-1" {
		t.Fatalf("the pool it was placed in reads %q", got)
	}
	w.wantRow(next.ID, fleet.JobQueued, fleet.CausePoolExhausted, 0, 0, "")
	other := w.spec("a2", 1)
	w.submit(other, "")
	w.commit()
	if row := w.store.jobs[other.ID].row; row.Pool != "pool-2" {
		t.Fatalf("placed in %q", row.Pool)
	}
	if len(a.spool) != 0 {
		t.Fatal("its result was not acknowledged")
	}
}

func TestCase_B5_WaitingWorkWakesUp(t *testing.T) {
	busy := func(w *world) *fleet.JobSpec {
		spec := w.spec("a1", 1)
		w.submit(spec, "")
		w.commit()
		w.wantRow(spec.ID, fleet.JobQueued, fleet.CausePoolExhausted, 0, 0, "")
		return spec
	}
	hold := func(r *fleet.NodeRecord) { r.Holds = []fleet.Hold{{Kind: fleet.HoldCordon}} }
	for name, c := range map[string]struct{ before, event func(w *world) }{
		"node joins": {func(w *world) { w.disconnect(w.agents[0]) }, func(w *world) { w.join(w.agents[0]) }},
		"uncordon": {func(w *world) { w.move("n1", hold) }, func(w *world) {
			w.move("n1", func(r *fleet.NodeRecord) { r.Holds = nil })
		}},
		"move in": {func(w *world) { w.move("n1", func(r *fleet.NodeRecord) { r.Pool = "other" }) }, func(w *world) {
			w.move("n1", func(r *fleet.NodeRecord) { r.Pool = "pool-1" })
		}},
		"capacity up": {func(w *world) { w.run(w.spec("a1", 1), w.agents[0]) }, func(w *world) {
			w.disconnect(w.agents[0])
			w.agents[0].slots = 2
			w.join(w.agents[0])
		}},
		"job ends": {func(w *world) { w.run(w.spec("a1", 1), w.agents[0]) }, func(w *world) { w.work(w.agents[0]) }},
		"lease regained": {func(w *world) { w.pass(26_000) }, func(w *world) {
			w.d.Alive(w.now, Session{Node: "n1", Epoch: w.agents[0].epoch}, w.pending)
		}},
		"healthy again": {func(w *world) {
			w.d.Heartbeat(w.now, Session{Node: "n1", Epoch: w.agents[0].epoch}, HeartbeatEvent{Accepting: true}, w.pending)
		}, func(w *world) { w.heartbeat(w.agents[0]) }},
		"fallback switched on": {func(w *world) {
			w.move("n1", func(r *fleet.NodeRecord) { r.Pool = fleet.PoolDefault })
		}, func(w *world) {
			w.d.PutApp(w.now, fleet.App{ID: "a1", Owner: 1, Bindings: []fleet.Binding{{Pools: []string{"pool-1"}, AllowFallback: true}}}, w.pending)
		}},
		"pool active again": {func(w *world) {
			w.d.PutPool(w.now, fleet.Pool{ID: "pool-1", State: fleet.PoolIsClosed}, w.pending)
		}, func(w *world) {
			w.d.PutPool(w.now, fleet.Pool{ID: "pool-1", State: fleet.PoolActive}, w.pending)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := script(t, record("n1", "pool-1", 1, 1))
			c.before(w)
			spec := busy(w)
			c.event(w)
			w.after()
			w.commit()
			w.wantRow(spec.ID, fleet.JobOffered, "", 1, 0, "n1")
		})
	}
}

func TestCase_C5_EqualNodesShareEqually(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 4), record("n2", "pool-1", 1, 4), record("n3", "pool-1", 1, 4))
	for range 6 {
		w.submit(w.spec("a1", 1), "")
	}
	for _, n := range w.d.order {
		if got := n.slot.Reserved().Slots; got != 2 {
			t.Fatalf("%s has %d", n.rec.ID, got)
		}
	}
}

func TestCase_E1_HundredCancelsOneEffect(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	spec := w.spec("a1", 1)
	w.run(spec, a)
	for range 100 {
		state, open := w.d.Cancel(w.now, spec.ID, "u:1", 5000, w.pending)
		w.after()
		if state != fleet.JobCanceling || !open {
			t.Fatalf("cancel gives %v, %v", state, open)
		}
	}
	if n := len(w.pending.Updates); n != 1 {
		t.Fatalf("%d writes", n)
	}
	w.commit()
	if n := mailed(a, SendCancel); n != 1 {
		t.Fatalf("%d cancels were sent", n)
	}
	w.readAll(a)
	w.work(a)
	w.commit()
	w.readAll(a)
	w.wantRow(spec.ID, fleet.JobCanceled, fleet.CauseCanceledByUser, 1, 1, "n1")
	if row := w.store.jobs[spec.ID].row; row.CancelBy != "u:1" {
		t.Fatalf("canceled by %q", row.CancelBy)
	}
	if _, open := w.d.Cancel(w.now, spec.ID, "u:1", 0, w.pending); open || w.pending.Durable() {
		t.Fatal("a cancel after the end has an effect")
	}
	if w.d.Totals() != (Totals{}) {
		t.Fatalf("its slot is not free: %+v", w.d.Totals())
	}
}

func TestCase_E1_CancelEndsWithoutTheNodesWord(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	spec := w.spec("a1", 1)
	w.run(spec, w.agents[0])
	w.d.Cancel(w.now, spec.ID, "u:1", 5000, w.pending)
	w.commit()
	for range 4 {
		w.pass(8_700)
		w.heartbeat(w.agents[0])
	}
	w.commit()
	w.wantRow(spec.ID, fleet.JobCanceling, "", 1, 0, "n1")
	w.pass(200)
	w.commit()
	w.wantRow(spec.ID, fleet.JobCanceled, fleet.CauseCanceledByUser, 1, 1, "n1")
}

func TestCase_E3_CancelOfWaitingWorkIsTerminalAtOnce(t *testing.T) {
	w := script(t)
	spec := w.spec("a1", 1)
	w.submit(spec, "")
	if state, _ := w.d.Cancel(w.now, spec.ID, "u:1", 0, w.pending); state != fleet.JobCanceled {
		t.Fatalf("it is %v", state)
	}
	w.commit()
	w.wantRow(spec.ID, fleet.JobCanceled, fleet.CauseCanceledByUser, 0, 0, "")
}

func TestCase_F1_ImpossibleWorkBlocksNobody(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	w.run(w.spec("a1", 1), w.agents[0])
	for i := range 100 {
		spec := w.spec("a1", 1)
		spec.Priority, spec.Runner = fleet.MaxPriority, []string{"none", "nowhere"}[i%2]
		w.submit(spec, "")
	}
	normal := w.spec("a1", 1)
	w.submit(normal, "")
	w.work(w.agents[0])
	w.commit()
	w.wantRow(normal.ID, fleet.JobOffered, "", 1, 0, "n1")
}

func TestCase_F9_FailAtOnceWhenAskedFor(t *testing.T) {
	w := script(t)
	spec := w.spec("a0", 1)
	spec.WhenExhausted = fleet.WhenExhaustedFail
	w.submit(spec, "")
	w.commit()
	w.wantRow(spec.ID, fleet.JobFailed, fleet.CausePoolExhausted, 0, 0, "")
	if dec := w.store.jobs[spec.ID].row.Decision; dec.Outcome != fleet.OutcomeFailed {
		t.Fatalf("decision %+v", dec)
	}
}

// Every other offer is never written: each job gets its next attempt, and none stays.
func TestCase_N5_OffersThatWereNotWrittenAreMadeAgain(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	for range 20 {
		spec := w.spec("a1", 1)
		w.submit(spec, "")
		w.commit()
		a.mail = nil // the write failed, and with it the connection
		w.disconnect(a)
		w.join(a)
		w.commit()
		w.readAll(a)
		w.wantRow(spec.ID, fleet.JobOffered, "", 2, 0, "n1")
		w.work(a)
		w.commit()
		w.readAll(a)
		w.wantRow(spec.ID, fleet.JobSucceeded, "", 2, 1, "n1")
		w.beat(301_000) // else it flaps
	}
	if w.d.Totals() != (Totals{}) {
		t.Fatalf("something stays: %+v", w.d.Totals())
	}
}

// What a node was behind with comes at once: the newest counts, nothing is written,
// and nobody else is kept from being heard.
func TestCase_N4_ABacklogIsCoalescedToTheNewest(t *testing.T) {
	var recs []fleet.NodeRecord
	for i := range 51 {
		recs = append(recs, record(fmt.Sprintf("n%02d", i), "pool-1", 1, 1))
	}
	w := script(t, recs...)
	spec := w.spec("a1", 1)
	w.run(spec, w.agents[0])
	w.commit()
	w.disconnect(w.agents[0])
	w.beatBut(1, 30_000)
	w.join(w.agents[0])
	w.commit()
	for i := range 10_000 {
		w.d.Progress(w.now, Session{Node: "n00", Epoch: w.agents[0].epoch}, Attempt{Job: spec.ID, Attempt: 1}, int32(i%100), w.pending)
	}
	w.after()
	if w.pending.Durable() || len(w.pending.Sends) > 0 {
		t.Fatalf("of 10,000 updates is to be written or sent: %+v", w.pending)
	}
	if v, _ := w.d.LiveJob(w.now, spec.ID); v.Percent != 99 || v.Attempt != 1 {
		t.Fatalf("the job is shown as %+v", v)
	}
	if ready, _, _ := w.leases(); ready != 51 {
		t.Fatalf("%d of 51 nodes are ready", ready)
	}
}
