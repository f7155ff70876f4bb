package core

import (
	"testing"

	"rockpool/backend/internal/core/fleet"
)

func TestHeartbeat_UnknownWorkIsVoidAndUnknownSessionsRegisterAgain(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	stray := w.spec("a1", 1)
	hb := HeartbeatEvent{Accepting: true, Healthy: true, Running: []Running{{Job: stray.ID, Attempt: 3}}}
	w.d.Heartbeat(w.now, Session{Node: "n1", Epoch: a.epoch}, hb, w.pending)
	w.d.Heartbeat(w.now, Session{Node: "n1", Epoch: a.epoch - 1}, hb, w.pending)
	w.d.Heartbeat(w.now, Session{Node: "ghost", Epoch: 1}, hb, w.pending)
	acks := w.pending.Sends
	if !acks[0].Ack.OK || len(acks[0].Ack.Void) != 1 || acks[0].Ack.Void[0] != (Attempt{Job: stray.ID, Attempt: 3}) {
		t.Fatalf("ack %+v", acks[0].Ack)
	}
	if acks[1].Ack.OK || acks[2].Ack.OK {
		t.Fatal("a session that is not the node's is acknowledged")
	}
}

// A clock that is off is shown and decides nothing; what is shown stands still while
// the network makes less of a difference.
func TestHeartbeat_AClockThatIsOffIsShownAlone(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	for _, c := range []struct{ told, shown int64 }{
		{499, 0}, {-3_600_000, -3_600_000}, {-3_600_400, -3_600_000}, {-3_599_600, -3_600_000}, {86_400_000, 86_400_000}, {0, 0},
	} {
		w.d.Heartbeat(w.now, Session{Node: "n1", Epoch: a.epoch}, HeartbeatEvent{Accepting: true, Healthy: true, SkewMs: c.told}, w.pending)
		w.after()
		if v, _ := w.d.LiveNode("n1"); v.SkewMs != c.shown || v.Lease != fleet.LeaseReady || len(v.Reasons) > 0 {
			t.Errorf("told %d ms, %d are shown; it is %v, kept from work by %v", c.told, v.SkewMs, v.Lease, v.Reasons)
		}
	}
}

func TestHeartbeat_DeniedTwiceIsOrphaned(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	spec := w.spec("a1", 1)
	w.run(spec, a)
	a.work = nil
	w.heartbeat(a)
	a.spool = []handIn{{}} // something is on its way: nothing is denied
	w.heartbeat(a)
	a.spool = nil
	w.heartbeat(a)
	if w.pending.Durable() {
		t.Fatal("orphaned too early")
	}
	w.heartbeat(a)
	w.commit()
	w.wantRow(spec.ID, fleet.JobOffered, "", 2, 1, "n1")
}

func TestGoodbye_LeftFreesTheWorkAtOnce(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 2), record("n2", "pool-1", 1, 1))
	spec := w.spec("a1", 1)
	w.run(spec, w.agents[0])
	w.d.Goodbye(w.now, Session{Node: "n1", Epoch: w.agents[0].epoch}, GoodbyeLeft, w.pending)
	w.after()
	w.commit()
	w.wantRow(spec.ID, fleet.JobOffered, "", 2, 1, "n2")
	if !w.store.nodes["n1"].rec.Left || w.d.nodes["n1"].lease.State != fleet.LeaseLeft {
		t.Fatal("it has not left")
	}
	if opened, refused := w.d.Hello(w.now, HelloEvent{Node: "n1", Report: &fleet.NodeReport{}}, w.pending); opened != (Session{}) || refused.Code != fleet.CodeUnavailable {
		t.Fatal("a node that left opens a session without registering")
	}
}

func TestGoodbye_StopGetsNothingNewAndKeepsItsWork(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 2))
	spec, next := w.spec("a1", 1), w.spec("a1", 1)
	w.run(spec, w.agents[0])
	w.d.Goodbye(w.now, Session{Node: "n1", Epoch: w.agents[0].epoch}, GoodbyeStop, w.pending)
	w.after()
	w.submit(next, "")
	w.work(w.agents[0])
	w.commit()
	w.wantRow(spec.ID, fleet.JobSucceeded, "", 1, 1, "n1")
	w.wantRow(next.ID, fleet.JobQueued, fleet.CausePoolExhausted, 0, 0, "")
}

func TestHello_NewSessionClosesTheOldOneAndWaitsForItsCommit(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	old := a.epoch
	a.open = false
	w.connect(a)
	if a.epoch != old+1 {
		t.Fatalf("epoch %d after %d", a.epoch, old)
	}
	spec := w.spec("a1", 1)
	w.submit(spec, "")
	if v, _ := w.d.LiveJob(w.now, spec.ID); v.Decision.Pools[0].Rejected[fleet.LeaseNotReady] != 1 {
		t.Fatalf("decided on a session that is not committed: %+v", v.Decision)
	}
	w.commit()
	if mailed(a, SendWelcome) != 1 {
		t.Fatal("no welcome")
	}
	w.commit()
	w.wantRow(spec.ID, fleet.JobOffered, "", 1, 0, "n1")
}
