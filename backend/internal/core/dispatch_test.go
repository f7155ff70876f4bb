package core

import (
	"testing"

	"rockpool/backend/internal/core/fleet"
)

// All nodes in pool-1, an app of user 1 without any binding: served from there.
func TestDecide_UnboundAppIsServedFromItsOwnersPool(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1), record("n2", "pool-1", 1, 1))
	spec := w.spec("a1", 1)
	w.submit(spec, "")
	w.commit()
	w.wantRow(spec.ID, fleet.JobOffered, "", 1, 0, "n1")
	dec := w.store.jobs[spec.ID].row.Decision
	if dec.Rule != fleet.RuleOwnerPool || dec.Pools[0].Candidates != 2 || !dec.TieBreak || dec.RemainingSlots != 0 || dec.Epoch != 7 {
		t.Fatalf("decision %+v", dec)
	}
}

func TestDecide_FallbackOnlyForOwnersWithoutNodes(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1), record("shared", fleet.PoolDefault, 0, 4))
	w.run(w.spec("a1", 1), w.agents[0])
	waits, falls := w.spec("a1", 1), w.spec("a2", 1)
	w.submit(waits, "")
	w.submit(falls, "")
	if n := len(w.pending.Fallbacks); n != 1 || w.pending.Fallbacks[0].Job != falls.ID {
		t.Fatalf("%d fallback records in the batch", n)
	}
	w.commit()
	w.wantRow(waits.ID, fleet.JobQueued, fleet.CausePoolExhausted, 0, 0, "")
	w.wantRow(falls.ID, fleet.JobOffered, "", 1, 0, "shared")
	if row := w.store.jobs[falls.ID].row; !row.Fallback || !row.Decision.Fallback || row.Pool != fleet.PoolDefault {
		t.Fatalf("row %+v", row)
	}
	// The owner's last node leaves: what waits may go to default now.
	w.d.RevokeNode(w.now, w.gone("n1"), "", w.pending)
	w.after()
	w.commit()
	w.wantRow(waits.ID, fleet.JobOffered, "", 1, 0, "shared")
}

func TestDecide_UnassignedIsNobodysPool(t *testing.T) {
	w := script(t, record("n1", fleet.PoolUnassigned, 1, 4))
	w.d.PutApp(w.now, fleet.App{ID: "a1", Owner: 1, Bindings: []fleet.Binding{{Pools: []string{fleet.PoolUnassigned}}}}, w.pending)
	spec := w.spec("a1", 1)
	w.submit(spec, "")
	w.commit()
	w.wantRow(spec.ID, fleet.JobQueued, fleet.CausePoolExhausted, 0, 0, "")
}

func TestOffer_IsWithdrawnWhenItsNodeIsHeldBeforeTheCommit(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 2), record("n2", "pool-1", 1, 1))
	spec := w.spec("a1", 1)
	w.submit(spec, "")
	w.start()
	w.store.commit(w.inFlight) // committed, but nobody knows yet
	w.move("n1", func(r *fleet.NodeRecord) { r.Holds = []fleet.Hold{{Kind: fleet.HoldDrain}} })
	batch := w.inFlight
	w.inFlight = nil
	w.d.Committed(w.now, batch, nil, w.pending)
	w.after()
	if mailed(w.agents[0], SendOffer) != 0 {
		t.Fatal("a draining node was offered work")
	}
	w.commit()
	w.wantRow(spec.ID, fleet.JobOffered, "", 2, 0, "n2")
}

func TestCommitted_RefusedAssignmentGoesElsewhere(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 2), record("n2", "pool-1", 1, 1))
	w.store.nodes["n1"].rec.Pool = "other" // the core has not heard of it
	spec := w.spec("a1", 1)
	w.submit(spec, "key")
	w.commit()
	if len(w.store.jobs) != 0 || len(w.pending.Inserts) != 1 || w.pending.Inserts[0].IdempotencyKey != "key" {
		t.Fatalf("the job is not inserted again: %+v", w.pending.Inserts)
	}
	w.commit()
	w.wantRow(spec.ID, fleet.JobOffered, "", 2, 0, "n2")
	if len(w.store.attempts) != 0 {
		t.Fatalf("an attempt that was never stored is kept: %+v", w.store.attempts)
	}
}

func TestCommitted_RefusedAssignmentWaitsASecond(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	w.store.nodes["n1"].rec.Holds = []fleet.Hold{{Kind: fleet.HoldCordon}}
	spec := w.spec("a1", 1)
	w.submit(spec, "")
	w.commit()
	w.commit()
	w.wantRow(spec.ID, fleet.JobQueued, fleet.CauseAssignmentRefused, 1, 0, "")
	w.store.nodes["n1"].rec.Holds = nil
	w.pass(1000)
	w.commit()
	w.wantRow(spec.ID, fleet.JobOffered, "", 2, 0, "n1")
}

func TestCommitted_RefusedIdempotencyForgetsTheJob(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	first, second := w.spec("a1", 1), w.spec("a1", 1)
	w.submit(first, "key")
	w.commit()
	w.jobs = append(w.jobs, second)
	w.d.Submit(w.now, JobInsert{Spec: second, IdempotencyKey: "key"}, w.pending)
	w.commit()
	if _, open := w.d.LiveJob(w.now, second.ID); open {
		t.Fatal("it is still there")
	}
	w.d.Cancel(w.now, first.ID, "u:1", 0, w.pending)
	w.after()
}

func TestLoad_UnknownCommitOffersOnce(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	spec := w.spec("a1", 1)
	w.submit(spec, "")
	w.start()
	w.finish(2)
	if n := mailed(a, SendOffer); n != 1 {
		t.Fatalf("%d offers", n)
	}
	w.readAll(a)
	w.work(a)
	w.commit()
	w.wantRow(spec.ID, fleet.JobSucceeded, "", 1, 1, "n1")
}

// A new process knows nothing of an offered attempt: its node's hello tells.
func TestLoad_OfferedMayHaveStarted(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(w *world, a *agent)
		state   fleet.JobState
		attempt int32
		counted int32
	}{
		{"it still runs", func(*world, *agent) {}, fleet.JobOffered, 1, 0},
		{"the same process denies it: it never began", func(_ *world, a *agent) { a.work = nil }, fleet.JobOffered, 2, 0},
		{"another process denies it: it may have run", func(_ *world, a *agent) { a.work, a.boot = nil, a.boot+1 }, fleet.JobOffered, 2, 1},
		{"its result is on the way", func(w *world, a *agent) { w.work(a) }, fleet.JobSucceeded, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := script(t, record("n1", "pool-1", 1, 1))
			a := w.agents[0]
			spec := w.spec("a1", 1)
			w.run(spec, a)
			a.open, a.ready = false, false
			w.d = New(testConfig)
			w.d.Load(w.now, w.store.snapshot())
			w.after()
			if v, _ := w.d.LiveJob(w.now, spec.ID); v.State != fleet.JobOffered {
				t.Fatalf("after a restart it is %v", v.State)
			}
			c.change(w, a)
			w.join(a)
			w.commit()
			w.commit()
			w.wantRow(spec.ID, c.state, "", c.attempt, c.counted, "n1")
		})
	}
}

func TestWaiting_DecisionIsWrittenAgainOnlyForOtherReasons(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1), record("n2", "pool-1", 1, 1))
	w.run(w.spec("a1", 1), w.agents[0])
	w.run(w.spec("a1", 1), w.agents[1])
	spec := w.spec("a1", 2)
	w.submit(spec, "")
	w.commit()
	w.work(w.agents[0]) // still too few slots
	for _, u := range w.pending.Updates {
		if u.Job == spec.ID {
			t.Fatal("written again although nothing changed for it")
		}
	}
	w.commit()
	v, _ := w.d.LiveJob(w.now, spec.ID)
	if v.Decision.Pools[0].Rejected[fleet.NoSlots] != 2 {
		t.Fatalf("as it would be decided now: %+v", v.Decision)
	}
}

// A pool's nodes are each counted under one word, as their own pages show them.
func TestViews_CountEachReadyNodeOnce(t *testing.T) {
	held := record("n2", "pool-1", 1, 4)
	held.Holds = []fleet.Hold{{Kind: fleet.HoldCordon}}
	lost := record("n3", "pool-1", 1, 4)
	lost.Holds = held.Holds
	w := script(t, record("n1", "pool-1", 1, 2), held, lost, record("n4", "pool-1", 1, 1))
	w.d.Heartbeat(w.now, Session{Node: "n2", Epoch: w.agents[1].epoch}, HeartbeatEvent{Accepting: true}, w.pending)
	w.d.SessionClosed(w.now, Session{Node: "n3", Epoch: w.agents[2].epoch}, w.pending)
	w.d.Heartbeat(w.now, Session{Node: "n4", Epoch: w.agents[3].epoch}, HeartbeatEvent{Healthy: true}, w.pending)
	for _, p := range w.d.Fleet(w.now).Pools {
		if p.Pool.ID == "pool-1" && (p.Ready != 3 || p.Suspect != 1 || p.Held != 2 || p.ReadyHeld.Cordoned != 1 || p.Unhealthy != 1 || p.SlotsFree != 2) {
			t.Fatalf("pool-1: %+v", p)
		}
	}
}

func TestViews_ShowWhatIs(t *testing.T) {
	held := record("n2", "pool-1", 1, 4)
	held.Holds = []fleet.Hold{{Kind: fleet.HoldDrain}, {Kind: fleet.HoldCordon}}
	w := script(t, record("n1", "pool-1", 1, 2), held)
	spec, waits := w.spec("a1", 1), w.spec("a1", 2)
	rev := w.d.Rev()
	w.run(spec, w.agents[0])
	w.submit(waits, "")
	if w.d.Rev() <= rev {
		t.Fatal("the revision did not rise")
	}
	v := w.d.Fleet(w.now)
	n1, n2 := v.Nodes[0], v.Nodes[1]
	if n1.Reserved.Slots != 1 || n1.Free.Slots != 1 || len(n1.Running) != 1 || n1.Running[0].Phase != PhaseRunning || len(n1.Reasons) != 0 {
		t.Fatalf("n1: %+v", n1)
	}
	if len(n2.Reasons) != 2 || n2.Reasons[0] != fleet.Draining || n2.Reasons[1] != fleet.Cordoned {
		t.Fatalf("n2: %+v", n2.Reasons)
	}
	for _, p := range v.Pools {
		if p.Pool.ID != "pool-1" {
			continue
		}
		if p.Nodes != 2 || p.Ready != 2 || p.Held != 1 || p.SlotsTotal != 6 || p.SlotsFree != 1 || p.OutOfUse != 4 || p.Queued != 1 || p.Running != 1 {
			t.Fatalf("pool-1: %+v", p)
		}
	}
	e, open := w.d.Explain(w.now, waits.ID)
	if !open || len(e.Nodes) != 2 || e.Nodes[0].Reasons[0] != fleet.NoSlots || len(e.Nodes[1].Reasons) != 2 {
		t.Fatalf("explained: %+v", e)
	}
	if s := e.Standing; s == nil || s.Pool != "pool-1" || s.Of != 1 || s.AheadAlike != 0 || s.Apps != 0 || s.Weights != int64(s.Weight) {
		t.Fatalf("stands at %+v", s)
	}
	before := w.d.Rev()
	other := *waits
	other.Role = "edge"
	dec := w.d.Preview(w.now, &other).Decision
	if dec.Outcome != fleet.OutcomeWaiting || dec.Pools[0].Rejected[fleet.WrongRole] != 2 || w.d.Rev() != before {
		t.Fatalf("preview: %+v", dec)
	}
	w.after()
}

func TestDecision_InWords(t *testing.T) {
	tally := fleet.Tally{Pool: "pool-7", Nodes: 14, Candidates: 2}
	tally.Rejected[fleet.Draining], tally.Rejected[fleet.NoSlots] = 9, 3
	full := fleet.Tally{Pool: "pool-7", Nodes: 14}
	full.Rejected[fleet.Draining], full.Rejected[fleet.NoResource], full.Resource = 9, 5, "gpu"
	shared := fleet.Tally{Pool: "default", Nodes: 1, Candidates: 1}
	for _, c := range []struct {
		dec  fleet.Decision
		want string
	}{
		{fleet.Decision{Rule: fleet.RuleOwnerPool, Pools: []fleet.Tally{tally}, Node: "ams-edge-03", RemainingSlots: 11},
			"pool-7 (owner's pool of user 7): 2 of 14 nodes could take it (9 draining, 3 without a free slot); ams-edge-03 had the most free slots (12)."},
		{fleet.Decision{Rule: fleet.RuleOwnerPool, Pools: []fleet.Tally{full}},
			"pool-7 (owner's pool of user 7): none of 14 nodes can take it (9 draining, 5 without the resource gpu). Fallback to default is off for cam-7."},
		{fleet.Decision{Rule: fleet.RuleOwnerPool, Pools: []fleet.Tally{{Pool: "pool-7"}, shared}, Node: "n1", Fallback: true, FallbackOK: true},
			"pool-7 (owner's pool of user 7): it has no nodes; fallback to default: 1 of 1 nodes could take it; n1 had the most free slots (1)."},
		{fleet.Decision{Rule: fleet.RuleBinding, Pools: []fleet.Tally{tally}, Node: "n1", TieBreak: true},
			"pool-7 (bound to cam-7): 2 of 14 nodes could take it (9 draining, 3 without a free slot); n1 had the most free slots (1, as others had; the lowest id won)."},
		{fleet.Decision{Rule: fleet.RuleBinding}, "cam-7 resolves to no pool. Fallback to default is off for cam-7."},
	} {
		if got := c.dec.Text("cam-7", 7, 1); got != c.want {
			t.Errorf("\n got %s\nwant %s", got, c.want)
		}
	}
}

// BenchmarkJob takes jobs through their whole life, in batches of 256.
func BenchmarkJob(b *testing.B) {
	d := New(testConfig)
	snap := &Snapshot{Apps: []fleet.App{{ID: "a0"}}, Pools: []fleet.Pool{{ID: "default", State: fleet.PoolActive}}}
	for _, id := range []string{"n1", "n2", "n3", "n4"} {
		snap.Nodes = append(snap.Nodes, fleet.NodeRecord{ID: id, Pool: "default", Role: "worker", Runners: []string{"noop"}})
	}
	d.Load(1, snap)
	out, next := &Effects{}, &Effects{}
	commit := func() {
		d.Committed(1, out, nil, next)
		out.Reset()
		out, next = next, out
	}
	for _, n := range snap.Nodes {
		d.Hello(1, HelloEvent{Node: n.ID, Report: &fleet.NodeReport{Capacity: fleet.Vector{Slots: 64}, Runners: n.Runners}}, out)
	}
	commit()
	specs := make([]*fleet.JobSpec, 256)
	result := &fleet.Result{}
	seq := 0
	b.ReportAllocs()
	for b.Loop() {
		for i := range specs {
			seq++
			specs[i] = &fleet.JobSpec{App: "a0", Role: "worker", Runner: "noop", MaxAttempts: 3, Demands: fleet.Vector{Slots: 1}}
			specs[i].ID[13], specs[i].ID[14], specs[i].ID[15] = byte(seq>>16), byte(seq>>8), byte(seq)
			d.Submit(1, JobInsert{Spec: specs[i]}, out)
		}
		commit()
		offers := len(out.Sends)
		for i := range offers {
			if s := &out.Sends[i]; s.Kind == SendOffer {
				at := Attempt{Job: s.Job, Attempt: s.Attempt}
				d.Accept(1, Session{Node: s.Node, Epoch: s.Epoch}, at, out)
				d.Result(1, Session{Node: s.Node, Epoch: s.Epoch}, at, result, out)
			}
		}
		commit()
		out.Sends = out.Sends[:0]
		d.timers.reset()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/job")
}
