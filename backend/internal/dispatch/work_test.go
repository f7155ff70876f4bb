package dispatch

import (
	"context"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// What was asked for in wall time is decided in the loop's time.
func TestSubmit_NotBeforeIsAMoment(t *testing.T) {
	w := newWorld(t, 4)
	past, later := w.job(), w.job()
	past.Spec.NotBeforeMs = time.Now().Add(-time.Hour).UnixMilli()
	later.Spec.NotBeforeMs = time.Now().Add(time.Hour).UnixMilli()
	answers, err := w.loop.Submit(context.Background(), []core.JobInsert{past, later})
	if err != nil || answers[0].Row.State != fleet.JobOffered || answers[1].Row.Cause != fleet.CauseNotBefore {
		t.Fatalf("answers %+v, error %v", answers, err)
	}
	if got := w.loop.WallAt(answers[1].Row.NotBefore).UnixMilli(); got != later.Spec.NotBeforeMs {
		t.Fatalf("it rests until %d, asked for %d", got, later.Spec.NotBeforeMs)
	}
}

// All of a selection is answered after one commit.
func TestCancelMany_IsAnsweredAfterOneCommit(t *testing.T) {
	w := newWorld(t, 4)
	one, two := w.job(), w.job()
	one.NotBefore, two.Spec.Demands.Slots = 1, 9 // more than there is
	for _, job := range []core.JobInsert{one, two} {
		if err := receive(t, "the answer", w.submit(job)); err != nil {
			t.Fatal(err)
		}
	}
	w.awaitSend(core.SendOffer)
	w.holdCommits()
	type reply struct {
		list []core.Canceled
		err  error
	}
	answered := make(chan reply, 1)
	go func() {
		list, err := w.loop.CancelMany(context.Background(), []ids.JobID{two.Spec.ID, {1}, one.Spec.ID}, "u:1", 1000)
		answered <- reply{list, err}
	}()
	r := afterCommit(w, answered)
	if r.err != nil || len(r.list) != 3 || r.list[0].State != fleet.JobCanceled || r.list[1].Open || r.list[2].State != fleet.JobCanceling {
		t.Fatalf("answers %+v, error %v", r.list, r.err)
	}
}

func TestResolve_TellsWhatIsNotHeld(t *testing.T) {
	w := newWorld(t, 4)
	job := w.job()
	if err := receive(t, "the answer", w.submit(job)); err != nil {
		t.Fatal(err)
	}
	by := core.Actor{Subject: "u:1"}
	if _, err := w.loop.Resolve(context.Background(), job.Spec.ID, fleet.ResolveRequeue, by); !isCode(err, fleet.CodeConflict) {
		t.Fatalf("of a job that is offered: %v, want conflict", err)
	}
	if _, err := w.loop.Resolve(context.Background(), ids.JobID{1}, fleet.ResolveRequeue, by); !isCode(err, fleet.CodeNotFound) {
		t.Fatalf("of none: %v, want not_found", err)
	}
	held := w.job()
	held.Spec.OnNodeLost = fleet.OnLostHold
	if err := receive(t, "the answer", w.submit(held)); err != nil {
		t.Fatal(err)
	}
	w.awaitSend(core.SendOffer)
	if offer := w.awaitSend(core.SendOffer); offer.Job != held.Spec.ID {
		t.Fatalf("offered %+v", offer)
	}
	w.loop.Accept(w.session, core.Attempt{Job: held.Spec.ID, Attempt: 1})
	w.awaitSend(core.SendStart)
	if err := w.loop.LeaveNode(context.Background(), gone(), "sold"); err != nil {
		t.Fatal(err)
	}
	state, err := w.loop.Resolve(context.Background(), held.Spec.ID, fleet.ResolveFail, by)
	if err != nil || state != fleet.JobFailed {
		t.Fatalf("resolved: %v, error %v", state, err)
	}
}
