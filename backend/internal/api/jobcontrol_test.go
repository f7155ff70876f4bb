package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
	"rockpool/shared/ids"
)

func TestDryRun_AnswersTheDecisionAndLeavesNoJob(t *testing.T) {
	w := newWorld(t)
	rec := w.asUser(ann, http.MethodPost, "/v1/jobs?dryRun=true", smallJob, "Idempotency-Key", "k")
	doc := read[rest.Candidates](t, rec)
	if rec.Code != 200 || doc.Decision.Outcome != "placed" || doc.Decision.Text == "" || doc.Decision.Node != "" || len(w.submits) != 0 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	newContract(t, w.openAPI).check(t, &request{as: "7", method: "POST", path: "/v1/jobs?dryRun=true", body: smallJob}, rec)
	if rec := w.asUser(ann, http.MethodPost, "/v1/jobs?dryRun=true", `{"app":"app-8","runner":"checksum"}`); rec.Code != 404 {
		t.Errorf("another user's app: %d %s", rec.Code, rec.Body)
	}
	if rec := w.asUser(ann, http.MethodPost, "/v1/jobs", smallJob, "Idempotency-Key", "k"); rec.Code != 201 {
		t.Errorf("the key was spent by a dry run: %d %s", rec.Code, rec.Body)
	}
}

func TestRetry_MakesANewJobOfOneThatEnded(t *testing.T) {
	w := newWorld(t)
	id := jobIDOf(ann)
	path := "/v1/jobs/" + id.String() + "/retry"
	if rec := w.asUser(ann, http.MethodPost, path, ""); rec.Code != 409 || !strings.Contains(rec.Body.String(), "queued") {
		t.Errorf("an open job: %d %s", rec.Code, rec.Body)
	}
	w.jobs[id].State = fleet.JobDead
	w.jobs[id].Spec.NotBeforeMs = 1
	rec := w.asUser(ann, http.MethodPost, path, "", "Idempotency-Key", "again")
	doc := read[rest.Job](t, rec)
	if rec.Code != 201 || doc.ID == id.String() || doc.RetryOf != id.String() || doc.Labels[0] != (rest.Pair{"build", "812"}) || rec.Header().Get("Location") != "/v1/jobs/"+doc.ID {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	if spec := w.submits[0][0].Spec; spec.NotBeforeMs != 0 || spec.RetryOf != id || w.jobs[id].Spec.RetryOf != (ids.JobID{}) {
		t.Errorf("submitted %+v", spec)
	}
	again := w.asUser(ann, http.MethodPost, path, "", "Idempotency-Key", "again")
	if same := read[rest.Job](t, again); again.Code != 200 || same.ID != doc.ID || again.Header().Get("Idempotency-Replayed") != "true" {
		t.Errorf("%d %s", again.Code, again.Body)
	}
	w.jobs[id].Spec.Pool = "canary-1"
	if rec := w.asUser(ann, http.MethodPost, path, ""); rec.Code != 403 {
		t.Errorf("a canary job again by a user: %d %s", rec.Code, rec.Body)
	}
}

func TestResolve_IsForHeldJobs(t *testing.T) {
	w := newWorld(t)
	path := "/v1/jobs/" + jobIDOf(ann).String() + "/resolve"
	for body, want := range map[string]int{`{"action":"requeue"}`: 409, `{"action":"forget"}`: 400, `{}`: 400} {
		if rec := w.asUser(ann, http.MethodPost, path, body); rec.Code != want {
			t.Errorf("%s: %d %s", body, rec.Code, rec.Body)
		}
	}
	w.jobs[jobIDOf(ann)].Cause = fleet.CauseHeld
	rec := w.asUser(ann, http.MethodPost, path, `{"action":"fail"}`)
	if doc := read[rest.Job](t, rec); rec.Code != 200 || doc.State != "failed" || w.actors[0].Subject != "u:7" {
		t.Errorf("%d %s by %+v", rec.Code, rec.Body, w.actors)
	}
	if rec := w.asUser(ann, http.MethodPost, path, `{"action":"fail"}`); rec.Code != 409 {
		t.Errorf("an ended one: %d %s", rec.Code, rec.Body)
	}
}

func TestCancelSelection_IsAFixedList(t *testing.T) {
	w := newWorld(t)
	mine, theirs := jobIDOf(ann), jobIDOf(bob)
	w.live = map[ids.JobID]core.JobView{
		mine:   {ID: mine, Owner: ann, State: fleet.JobQueued, Pool: "pool-7"},
		theirs: {ID: theirs, Owner: bob, State: fleet.JobQueued, Pool: "pool-8"},
	}
	for body, want := range map[string]string{
		`{}`:              "ids: 1 to 1000 jobs",
		`{"app":"app-7"}`: "a filter selects with ?dryRun=true",
		`{"ids":["x"]}`:   "ids[0] is no job's id",
		`{"ids":["` + mine.String() + `","` + mine.String() + `"]}`: "stands there twice",
		`{"ids":["` + mine.String() + `"],"grace":"-1s"}`:           "grace must be",
	} {
		if rec := w.asUser(ann, http.MethodPost, "/v1/jobs/cancel", body); rec.Code != 400 || !strings.Contains(rec.Body.String(), want) {
			t.Errorf("%s: %d %s", body, rec.Code, rec.Body)
		}
	}
	for body, want := range map[string]int{
		`{"app":"app-7"}`: 1, `{"state":"queued"}`: 1, `{"state":"running"}`: 0, `{"label":["build","812"]}`: 1, `{"label":["build","813"]}`: 0,
		`{"ids":["` + mine.String() + `"]}`: 1,
	} {
		rec := w.asUser(ann, http.MethodPost, "/v1/jobs/cancel?dryRun=true", body)
		if doc := read[rest.CancelSelected](t, rec); rec.Code != 200 || doc.Applied || len(doc.Items) != want {
			t.Errorf("%s: %d %s", body, rec.Code, rec.Body)
		}
	}
	for _, body := range []string{`{"state":"failed"}`, `{"app":"A"}`, `{"app":"app-7","ids":["` + mine.String() + `"]}`} {
		if rec := w.asUser(ann, http.MethodPost, "/v1/jobs/cancel?dryRun=true", body); rec.Code != 400 {
			t.Errorf("%s: %d %s", body, rec.Code, rec.Body)
		}
	}
	if w.jobs[mine].State != fleet.JobQueued {
		t.Fatal("a dry run canceled")
	}
	rec := w.asUser(ann, http.MethodPost, "/v1/jobs/cancel", `{"ids":["`+theirs.String()+`","`+mine.String()+`"]}`)
	delete(w.live, mine)
	doc := read[rest.CancelSelected](t, rec)
	want := []rest.CanceledItem{{ID: theirs.String(), Code: "not_found"}, {ID: mine.String(), State: "canceled"}}
	if rec.Code != 200 || !doc.Applied || len(doc.Items) != 2 || doc.Items[0] != want[0] || doc.Items[1] != want[1] || w.jobs[theirs].State != fleet.JobQueued {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestJobs_AreFoundByReasonAndLabel(t *testing.T) {
	w := newWorld(t)
	w.jobs[jobIDOf(bob)].Cause, w.jobs[jobIDOf(bob)].Spec.Labels = fleet.CauseDrained, nil
	for query, want := range map[string]int{
		"reason=drained": 1, "reason=pool_exhausted": 1, "reason=held": 0, "label=build%3D812": 1, "label=build%3D81": 0,
	} {
		list := read[rest.List[rest.Job]](t, w.asUser(root, http.MethodGet, "/v1/jobs?"+query, ""))
		if len(list.Items) != want {
			t.Errorf("%s: %d items", query, len(list.Items))
		}
	}
	for _, query := range []string{"label=build", "label=%3D8", "reason=a%20b"} {
		if rec := w.asUser(root, http.MethodGet, "/v1/jobs?"+query, ""); rec.Code != 400 {
			t.Errorf("%s: %d", query, rec.Code)
		}
	}
}

// What a job waited for adds up to how long it waited.
func TestWaits_AddUp(t *testing.T) {
	w := newWorld(t)
	at := worldNow.Add(time.Minute)
	j := w.jobs[jobIDOf(ann)]
	j.Waits, j.AssignedAt = fleet.WaitLedger{Pool: 1, Fairness: 20, Backoff: 300, Quota: 4000, Hold: 50_000, Offer: 2}, &at
	j.Cause, j.NotBefore = fleet.CauseBackoff, &at
	doc := jobDoc(j)
	if *doc.QueuedMs != 54_323 || *doc.Waits != (rest.Waits{Pool: 1, Fairness: 20, Backoff: 300, Quota: 4000, Hold: 50_000, Offer: 2}) || !doc.NotBefore.Equal(at) {
		t.Errorf("%+v", doc)
	}
	old := w.jobs[jobIDOf(bob)]
	old.AssignedAt = &at
	if doc := jobDoc(old); *doc.QueuedMs != 60_000 || doc.Waits != nil {
		t.Errorf("without a ledger: %+v", doc)
	}
}

func TestShare_IsSetAtItsVersion(t *testing.T) {
	w := newWorld(t)
	const path, body = "/v1/admin/apps/app-7/share", `{"weight":300,"maxOpenJobs":10,"maxPlacements":2,"maxSlots":8,"reason":"live event"}`
	version := w.asUser(root, http.MethodGet, "/v1/apps/app-7", "").Header().Get("ETag")
	rec := w.asUser(root, http.MethodPut, path, body, "If-Match", version)
	want := rest.Share{Weight: 300, MaxOpenJobs: 10, MaxPlacements: 2, MaxSlots: 8}
	if doc := read[rest.App](t, rec); rec.Code != 200 || doc.Share != want || rec.Header().Get("ETag") != `"2"` || doc.Version != 2 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if doc := read[rest.App](t, w.asUser(ann, http.MethodGet, "/v1/apps/app-7", "")); doc.Share != want {
		t.Errorf("%+v", doc)
	}
	if rec := w.asUser(root, http.MethodPut, path, body, "If-Match", version); rec.Code != 412 {
		t.Errorf("an old version: %d", rec.Code)
	}
	if rec := w.asUser(root, http.MethodPut, path, `{"weight":0}`); rec.Code != 422 {
		t.Errorf("no weight: %d", rec.Code)
	}
}
