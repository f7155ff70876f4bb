package core

import (
	"strings"
	"testing"

	"rockpool/backend/internal/core/fleet"
)

var oldSecret, newSecret = fleet.Sum{1}, fleet.Sum{2}

// copied is a fleet of one node with work, and a second process with a copy of its
// state on another machine (or the same one).
func copied(t *testing.T, machine string) (w *world, a, b *agent, spec *fleet.JobSpec) {
	w = script(t, record("n1", "pool-1", 1, 2))
	w.copies = true
	a = w.agents[0]
	a.machine, a.secret = "m1", oldSecret
	w.disconnect(a)
	w.join(a)
	w.heartbeat(a)
	w.commit()
	spec = w.spec("a1", 1)
	w.run(spec, a)
	b = &agent{id: "n1", slots: 2, boot: 50, machine: machine, secret: oldSecret, chain: a.chain, epoch: a.epoch}
	w.agents = append(w.agents, b)
	return w, a, b, spec
}

// dial is a whole try to get a session, up to the first heartbeat.
func (w *world) dial(a *agent) {
	w.join(a)
	if a.ready {
		w.heartbeat(a)
		w.commit()
	}
}

func (w *world) wantRefused(a *agent) {
	if a.refused != fleet.CodeDuplicateIdentity || a.open {
		w.fail("boot %d was not refused as a duplicate: %q", a.boot, a.refused)
	}
}

func TestCase_N8_ASecondProcessIsRefusedAndTheNodeHeld(t *testing.T) {
	w, a, b, spec := copied(t, "m2")
	w.dial(b)
	w.wantRefused(b)
	if len(a.mail) != 1 || a.mail[0].Kind != SendClose || a.mail[0].Code != fleet.CodeDuplicateIdentity {
		t.Fatalf("the session that stood got %+v", a.mail)
	}
	w.readAll(a)
	w.wantHeld("n1", "quarantine/auto")
	alarm := w.lasting(fleet.AlarmDuplicate)
	if alarm.Count != 1 || alarm.Node != "n1" || !strings.Contains(alarm.Detail, "192.0.2.0") || !strings.Contains(alarm.Detail, "192.0.2.50") {
		t.Fatalf("the alarm reads %+v", alarm)
	}
	w.pass(60_000)
	for range 5 {
		w.dial(a)
		w.dial(b)
		w.wantRefused(b)
		if !a.ready {
			t.Fatal("the node itself is not taken")
		}
		w.pass(9_000)
	}
	w.commit()
	if again := w.lasting(fleet.AlarmDuplicate); again.ID != alarm.ID || again.Count != 6 {
		t.Fatalf("the alarm reads %+v", again)
	}
	next := w.spec("a1", 1)
	w.submit(next, "")
	w.commit()
	w.wantRow(next.ID, fleet.JobQueued, fleet.CausePoolExhausted, 0, 0, "")
	w.wantRow(spec.ID, fleet.JobOffered, "", 1, 0, "n1") // what runs goes on
	w.work(a)
	w.commit()
	w.wantRow(spec.ID, fleet.JobSucceeded, "", 1, 1, "n1")
}

// A node whose disk takes nothing says so in its heartbeats: when it starts anew it
// shows the value before, and is itself.
func TestIdentify_AHeartbeatOfWhatIsNotSavedConfirmsNothing(t *testing.T) {
	for _, unsaved := range []bool{true, false} {
		w, a, _, _ := copied(t, "m2")
		old := a.chain
		w.disconnect(a)
		w.join(a)
		for range 3 {
			w.d.Heartbeat(w.now, a.session(), HeartbeatEvent{Healthy: true, Running: a.running(), Unsaved: unsaved}, w.pending)
			w.commit()
		}
		w.disconnect(a)
		a.chain, a.boot = old, a.boot+100
		w.dial(a)
		if a.ready != unsaved {
			t.Errorf("unsaved %v: the value before is taken: %v", unsaved, a.ready)
		}
	}
}

// On one machine the copy looks like a restart until it has a session of its own.
func TestCase_N35_ACopyOnTheSameMachineSwitchesOnce(t *testing.T) {
	for _, confirmed := range []bool{true, false} {
		w, a, b, _ := copied(t, "m1")
		w.join(b)
		if confirmed {
			w.heartbeat(b)
			w.commit()
		}
		if !b.ready {
			t.Fatal("a restart with the newest state must take over at once")
		}
		w.readAll(a)
		w.dial(a)
		w.wantRefused(a)
		w.wantHeld("n1", "quarantine/auto")
		w.readAll(b)
		w.dial(b)
		if !b.ready {
			t.Fatal("the holder is refused")
		}
	}
}

// A copy on the same machine that knows nothing of the work takes the session over,
// and can't deny what the original runs while that one may still show itself.
func TestCopy_TheWorkStaysWithTheOriginal(t *testing.T) {
	for _, returns := range []bool{true, false} {
		w, a, b, spec := copied(t, "m1")
		w.dial(b)
		if !b.ready {
			t.Fatal("a restart must take over at once")
		}
		for range 2 {
			w.heartbeat(b)
			w.commit()
		}
		w.wantRow(spec.ID, fleet.JobOffered, "", 1, 0, "n1")
		w.readAll(a)
		until := testConfig.Suspect
		if returns {
			w.dial(a)
			w.wantRefused(a)
			w.readAll(b)
			w.dial(b)
			until = testConfig.Lost
		}
		for left := until - 1; left > 0; left -= min(left, 5_000) {
			w.pass(min(left, 5_000))
			w.heartbeat(b)
			w.commit()
		}
		w.wantRow(spec.ID, fleet.JobOffered, "", 1, 0, "n1")
		w.pass(1)
		for range 2 {
			w.heartbeat(b)
			w.commit()
		}
		if row := w.store.jobs[spec.ID].row; row.Outcome != fleet.AttemptOrphaned && row.Attempt == 1 {
			t.Fatalf("returned %v: nobody has it, and it is not lost: %+v", returns, row)
		}
	}
}

// A process whose connection had ended before the next one came denies its work at once.
func TestRestart_AfterABrokenConnectionLosesTheWorkAtOnce(t *testing.T) {
	w, a, b, spec := copied(t, "m1")
	w.disconnect(a)
	w.dial(b)
	if row := w.store.jobs[spec.ID].row; !b.ready || row.Outcome != fleet.AttemptOrphaned && row.Attempt == 1 {
		t.Fatalf("ready %v, %+v", b.ready, row)
	}
}

func TestQuarantine_OverARestartAndOnASuperadminsWord(t *testing.T) {
	w, a, b, _ := copied(t, "m2")
	w.dial(b)
	w.readAll(a)
	w.restartServer()
	w.wantHeld("n1", "quarantine/auto")
	w.dial(b)
	w.wantRefused(b)
	w.dial(a)
	if alarm := w.lasting(fleet.AlarmDuplicate); !a.ready || alarm.Node != "n1" {
		t.Fatalf("after a restart: ready %v, alarm %+v", a.ready, alarm)
	}
	if !w.d.LiftHold(w.now, "n1", fleet.HoldQuarantine, fleet.OwnerAuto, Actor{}, "a test", w.pending) {
		t.Fatal("there is no hold")
	}
	w.after()
	w.commit()
	w.wantHeld("n1", "")
	if id := w.store.nodes["n1"].rec.Identity; len(id.Claimants) != 0 || w.lasting(fleet.AlarmDuplicate).ID != 0 {
		t.Fatalf("it keeps %+v", id)
	}
	w.dial(b)
	w.wantRefused(b)
	w.wantHeld("n1", "quarantine/auto")
}

func TestQuarantine_GoesWithTheNode(t *testing.T) {
	w, a, b, _ := copied(t, "m2")
	w.dial(b)
	w.readAll(a)
	w.d.LeaveNode(w.now, w.gone("n1"), "sold", w.pending)
	w.after()
	w.commit()
	if rec := w.store.nodes["n1"].rec; len(rec.Holds) != 0 || w.lasting(fleet.AlarmDuplicate).ID != 0 {
		t.Fatalf("it left with %+v", rec.Holds)
	}
}

// A database that was restored from a backup knows neither the newest values nor
// the newest epochs: nobody is held for that.
func TestRestoredBackup_IsAcceptedWithOneAlarm(t *testing.T) {
	nodes := []fleet.NodeRecord{record("n1", "pool-1", 1, 1), record("n2", "pool-1", 1, 1)}
	w := script(t, nodes...)
	for _, a := range w.agents {
		a.machine = "m-" + a.id
		w.disconnect(a)
		w.dial(a)
		w.commit()
	}
	backup := map[string]fleet.NodeRecord{}
	for id, n := range w.store.nodes {
		backup[id] = n.rec
	}
	for range 5 {
		for _, a := range w.agents {
			w.disconnect(a)
			w.dial(a)
		}
	}
	for id, rec := range backup {
		w.store.nodes[id].rec = rec
	}
	epoch := w.agents[0].epoch
	for _, a := range w.agents {
		a.open, a.ready, a.mail = false, false, nil
	}
	w.d, w.store.epoch = New(testConfig), w.store.epoch+1
	w.d.Load(w.now, w.store.snapshot())
	w.after()
	for _, a := range w.agents {
		w.dial(a)
		w.disconnect(a)
		w.dial(a)
		if !a.ready {
			t.Fatalf("%s is refused: %q", a.id, a.refused)
		}
	}
	if got := w.agents[0].epoch; got != epoch+2 {
		t.Fatalf("epoch %d after %d and two sessions", got, epoch)
	}
	w.pass(2_000)
	w.commit()
	if alarm := w.lasting(fleet.AlarmRestoredBackup); alarm.Count != 2 || alarm.Node != "" {
		t.Fatalf("the alarm reads %+v", alarm)
	}
	w.restartServer()
	if w.lasting(fleet.AlarmRestoredBackup).ID == 0 {
		t.Fatal("the alarm does not outlive a restart")
	}
	w.pass(restoredQuiet + 1000)
	if w.lasting(fleet.AlarmRestoredBackup).ID != 0 {
		t.Fatal("the alarm never ends")
	}
}

// Who has the secret and no more may say that the database is old: that takes over
// nothing and moves no epoch, the node itself is taken.
func TestRestoredBackup_AClaimedEpochIsNoEvidence(t *testing.T) {
	for _, machine := range []string{"m9", "m1"} {
		w, a, thief, _ := copied(t, machine)
		w.restartServer()
		thief.chain, thief.epoch = fleet.Sum{77}, 2_000_000_000
		w.dial(thief)
		w.wantRefused(thief)
		w.wantHeld("n1", "quarantine/auto")
		alarm := w.lasting(fleet.AlarmDuplicate)
		if !strings.Contains(alarm.Detail, "backup") || !strings.Contains(alarm.Detail, "stolen") {
			t.Fatalf("the alarm reads %q", alarm.Detail)
		}
		before := a.epoch
		w.dial(a)
		if !a.ready || a.epoch != before+1 {
			t.Fatalf("the node itself: ready %v, epoch %d after %d", a.ready, a.epoch, before)
		}
	}
}

// An agent that knows nothing of the chain is never held for that.
func TestIdentify_WithoutAChain(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	for range 10 {
		a.chain = fleet.Sum{}
		w.disconnect(a)
		w.dial(a)
		if !a.ready {
			t.Fatalf("refused: %q", a.refused)
		}
	}
}
