package dispatch

import (
	"context"
	"errors"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

// ran is what came of a job whose caller waited for its end.
type ran struct {
	answer core.Submitted
	end    *core.Ended
	err    error
}

// run submits a job and waits for its end; taken gets one at its commit.
func (w *world) run(ctx context.Context, job core.JobInsert, wait time.Duration) (answered <-chan ran, taken <-chan struct{}) {
	answers, commits := make(chan ran, 1), make(chan struct{}, 2)
	go func() {
		answer, end, err := w.loop.SubmitAndWait(ctx, &job, wait, func() { commits <- struct{}{} })
		answers <- ran{answer, end, err}
	}()
	return answers, commits
}

func TestSubmitAndWait_ReturnsAtTheEndAndSaysWhenItIsCommitted(t *testing.T) {
	w := newWorld(t, 4)
	job := w.job()
	answered, taken := w.run(context.Background(), job, time.Minute)
	receive(t, "the commit", taken)
	offer := w.awaitSend(core.SendOffer)
	attempt := core.Attempt{Job: job.Spec.ID, Attempt: offer.Attempt}
	w.loop.Accept(w.session, attempt)
	result := &fleet.Result{Status: fleet.ResultSucceeded, Output: []byte(`{"vmaf":93}`)}
	w.loop.Result(w.session, attempt, result)
	r := receive(t, "the end", answered)
	if r.err != nil || r.answer.ID != job.Spec.ID || r.answer.Row.State != fleet.JobOffered ||
		r.end == nil || r.end.Row.State != fleet.JobSucceeded || r.end.Result != result {
		t.Errorf("it ended as %+v", r)
	}
	if left := w.waiters(); left != 0 {
		t.Errorf("%d waiters are left", left)
	}
}

// Once the job is committed its row is the answer, whatever ends the wait.
func TestSubmitAndWait_WhoGivesUpHasTheJobThatWasTaken(t *testing.T) {
	w := newWorld(t, 0) // no node has room
	over, end := context.WithCancel(context.Background())
	defer end()
	for name, try := range map[string]struct {
		ctx  context.Context
		wait time.Duration
	}{
		"not at all":     {context.Background(), 0},
		"the time":       {context.Background(), time.Nanosecond},
		"the caller":     {over, time.Minute},
		"refused before": {context.Background(), time.Minute},
	} {
		job := w.job()
		if name == "refused before" {
			w.db.mu.Lock()
			w.db.refuse[job.Spec.ID] = core.RefusedData
			w.db.mu.Unlock()
		}
		answered, taken := w.run(try.ctx, job, try.wait)
		receive(t, "the commit", taken)
		if try.ctx == over {
			end()
		}
		r := receive(t, "the answer to "+name, answered)
		refused := r.answer.Refused != nil && *r.answer.Refused == core.RefusedData
		if r.err != nil || r.end != nil || refused != (name == "refused before") || !refused && r.answer.Row.State != fleet.JobQueued {
			t.Errorf("%s: %+v", name, r)
		}
	}
	w.await("nobody to wait", func(*core.Dispatch) bool { return len(w.loop.terminal) == 0 })
}

func TestSubmitAndWait_BeforeTheCommitItsErrorIsTheCallersOrTheDatabases(t *testing.T) {
	w := newWorld(t, 4)
	w.holdCommits()
	ctx, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	gone, _ := w.run(ctx, w.job(), time.Minute)
	receive(t, "the commit", w.db.began)
	w.db.mu.Lock()
	w.db.fail, w.db.away = []error{nil, errors.New("connection reset")}, true
	w.db.mu.Unlock()
	failed, taken := w.run(context.Background(), w.job(), time.Nanosecond)
	w.awaitQueued(1)
	giveUp()
	if r := receive(t, "the caller that gave up", gone); !errors.Is(r.err, context.Canceled) {
		t.Errorf("gave up with %+v", r)
	}
	w.db.hold <- struct{}{}
	w.db.hold <- struct{}{}
	if r := receive(t, "the failed commit", failed); !isCode(r.err, fleet.CodeUnavailable) || len(taken) != 0 {
		t.Errorf("a commit that failed: %+v", r)
	}
	away, _ := w.run(context.Background(), w.job(), time.Minute)
	if r := receive(t, "the answer while the database is away", away); !isCode(r.err, fleet.CodeUnavailable) {
		t.Errorf("while the database is away: %+v", r)
	}
	w.await("nobody to wait", func(*core.Dispatch) bool { return len(w.loop.terminal) == 0 })
}
