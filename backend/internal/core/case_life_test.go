package core

import (
	"testing"

	"rockpool/backend/internal/core/fleet"
)

// reborn lets another process of the server begin, so much later, from what the
// database has. Its clock begins anew: it gives by how much its times are less.
func (w *world) reborn(later fleet.Time) (less fleet.Time) {
	for w.inFlight != nil || w.pending.Durable() {
		w.commit()
	}
	less = w.now + later - 1
	w.now = 1
	w.store.shift(less)
	w.pending, w.d = &Effects{}, New(testConfig)
	for _, a := range w.agents {
		a.open, a.ready, a.mail = false, false, nil
	}
	w.store.epoch++
	w.d.Load(w.now, w.store.snapshot())
	w.after()
	return less
}

// shift gives the rows as a process reads them whose clock began so much later.
func (s *modelStore) shift(by fleet.Time) {
	move := func(moments ...*fleet.Time) {
		for _, t := range moments {
			if *t != 0 {
				*t -= by
			}
		}
	}
	for _, id := range s.order {
		j := s.jobs[id]
		move(&j.at, &j.row.AssignedAt, &j.row.StartedAt, &j.row.EndedAt, &j.row.NotBefore)
		if j.row.Decision != nil {
			dec := *j.row.Decision
			move(&dec.At)
			j.row.Decision = &dec
		}
	}
	for id, a := range s.alarms.rows {
		move(&a.RaisedAt, &a.LastAt, &a.ResolvedAt)
		s.alarms.rows[id] = a
	}
}

// failOnce hands in that the agent could not start its newest attempt.
func (w *world) failOnce(a *agent) {
	t := a.work[len(a.work)-1]
	a.work = a.work[:len(a.work)-1]
	a.spool = append(a.spool, handIn{t.Attempt, &fleet.Result{Status: fleet.ResultFailed, Cause: fleet.CauseStartFailed}})
	w.handIn(a)
}

// Sticky work would follow its node; a retry resolves anew.
func TestCase_A2_RetryFollowsTheBindingAndNotItsNode(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	spec := w.spec("a1", 1)
	spec.RetryBackoffMs = 1000
	w.run(spec, a)
	w.failOnce(a)
	w.bind("a1", 1, fleet.Binding{Pools: []string{"pool-2"}})
	w.pass(120_000)
	w.commit()
	w.wantRow(spec.ID, fleet.JobQueued, fleet.CauseStartFailed, 1, 1, "n1")
	if v, _ := w.d.LiveJob(w.now, spec.ID); len(v.Decision.Pools) != 1 || v.Decision.Pools[0].Pool != "pool-2" || v.Decision.Pools[0].Nodes != 0 {
		t.Fatalf("decided %+v", v.Decision)
	}
	if _, lasts := w.alarmOf("a1"); !lasts {
		t.Fatal("no alarm tells that its new pool is empty")
	}
}

func (w *world) alarmOf(app string) (fleet.Alarm, bool) {
	for _, a := range w.d.Alarms() {
		if a.App == app {
			return a, true
		}
	}
	return fleet.Alarm{}, false
}

// No wake-up lives in memory only: whatever paused the job, another process goes on
// with it on time, neither early nor a pause later.
func TestCase_C3_PausesOutliveARestart(t *testing.T) {
	for _, away := range []fleet.Time{0, 10_000, 600_000} {
		w := script(t, record("n1", "pool-1", 1, 4))
		a := w.agents[0]
		failed, later := w.spec("a1", 1), w.spec("a1", 1)
		failed.RetryBackoffMs = 20_000
		began := w.now
		w.run(failed, a)
		w.failOnce(a)
		w.submitAt(later, "", w.now+50_000)
		w.commit()
		w.wantRow(failed.ID, fleet.JobQueued, fleet.CauseBackoff, 1, 1, "n1")
		w.wantRow(later.ID, fleet.JobQueued, fleet.CauseNotBefore, 0, 0, "")
		less := w.reborn(away)
		w.join(a)
		for _, c := range []struct {
			spec    *fleet.JobSpec
			at      fleet.Time
			attempt int32
			counted int32
		}{{failed, began + 20_000 - less, 2, 1}, {later, began + 50_000 - less, 1, 0}} {
			if w.now < c.at {
				w.beat(c.at - 1 - w.now)
				if v, _ := w.d.LiveJob(w.now, c.spec.ID); v.State != fleet.JobQueued || v.NotBefore != c.at {
					t.Fatalf("away %d: early at %d: %+v", away, w.now, v)
				}
				w.pass(1)
			}
			w.commit()
			w.wantRow(c.spec.ID, fleet.JobOffered, "", c.attempt, c.counted, "n1")
		}
		if waits := w.d.jobs[failed.ID].row.Waits; away < 20_000 && waits.Backoff != 20_000 {
			t.Fatalf("away %d: its ledger reads %+v", away, waits)
		}
	}
}

func TestCase_C4_DeadAgentsSlotsAreFreeByTheLostDeadline(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 4))
	a := w.agents[0]
	again, never, once := w.spec("a1", 1), w.spec("a1", 1), w.spec("a1", 1)
	never.OnNodeLost, once.MaxAttempts = fleet.OnLostFail, 1
	for _, spec := range []*fleet.JobSpec{again, never, once} {
		w.run(spec, a)
	}
	w.restart(a) // nothing of it is left, and nothing said
	if w.d.Totals().Reserved != 3 {
		t.Fatalf("before the deadline: %+v", w.d.Totals())
	}
	w.pass(testConfig.Lost)
	w.commit()
	if w.d.Totals().Reserved != 0 || w.store.nodes["n1"].reserved != 0 {
		t.Fatalf("at the deadline: %+v", w.d.Totals())
	}
	w.wantRow(again.ID, fleet.JobQueued, fleet.CauseNodeLost, 1, 1, "n1")
	w.wantRow(never.ID, fleet.JobFailed, fleet.CauseNodeLost, 1, 1, "n1")
	w.wantRow(once.ID, fleet.JobDead, fleet.CauseAttemptsUsedUp, 1, 1, "n1")
	if detail := w.store.jobs[once.ID].row.Detail; detail != "the last attempt ended with node_lost" {
		t.Errorf("the detail is %q", detail)
	}
}

func TestCase_D1_LongCutEndsInOneResult(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 2), record("n2", "pool-1", 1, 1))
	first, second := w.agents[0], w.agents[1]
	spec := w.spec("a1", 1)
	w.run(spec, first)
	w.disconnect(first)
	for range 19 {
		w.pass(5000)
		w.heartbeat(second)
	}
	w.commit()
	w.readAll(second)
	w.wantRow(spec.ID, fleet.JobOffered, "", 2, 1, "n2")
	w.work(first) // it ended while nobody heard it
	w.join(first)
	w.wantAudit(AuditResultFenced)
	w.readAll(first)
	w.commit()
	if len(first.work)+len(first.spool) != 0 {
		t.Fatalf("it keeps %+v and %+v", first.work, first.spool)
	}
	w.work(second)
	w.commit()
	w.wantRow(spec.ID, fleet.JobSucceeded, "", 2, 2, "n2")
	if w.acks[spec.ID] != 0 && !w.store.jobs[spec.ID].hasResult {
		t.Fatal("no result")
	}
}

// What judges by silence and what brings a result may meet in any order: the first
// commit wins, and the other one changes nothing.
func TestCase_D4_ResultAndItsDeadlineMeet(t *testing.T) {
	for _, inFlight := range []bool{false, true} {
		w := script(t, record("n1", "pool-1", 1, 1))
		a := w.agents[0]
		spec := w.spec("a1", 1)
		w.run(spec, a)
		w.work(a)
		if inFlight {
			w.start()
		}
		w.disconnect(a)
		w.pass(testConfig.Lost) // its node is given up before its result is committed
		w.commit()
		w.commit()
		w.wantRow(spec.ID, fleet.JobSucceeded, "", 1, 1, "n1")
		if w.d.Totals() != (Totals{}) {
			t.Fatalf("left %+v", w.d.Totals())
		}
	}
}

func TestCase_D6_LongJobOnADeadNodeIsSeenInSeconds(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	spec := w.spec("a1", 1)
	spec.RunTimeoutMs = 6 * 3600 * 1000
	w.run(spec, a)
	w.pass(5000)
	a.open = false // it died, and its socket lives on
	w.pass(testConfig.Lost)
	w.commit()
	w.wantRow(spec.ID, fleet.JobQueued, fleet.CauseNodeLost, 1, 1, "n1")
	if v, _ := w.d.LiveJob(w.now, spec.ID); v.State == fleet.JobRunning {
		t.Fatal("it reads running without a live lease")
	}
}

// While its new session waits for the commit, a node stays what it was and keeps
// its work, whatever frame it sends; new work waits until the session is ready.
func TestCase_D8_HandshakeKeepsTheLease(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 2))
	a := w.agents[0]
	spec, next := w.spec("a1", 1), w.spec("a1", 1)
	w.run(spec, a)
	w.disconnect(a)
	w.connect(a) // its commit takes long
	w.start()
	w.submit(next, "")
	for range 20 {
		w.pass(10_000)
		w.d.Alive(w.now, Session{Node: "n1", Epoch: a.epoch}, w.pending)
		w.after()
	}
	if got := w.d.nodes["n1"].lease.State; got == fleet.LeaseLost {
		t.Fatal("lost while it spoke")
	}
	if v, _ := w.d.LiveJob(w.now, spec.ID); v.State != fleet.JobRunning {
		t.Fatalf("its work was pulled away: %+v", v)
	}
	if mailed(a, SendOffer) != 0 {
		t.Fatal("an offer before the session was ready")
	}
	w.finish(0)
	w.readAll(a)
	w.commit()
	w.commit()
	w.wantRow(spec.ID, fleet.JobOffered, "", 1, 0, "n1")
	w.wantRow(next.ID, fleet.JobOffered, "", 1, 0, "n1")
	w.work(a)
	w.commit()
	w.wantRow(spec.ID, fleet.JobSucceeded, "", 1, 1, "n1")
}

func TestCase_D13_RebornAgentTakesItsSessionOver(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	old := a.epoch
	a.open, a.work, a.boot = false, nil, a.boot+1 // killed; its socket lives on
	w.connect(a)
	closed := 0
	for _, s := range w.pending.Sends {
		if s.Kind == SendClose && s.Epoch == old && s.Code == fleet.CodeConflict && s.Detail == CloseSuperseded {
			closed++
		}
	}
	if a.epoch <= old || closed > 1 {
		t.Fatalf("epoch %d after %d, closed %d times", a.epoch, old, closed)
	}
	w.commit()
	w.readAll(a)
	if n := w.d.nodes["n1"]; !n.ready() || n.rec.BootID != "1" {
		t.Fatalf("after its commit: %v, boot %s", n.lease.State, n.rec.BootID)
	}
	w.d.Heartbeat(w.now, Session{Node: "n1", Epoch: old}, HeartbeatEvent{Accepting: true, Healthy: true}, w.pending)
	if s := w.pending.Sends[len(w.pending.Sends)-1]; s.Ack.OK {
		t.Fatal("the old socket's heartbeat counts")
	}
	w.after()
	spec := w.spec("a1", 1)
	w.run(spec, a)
	w.work(a)
	w.commit()
	w.wantRow(spec.ID, fleet.JobSucceeded, "", 1, 1, "n1")
}

// Neither the queue nor the offer is part of a run: it begins with its node's yes.
func TestCase_F8_RunTimeoutBeginsWithTheRun(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	first, spec := w.spec("a1", 1), w.spec("a1", 1)
	spec.RunTimeoutMs = 600_000
	w.run(first, a)
	submitted := w.now
	w.submit(spec, "")
	w.beat(660_000) // eleven minutes in the queue
	w.work(a)
	w.commit()
	w.pass(3000) // and the offer takes a while
	w.readAll(a)
	began := w.now
	v, _ := w.d.LiveJob(w.now, spec.ID)
	if v.State != fleet.JobRunning || v.StartedAt != began {
		t.Fatalf("after its node's yes: %+v", v)
	}
	if want := (fleet.WaitLedger{Pool: int64(began-submitted) - 3000, Offer: 3000}); v.Waits != want {
		t.Fatalf("its ledger reads %+v, want %+v", v.Waits, want)
	}
	w.beat(600_000 - 1)
	if mailed(a, SendCancel) != 0 {
		t.Fatal("canceled within its time")
	}
	w.work(a)
	w.commit()
	w.wantRow(spec.ID, fleet.JobSucceeded, "", 1, 1, "n1")
}

// A node ends what runs too long; of one that does not, the control plane ends it.
func TestCase_F8_RunThatItsNodeDoesNotEnd(t *testing.T) {
	for _, answers := range []bool{true, false} {
		w := script(t, record("n1", "pool-1", 1, 1))
		a := w.agents[0]
		spec := w.spec("a1", 1)
		spec.RunTimeoutMs = 60_000
		w.run(spec, a)
		most := fleet.Time(60_000) + testConfig.DefaultGrace + testConfig.CancelSlack + testConfig.TransferTime
		w.beat(most)
		if mailed(a, SendCancel) != 0 {
			t.Fatal("its node has had no time to end it")
		}
		w.beat(5000)
		w.wantRow(spec.ID, fleet.JobOffered, "", 1, 0, "n1")
		if mailed(a, SendCancel) != 1 {
			t.Fatalf("it was told %+v", a.mail)
		}
		if answers {
			w.readAll(a)
			w.work(a)
		} else {
			w.beat(testConfig.DefaultGrace + testConfig.CancelSlack)
		}
		w.commit()
		w.wantRow(spec.ID, fleet.JobTimedOut, fleet.CauseRunTimeout, 1, 1, "n1")
		if w.d.Totals() != (Totals{}) {
			t.Fatalf("its slot is not free: %+v", w.d.Totals())
		}
		w.heartbeat(a)
		w.readAll(a)
		if len(a.work) != 0 {
			t.Fatal("its node was not told to forget it")
		}
	}
}

// By default work waits for as long as it may and no longer; the alarm comes first.
func TestCase_F9_WaitsForItsQueueTimeout(t *testing.T) {
	for _, restart := range []bool{false, true} {
		w := script(t)
		spec := w.spec("a0", 1)
		spec.QueueTimeoutMs = 300_000
		w.submit(spec, "")
		w.commit()
		w.pass(100_000)
		if restart {
			w.reborn(0)
		}
		w.pass(199_999)
		w.commit()
		w.wantRow(spec.ID, fleet.JobQueued, fleet.CausePoolExhausted, 0, 0, "")
		if _, lasts := w.alarmOf("a0"); !lasts {
			t.Fatal("nobody was told")
		}
		w.pass(1)
		w.commit()
		w.wantRow(spec.ID, fleet.JobExpired, fleet.CauseQueueTimeout, 0, 0, "")
		if waits := w.store.jobs[spec.ID].row.Waits; waits != (fleet.WaitLedger{Pool: 300_000}) {
			t.Fatalf("restart %v: its ledger reads %+v", restart, waits)
		}
		if a, lasts := w.alarmOf("a0"); lasts {
			t.Fatalf("nothing waits, and %+v lasts", a)
		}
	}
}
