package dispatch

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		println(err.Error())
		code = 1
	}
	os.Exit(code)
}

// patience is how long a condition may take before a test gives up.
const patience = time.Minute

func receive[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}

func isCode(err error, code fleet.Code) bool {
	var known *fleet.Error
	return errors.As(err, &known) && known.Code == code
}

func TestSubmit_IsAnsweredAfterTheCommitAndTheOfferTooGoesOutThen(t *testing.T) {
	w := newWorld(t, 4)
	w.holdCommits()
	answered := w.submit(w.job())
	receive(t, "the commit", w.db.began)
	select {
	case err := <-answered:
		t.Fatalf("answered before the commit: %v", err)
	case s := <-w.wire.sends:
		t.Fatalf("sent before the commit: %+v", s)
	case <-time.After(50 * time.Millisecond): // nothing is to come; longer only finds more
	}
	w.db.hold <- struct{}{}
	if err := receive(t, "the answer", answered); err != nil {
		t.Fatal(err)
	}
	w.awaitSend(core.SendOffer)
}

func TestLoop_GathersOneBatchBehindARunningCommit(t *testing.T) {
	w := newWorld(t, 4)
	w.holdCommits()
	first := w.submit(w.job())
	receive(t, "the first commit", w.db.began)
	var rest []<-chan error
	for range 20 {
		rest = append(rest, w.submit(w.job()))
	}
	w.awaitQueued(20)
	before := len(w.batchesOf(w.db))
	w.db.hold <- struct{}{}
	receive(t, "the second commit", w.db.began)
	w.db.hold <- struct{}{}
	for _, answered := range append(rest, first) {
		if err := receive(t, "an answer", answered); err != nil {
			t.Fatal(err)
		}
	}
	batches := w.batchesOf(w.db)[before:]
	if len(batches) != 2 || len(batches[0]) != 1 || len(batches[1]) != 20 {
		t.Errorf("batches of %v jobs, want one of 1 and one of 20", batches)
	}
}

func TestLoop_AFailedCommitDecidesNothingUntilTheFleetIsLoadedAnew(t *testing.T) {
	w := newWorld(t, 4)
	w.db.mu.Lock()
	w.db.fail, w.db.away = []error{errors.New("connection reset")}, true
	w.db.mu.Unlock()
	if err := receive(t, "the answer", w.submit(w.job())); !isCode(err, fleet.CodeUnavailable) {
		t.Fatalf("error %v, want unavailable", err)
	}
	receive(t, "a load", w.db.loads)
	if err := receive(t, "the answer", w.submit(w.job())); !isCode(err, fleet.CodeUnavailable) {
		t.Errorf("while the database is away: error %v, want unavailable at once", err)
	}
	w.loop.Heartbeat(w.session, core.HeartbeatEvent{Accepting: true, Healthy: true})
	if ack := w.awaitSend(core.SendHeartbeatAck).Ack; !ack.OK || len(ack.Void)+len(ack.Cancel) > 0 {
		t.Errorf("heartbeat answered %+v, want a plain yes", ack)
	}
	w.db.mu.Lock()
	w.db.away = false
	w.db.mu.Unlock()
	w.awaitDeciding()
	if err := receive(t, "the answer", w.submit(w.job())); err != nil {
		t.Errorf("after the load: %v", err)
	}
	w.awaitSend(core.SendOffer)
}

func TestLoop_EndsWhenItIsFenced(t *testing.T) {
	w := newWorld(t, 4)
	w.db.mu.Lock()
	w.db.fail = []error{errFenced}
	w.db.mu.Unlock()
	if err := receive(t, "the answer", w.submit(w.job())); !isCode(err, fleet.CodeUnavailable) {
		t.Errorf("error %v, want unavailable", err)
	}
	err := receive(t, "the loop's end", w.ran)
	w.ran <- err // for the cleanup
	if !errors.Is(err, errFenced) {
		t.Errorf("the loop ended with %v, want the fence", err)
	}
}

func TestLoop_AStopCommitsWhatWasDecided(t *testing.T) {
	w := newWorld(t, 4)
	w.holdCommits()
	first := w.submit(w.job())
	receive(t, "the first commit", w.db.began)
	second := w.submit(w.job())
	w.awaitQueued(1)
	w.stop()
	w.db.hold <- struct{}{}
	w.db.hold <- struct{}{}
	for _, answered := range []<-chan error{first, second} {
		if err := receive(t, "an answer", answered); err != nil {
			t.Errorf("a job that was decided got %v", err)
		}
	}
}

func TestWait_ReturnsAtTheEndAndLeavesNothingBehind(t *testing.T) {
	w := newWorld(t, 1)
	job := w.job()
	if err := receive(t, "the answer", w.submit(job)); err != nil {
		t.Fatal(err)
	}
	offer := w.awaitSend(core.SendOffer)
	ctx, giveUp := context.WithCancel(context.Background())
	gone := make(chan error, 1)
	go func() { _, err := w.loop.Wait(ctx, job.Spec.ID); gone <- err }()
	stays := make(chan *core.Ended, 1)
	go func() {
		end, err := w.loop.Wait(context.Background(), job.Spec.ID)
		if err != nil {
			t.Errorf("waited with %v", err)
		}
		stays <- end
	}()
	giveUp()
	if err := receive(t, "the one that gave up", gone); !errors.Is(err, context.Canceled) {
		t.Errorf("gave up with %v", err)
	}
	attempt := core.Attempt{Job: job.Spec.ID, Attempt: offer.Attempt}
	w.loop.Accept(w.session, attempt)
	result := &fleet.Result{Status: fleet.ResultSucceeded, Output: []byte(`{"vmaf":93}`)}
	w.loop.Result(w.session, attempt, result)
	if end := receive(t, "the end", stays); end == nil || end.Row.State != fleet.JobSucceeded || end.Result != result {
		t.Errorf("it ended as %+v", end)
	}
	if ack := w.awaitSend(core.SendResultAck); ack.Verdict != core.VerdictStored {
		t.Errorf("verdict %d, want stored", ack.Verdict)
	}
	if left := w.waiters(); left != 0 {
		t.Errorf("%d waiters are left", left)
	}
	if end, err := w.loop.Wait(context.Background(), job.Spec.ID); err != nil || end != nil {
		t.Errorf("waiting for an ended job: %+v, %v", end, err)
	}
}

func TestPutNode_TheNextDecisionUsesIt(t *testing.T) {
	w := newWorld(t, 64)
	for version := int64(2); version < 42; version += 2 {
		moved := testRecord()
		moved.Pool, moved.Version = fleet.PoolUnassigned, version
		if err := w.loop.PutNode(context.Background(), moved); err != nil {
			t.Fatal(err)
		}
		if state := w.stateOf(w.job()); state != fleet.JobQueued {
			t.Fatalf("after the move the job is %s, want queued", state)
		}
		back := testRecord()
		back.Version = version + 1
		if err := w.loop.PutNode(context.Background(), back); err != nil {
			t.Fatal(err)
		}
		if state := w.stateOf(w.job()); state != fleet.JobOffered {
			t.Fatalf("after the return the job is %s, want offered", state)
		}
	}
}

func TestResult_OfAJobThatIsNoLongerInMemoryIsJudgedByItsRow(t *testing.T) {
	w := newWorld(t, 1)
	job := w.job()
	w.db.mu.Lock()
	w.db.recalls = map[ids.JobID]core.RecalledRow{job.Spec.ID: {
		Found: true, State: fleet.JobSucceeded, Attempt: 1, Node: testNode, AttemptNode: testNode, HasResult: true,
	}}
	w.db.mu.Unlock()
	w.loop.Result(w.session, core.Attempt{Job: job.Spec.ID, Attempt: 1}, &fleet.Result{})
	if ack := w.awaitSend(core.SendResultAck); ack.Verdict != core.VerdictDuplicate {
		t.Errorf("verdict %d, want duplicate", ack.Verdict)
	}
}
