package e2e

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/shared/wire"
	"rockpool/tests/rig"
)

// submitAs takes a job with more keys than the others' request.
func (u *tenant) submitAs(keys string) (job backendtest.Job) {
	u.t.Helper()
	a := ask(u.t, u.s, u.token, "POST", "/v1/jobs", fmt.Sprintf(`{"app": %q, "runner": "noop", %s}`, u.app, keys))
	if err := json.Unmarshal([]byte(a.Body), &job); a.Status != 201 || err != nil {
		u.t.Fatalf("submit answers %d %s, %v", a.Status, a.Body, err)
	}
	return job
}

func (u *tenant) awaitReason(id, reason string) {
	u.t.Helper()
	rig.Await(u.t, patience, func() (bool, string) {
		job := u.job(id)
		return job.State == "queued" && text(job.Reason) == reason, inWords(job)
	})
}

// No wake-up lives in the server's memory only.
func TestCase_C3_PausesOutliveTheServer(t *testing.T) {
	t.Parallel()
	s := rig.NewServer(t, enduring...)
	u := newTenant(t, s)
	first, second := u.node("1", rig.RawOptions{Slots: 4}), u.node("2", rig.RawOptions{Slots: 2})
	failed := u.submitAs(`"retryBackoff": "15s"`)
	offer := first.Take(t)
	began := time.Now().Truncate(10 * time.Millisecond) // the server counts milliseconds
	first.Report(t, wire.Result{Job: offer.Job, Attempt: offer.Attempt, Status: wire.ResultFailed, Reason: "start_failed"})
	notBefore := time.Now().Add(17 * time.Second).Truncate(time.Millisecond)
	later := u.submitAs(fmt.Sprintf(`"notBefore": %q`, notBefore.UTC().Format(time.RFC3339Nano)))
	u.awaitReason(failed.ID, "backoff")
	u.awaitReason(later.ID, "not_before")

	s.Kill(t)
	s.Start(t)
	second.Join(t)
	due := map[string]struct {
		attempt int64
		at      time.Time
	}{failed.ID: {2, began.Add(15 * time.Second)}, later.ID: {1, notBefore}}
	for range len(due) { // in any order, when the restart took longer than both
		offer := second.Take(t)
		want, known := due[offer.Job]
		if !known || offer.Attempt != want.attempt {
			t.Fatalf("offered %+v, want %+v", offer, due)
		}
		delete(due, offer.Job)
		if early := time.Until(want.at); early > 0 {
			t.Errorf("%s is offered %v early", offer.Job, early)
		}
		second.Report(t, rig.Succeed(offer))
		u.await(offer.Job, "succeeded")
	}
}
