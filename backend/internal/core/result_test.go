package core

import (
	"testing"

	"rockpool/backend/internal/core/fleet"
)

func TestAccept_OfAnEarlierAttemptIsVoid(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	spec := w.spec("a1", 1)
	w.submit(spec, "")
	w.commit()
	w.disconnect(a)
	w.join(a) // denied: the same node gets the next attempt
	w.commit()
	w.d.Accept(w.now, Session{Node: "n1", Epoch: a.epoch}, Attempt{Job: spec.ID, Attempt: 1}, w.pending)
	w.after()
	if mailed(a, SendVoid) != 1 || mailed(a, SendStart) != 0 {
		t.Fatalf("the answer is %+v", a.mail)
	}
	w.d.Accept(w.now, Session{Node: "n1", Epoch: a.epoch}, Attempt{Job: spec.ID, Attempt: 2}, w.pending)
	w.after()
	if mailed(a, SendStart) != 1 {
		t.Fatalf("the answer is %+v", a.mail)
	}
}

func TestResult_AfterAnEndThatIsOnItsWay(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 1))
	a := w.agents[0]
	spec := w.spec("a1", 1)
	w.run(spec, a)
	w.d.Cancel(w.now, spec.ID, "u:1", 5000, w.pending)
	w.commit()
	for range 4 {
		w.pass(8_750)
		w.heartbeat(a)
	}
	a.mail = nil
	w.work(a) // a little too late: the job was ended without its node's word
	if mailed(a, SendResultAck) != 0 {
		t.Fatal("answered before the commit")
	}
	w.commit()
	if mailed(a, SendResultAck) != 1 || a.mail[0].Verdict != VerdictCanceled {
		t.Fatalf("the answer is %+v", a.mail)
	}
	w.wantRow(spec.ID, fleet.JobCanceled, fleet.CauseCanceledByUser, 1, 1, "n1")
}

func TestResult_RetryableCauseGetsAnotherAttempt(t *testing.T) {
	w := script(t, record("n1", "pool-1", 1, 2), record("n2", "pool-1", 1, 1))
	spec := w.spec("a1", 1)
	spec.MaxAttempts = 2
	w.run(spec, w.agents[0])
	failed := &fleet.Result{Status: fleet.ResultFailed, Cause: fleet.CauseStartFailed, Detail: "no such tool"}
	w.d.Result(w.now, Session{Node: "n1", Epoch: w.agents[0].epoch}, Attempt{Job: spec.ID, Attempt: 1}, failed, w.pending)
	w.after()
	w.commit()
	if w.agents[0].mail[0].Verdict == VerdictStored {
		t.Fatal("an attempt's end is not the job's result")
	}
	w.wantRow(spec.ID, fleet.JobOffered, "", 2, 1, "n2")
	w.readAll(w.agents[1])
	w.d.Result(w.now, Session{Node: "n2", Epoch: w.agents[1].epoch}, Attempt{Job: spec.ID, Attempt: 2}, failed, w.pending)
	w.after()
	w.commit()
	w.wantRow(spec.ID, fleet.JobDead, fleet.CauseAttemptsUsedUp, 2, 2, "n2")
	if row := w.store.jobs[spec.ID]; !row.hasResult || row.row.Detail != "the last attempt ended with start_failed: no such tool" {
		t.Fatalf("row %+v", row)
	}
}

// A job that is dead says what its last attempt ended with, whatever the fleet was at
// fault with.
func TestResult_AttemptsUsedUpNamesTheLastCause(t *testing.T) {
	for _, cause := range fleet.NodeCauses() {
		if !cause.Retryable() {
			continue
		}
		w := script(t, record("n1", "pool-1", 1, 1))
		spec := w.spec("a1", 1)
		spec.MaxAttempts = 1
		w.run(spec, w.agents[0])
		w.d.Result(w.now, Session{Node: "n1", Epoch: w.agents[0].epoch}, Attempt{Job: spec.ID, Attempt: 1}, &fleet.Result{Status: fleet.ResultFailed, Cause: cause, Detail: "so it was"}, w.pending)
		w.after()
		w.commit()
		w.wantRow(spec.ID, fleet.JobDead, fleet.CauseAttemptsUsedUp, 1, 1, "n1")
		if detail := w.store.jobs[spec.ID].row.Detail; detail != "the last attempt ended with "+string(cause)+": so it was" {
			t.Errorf("%s: the detail is %q", cause, detail)
		}
	}
}

func TestResult_CauseIsOneThatANodeMayName(t *testing.T) {
	for _, c := range []struct {
		status fleet.ResultStatus
		claim  fleet.Cause
		want   fleet.Cause
		state  fleet.JobState
	}{
		{fleet.ResultSucceeded, fleet.CauseExitCode, "", fleet.JobSucceeded},
		{fleet.ResultFailed, fleet.CauseSignaled, fleet.CauseSignaled, fleet.JobFailed},
		{fleet.ResultFailed, fleet.CauseAttemptsUsedUp, fleet.CauseExitCode, fleet.JobFailed},
		{fleet.ResultTimedOut, "anything", fleet.CauseRunTimeout, fleet.JobTimedOut},
	} {
		w := script(t, record("n1", "pool-1", 1, 1))
		spec := w.spec("a1", 1)
		w.run(spec, w.agents[0])
		w.d.Result(w.now, Session{Node: "n1", Epoch: w.agents[0].epoch}, Attempt{Job: spec.ID, Attempt: 1}, &fleet.Result{Status: c.status, Cause: c.claim}, w.pending)
		w.after()
		w.commit()
		w.wantRow(spec.ID, c.state, c.want, 1, 1, "n1")
	}
}
