package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
	"rockpool/shared/ids"
)

const smallJob = `{"app":"app-7","runner":"checksum"}`

func read[T any](t testing.TB, rec *httptest.ResponseRecorder) T {
	t.Helper()
	var doc T
	if err := json.Unmarshal(rec.Body.Bytes(), &doc); err != nil {
		t.Fatalf("%d %s: %v", rec.Code, rec.Body, err)
	}
	return doc
}

func TestSubmit_AnswersTheJobAndWhereItIs(t *testing.T) {
	w := newWorld(t)
	body := strings.Replace(smallJob, `}`, `,"inputs":{"f":"`+string(digestOf(ann))+`"}}`, 1)
	rec := w.asUser(ann, http.MethodPost, "/v1/jobs", body)
	job := read[rest.Job](t, rec)
	if rec.Code != http.StatusCreated || rec.Header().Get("Location") != "/v1/jobs/"+job.ID || job.State != "queued" || job.App != "app-7" {
		t.Errorf("%d %v %s", rec.Code, rec.Header(), rec.Body)
	}
	if job.Links.Decision != "/v1/jobs/"+job.ID+"/decision" || !job.CreatedAt.Equal(worldNow.Truncate(time.Millisecond)) {
		t.Errorf("%+v", job)
	}
	spec := w.submits[0][0].Spec
	if spec.Owner != ann || spec.Submitter != ann || spec.Inputs[0].Size != int64(len(contentOf(ann))) {
		t.Errorf("the loop got %+v", spec)
	}
}

func TestSubmit_AnotherUsersAppAndArtifactAreNotThere(t *testing.T) {
	w := newWorld(t)
	rec := w.asUser(ann, http.MethodPost, "/v1/jobs", `{"app":"app-8","runner":"checksum"}`)
	gone := w.asUser(ann, http.MethodPost, "/v1/jobs", `{"app":"app-999","runner":"checksum"}`)
	if rec.Code != http.StatusNotFound || gone.Code != http.StatusNotFound {
		t.Errorf("%d %d", rec.Code, gone.Code)
	}
	rec = w.asUser(ann, http.MethodPost, "/v1/jobs", `{"app":"app-7","runner":"checksum","inputs":{"f":"`+string(digestOf(bob))+`"}}`)
	if rec.Code != http.StatusUnprocessableEntity || !strings.Contains(rec.Body.String(), "is not uploaded") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if len(w.submits) != 0 {
		t.Error("something was submitted")
	}
}

func TestSubmit_WhenExhaustedFailIsCreatedAndFailed(t *testing.T) {
	rec := newWorld(t).asUser(ann, http.MethodPost, "/v1/jobs", `{"app":"app-7","runner":"checksum","whenExhausted":"fail"}`)
	job := read[rest.Job](t, rec)
	if rec.Code != http.StatusCreated || job.State != "failed" || job.Reason == nil || *job.Reason != "pool_exhausted" ||
		!slices.Equal(job.Reasons, []rest.Reason{{Pool: "pool-7", Reason: "draining", Nodes: 9}}) {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestSubmit_WhileTheDatabaseIsAwayIs503(t *testing.T) {
	w := newWorld(t)
	w.down = &fleet.Error{Code: fleet.CodeUnavailable, Detail: "the database is away", Cause: fmt.Errorf("dial unix: password=hunter2")}
	rec := w.asUser(ann, http.MethodPost, "/v1/jobs", smallJob)
	if rec.Code != http.StatusServiceUnavailable || rec.Header().Get("Retry-After") == "" || strings.Contains(rec.Body.String(), "hunter2") {
		t.Errorf("%d %v %s", rec.Code, rec.Header(), rec.Body)
	}
}

func TestSubmit_TheSameKeyIsTheSameJob(t *testing.T) {
	w := newWorld(t)
	first := w.asUser(ann, http.MethodPost, "/v1/jobs", smallJob, "Idempotency-Key", "k-1")
	again := w.asUser(ann, http.MethodPost, "/v1/jobs", `{ "runner": "checksum", "app": "app-7" }`, "Idempotency-Key", "k-1")
	job, replayed := read[rest.Job](t, first), read[rest.Job](t, again)
	if first.Code != 201 || again.Code != 200 || job.ID != replayed.ID || again.Header().Get("Idempotency-Replayed") != "true" ||
		again.Header().Get("Location") != first.Header().Get("Location") || first.Header().Get("Idempotency-Replayed") != "" {
		t.Errorf("%d %s, then %d %v %s", first.Code, first.Body, again.Code, again.Header(), again.Body)
	}
	other := w.asUser(ann, http.MethodPost, "/v1/jobs", `{"app":"app-7","runner":"checksum","priority":51}`, "Idempotency-Key", "k-1")
	if p := read[rest.Problem](t, other); other.Code != 422 || p.Code != "idempotency_key_reused" {
		t.Errorf("%d %s", other.Code, other.Body)
	}
	elsewhere := w.asUser(bob, http.MethodPost, "/v1/jobs", `{"app":"app-8","runner":"checksum"}`, "Idempotency-Key", "k-1")
	if elsewhere.Code != 201 || read[rest.Job](t, elsewhere).ID == job.ID {
		t.Errorf("another user's key: %d %s", elsewhere.Code, elsewhere.Body)
	}
	if len(w.submits) != 2 {
		t.Errorf("%d jobs were submitted", len(w.submits))
	}
}

func TestInv_I13_ParallelRetriesAreOneJob(t *testing.T) {
	w := newWorld(t)
	var all sync.WaitGroup
	seen := make([]string, 20)
	for i := range seen {
		all.Go(func() {
			rec := w.asUser(ann, http.MethodPost, "/v1/jobs", smallJob, "Idempotency-Key", "storm")
			var job rest.Job
			if json.Unmarshal(rec.Body.Bytes(), &job) == nil && rec.Code < 300 {
				seen[i] = job.ID
			}
		})
	}
	all.Wait()
	slices.Sort(seen)
	if ids := slices.Compact(seen); len(ids) != 1 || ids[0] == "" {
		t.Errorf("jobs %q", ids)
	}
	if len(w.submits) != 1 {
		t.Errorf("%d jobs reached the loop", len(w.submits))
	}
}

// Another process took the key between the look and the commit.
func TestSubmit_AKeyThatAnotherProcessTookIsReplayed(t *testing.T) {
	w := newWorld(t)
	why := core.RefusedIdempotency
	w.refuse = &why
	rec := w.asUser(ann, http.MethodPost, "/v1/jobs", smallJob, "Idempotency-Key", "k")
	if rec.Code != http.StatusServiceUnavailable { // refused, and there is no job to show: ask again
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestSubmit_RefusesBadKeys(t *testing.T) {
	w := newWorld(t)
	for _, key := range []string{" ", "a b", "\x7f", "ü", strings.Repeat("k", 201)} {
		if rec := w.asUser(ann, http.MethodPost, "/v1/jobs", smallJob, "Idempotency-Key", key); rec.Code != 400 {
			t.Errorf("%q: %d", key, rec.Code)
		}
	}
}

func TestSubmit_WaitEndsWithTheJobOrTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.onWait = func(ctx context.Context, _ ids.JobID) error {
			<-ctx.Done()
			return ctx.Err()
		}
		for wait, want := range map[string]time.Duration{"30s": 30 * time.Second, "60s": time.Minute, "2h": time.Minute, "0s": 0} {
			began := time.Now()
			rec := w.asUser(ann, http.MethodPost, "/v1/jobs?wait="+wait, smallJob)
			if took := time.Since(began); rec.Code != 201 || took != want || read[rest.Job](t, rec).State != "queued" {
				t.Errorf("wait %s: %d after %s: %s", wait, rec.Code, took, rec.Body)
			}
		}
		w.onWait = func(_ context.Context, id ids.JobID) error {
			w.jobs[id].State = fleet.JobSucceeded
			return nil
		}
		rec := w.asUser(ann, http.MethodPost, "/v1/jobs?wait=30s", smallJob)
		job := read[rest.Job](t, rec)
		if rec.Code != 201 || job.State != "succeeded" {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
		if rec := w.asUser(ann, http.MethodGet, "/v1/jobs/"+job.ID+"?wait=30s", ""); rec.Code != 200 {
			t.Errorf("an ended job is waited for: %d %s", rec.Code, rec.Body)
		}
		for _, bad := range []string{"soon", "-1s", "30"} {
			if rec := w.asUser(ann, http.MethodPost, "/v1/jobs?wait="+bad, smallJob); rec.Code != 400 {
				t.Errorf("wait %s: %d", bad, rec.Code)
			}
		}
	})
}

func TestBatch_NothingIsTakenUnlessAllAreValid(t *testing.T) {
	w := newWorld(t)
	rec := w.asUser(ann, http.MethodPost, "/v1/jobs/batch", `{"jobs":[`+smallJob+`,{"app":"app-8","runner":"x"},{"app":"app-7","runner":"x","priority":101}]}`)
	p := read[rest.Problem](t, rec)
	if rec.Code != 404 || len(p.Items) != 2 || p.Items[0].Index != 1 || p.Items[0].Code != "not_found" ||
		p.Items[1].Index != 2 || p.Items[1].Code != "bad_request" || !strings.Contains(p.Items[1].Detail, "priority") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if len(w.submits) != 0 {
		t.Error("something was submitted")
	}
	for _, body := range []string{`{"jobs":[]}`, `{}`, `{"jobs":[` + strings.Repeat(smallJob+",", 1000) + smallJob + `]}`} {
		if rec := w.asUser(ann, http.MethodPost, "/v1/jobs/batch", body); rec.Code != 400 {
			t.Errorf("%.40s: %d", body, rec.Code)
		}
	}
}

func TestBatch_EachJobHasItsAnswerInOrder(t *testing.T) {
	w := newWorld(t)
	body := `{"jobs":[` + strings.Repeat(smallJob+",", 999) + `{"app":"app-7","runner":"last"}]}`
	rec := w.asUser(ann, http.MethodPost, "/v1/jobs/batch", body, "Idempotency-Key", "b")
	batch := read[rest.Batch](t, rec)
	if rec.Code != 200 || len(batch.Items) != 1000 || len(w.submits) != 1 {
		t.Fatalf("%d, %d items, %d submits", rec.Code, len(batch.Items), len(w.submits))
	}
	for i, item := range batch.Items {
		if item.Status != 201 || item.Job == nil || i > 0 && item.Job.ID <= batch.Items[i-1].Job.ID {
			t.Fatalf("item %d: %+v", i, item)
		}
	}
	if batch.Items[999].Job.Runner != "last" {
		t.Error("the order is another")
	}
	again := read[rest.Batch](t, w.asUser(ann, http.MethodPost, "/v1/jobs/batch", body, "Idempotency-Key", "b"))
	for i, item := range again.Items {
		if item.Status != 200 || item.Job == nil || item.Job.ID != batch.Items[i].Job.ID {
			t.Fatalf("replayed item %d: %+v", i, item)
		}
	}
	other := w.asUser(ann, http.MethodPost, "/v1/jobs/batch", `{"jobs":[`+smallJob+`]}`, "Idempotency-Key", "b")
	if other.Code != 422 || read[rest.Problem](t, other).Code != "idempotency_key_reused" {
		t.Errorf("%d %s", other.Code, other.Body)
	}
}

func TestBatch_ABriefAnswerNamesTheJobs(t *testing.T) {
	w := newWorld(t)
	body := `{"brief":true,"jobs":[` + smallJob + `,` + smallJob + `]}`
	first := read[rest.Batch](t, w.asUser(ann, http.MethodPost, "/v1/jobs/batch", body, "Idempotency-Key", "b"))
	again := read[rest.Batch](t, w.asUser(ann, http.MethodPost, "/v1/jobs/batch", body, "Idempotency-Key", "b"))
	if len(first.Items) != 2 || len(again.Items) != 2 {
		t.Fatalf("%+v, then %+v", first, again)
	}
	for i, item := range first.Items {
		if item.Status != 201 || item.Job != nil || item.ID != w.submits[0][i].Spec.ID.String() {
			t.Errorf("item %d: %+v", i, item)
		}
		if item.Status = 200; again.Items[i] != item {
			t.Errorf("replayed item %d: %+v", i, again.Items[i])
		}
	}
}

func TestGetJob_IsAsItIsNow(t *testing.T) {
	w := newWorld(t)
	w.jobs[jobIDOf(ann)].State = fleet.JobOffered
	w.live[jobIDOf(ann)] = core.JobView{ID: jobIDOf(ann), State: fleet.JobRunning, Attempt: 2, Node: "node-7", Pool: "pool-7", Percent: 40, StartedAt: 5}
	for _, target := range []string{jobPath(jobIDOf(ann).String()), "/v1/jobs"} {
		rec := w.asUser(ann, http.MethodGet, target, "")
		var job rest.Job
		if target == "/v1/jobs" {
			job = read[rest.List[rest.Job]](t, rec).Items[0]
		} else {
			job = read[rest.Job](t, rec)
		}
		if job.State != "running" || job.Attempt != 2 || job.Percent == nil || *job.Percent != 40 || job.StartedAt == nil || job.Reason != nil {
			t.Errorf("%s: %s", target, rec.Body)
		}
	}
}

// The start of an attempt that runs is known to memory only; one that memory is
// ahead with is not the row's.
func TestJobAttempts_OneThatRunsHasItsStart(t *testing.T) {
	w := newWorld(t)
	row := w.jobs[jobIDOf(ann)]
	row.State, row.Attempt, row.Outcome, row.StartedAt = fleet.JobOffered, 2, fleet.AttemptOpen, nil
	for ahead, want := range []*rest.Time{rest.AtPtr(new(w.WallAt(5))), nil} {
		w.live[jobIDOf(ann)] = core.JobView{ID: jobIDOf(ann), State: fleet.JobRunning, Attempt: 2 + int32(ahead), StartedAt: 5}
		rec := w.asUser(ann, http.MethodGet, jobPath(jobIDOf(ann).String())+"/attempts", "")
		list := read[rest.List[rest.Attempt]](t, rec).Items
		last := list[len(list)-1]
		if (last.StartedAt == nil) != (want == nil) || want != nil && !last.StartedAt.Equal(want.Time) {
			t.Errorf("memory is %d ahead: %s", ahead, rec.Body)
		}
	}
}

func TestListJobs_SiftsByTheLiveState(t *testing.T) {
	w := newWorld(t)
	for id := range w.jobs {
		w.jobs[id].State = fleet.JobOffered
	}
	w.live[jobIDOf(ann)] = core.JobView{ID: jobIDOf(ann), State: fleet.JobRunning}
	for state, want := range map[string][]string{"running": {jobIDOf(ann).String()}, "offered": {jobIDOf(bob).String()}, "queued": {}} {
		got := []string{}
		for _, job := range read[rest.List[rest.Job]](t, w.asUser(root, http.MethodGet, "/v1/jobs?state="+state, "")).Items {
			got = append(got, job.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", state, got)
		}
	}
}

func TestGetJob_AnEndIsToldOnceItIsCommitted(t *testing.T) {
	w := newWorld(t)
	row := w.jobs[jobIDOf(ann)]
	for _, c := range []struct {
		stored    fleet.JobState
		attempt   int32
		startedAt fleet.Time
		want      string
	}{
		{fleet.JobOffered, 1, 5, "running"}, {fleet.JobOffered, 1, 0, "offered"}, {fleet.JobOffered, 0, 5, "offered"},
		{fleet.JobCanceling, 1, 5, "canceling"}, {fleet.JobQueued, 0, 0, "queued"},
	} {
		row.State, row.Attempt, row.Cause = c.stored, c.attempt, fleet.CauseNone
		w.live[jobIDOf(ann)] = core.JobView{
			ID: jobIDOf(ann), State: fleet.JobFailed, Cause: fleet.CauseExitCode, Attempt: 1, Node: "node-7", StartedAt: c.startedAt,
		}
		rec := w.asUser(ann, http.MethodGet, jobPath(jobIDOf(ann).String()), "")
		if job := read[rest.Job](t, rec); job.State != c.want || job.Reason != nil || job.Attempt > 1 {
			t.Errorf("%v of attempt %d, started at %d: %s", c.stored, c.attempt, c.startedAt, rec.Body)
		}
	}
}

func TestCancel_AnEndedJobStaysAsItIs(t *testing.T) {
	w := newWorld(t)
	w.jobs[jobIDOf(ann)].State = fleet.JobSucceeded
	rec := w.asUser(ann, http.MethodPost, jobPath(jobIDOf(ann).String())+"/cancel", `{"grace":"5s"}`)
	if rec.Code != 200 || read[rest.Job](t, rec).State != "succeeded" {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if rec := w.asUser(ann, http.MethodPost, jobPath(jobIDOf(ann).String())+"/cancel", `{"grace":"11m"}`); rec.Code != 400 {
		t.Errorf("a long grace: %d", rec.Code)
	}
}

func TestAttack_A71_PagesAreCutAndTokensChecked(t *testing.T) {
	w := newWorld(t)
	for i := range 300 {
		id := w.jobIDs.next()
		w.jobs[id] = &record.Job{Spec: fleet.JobSpec{ID: id, App: "app-7", Owner: ann, Runner: fmt.Sprint("r", i)}, SubmittedAt: worldNow}
	}
	seen, token := map[string]bool{}, ""
	for pages := 0; ; pages++ {
		list := read[rest.List[rest.Job]](t, w.asUser(ann, http.MethodGet, "/v1/jobs?pageSize=1000000000&pageToken="+token, ""))
		if len(list.Items) > record.MaxPage || pages > 3 {
			t.Fatalf("%d items on page %d", len(list.Items), pages)
		}
		for _, job := range list.Items {
			if seen[job.ID] {
				t.Errorf("%s stands on two pages", job.ID)
			}
			seen[job.ID] = true
		}
		if token = list.NextPageToken; token == "" {
			break
		}
	}
	if len(seen) != 301 {
		t.Errorf("%d jobs were seen", len(seen))
	}
	for _, query := range []string{"pageSize=0", "pageSize=-1", "pageSize=ten", "pageToken=x", "pageToken=MTIz", "pageSize=1&pageSize=2", "offset=5", "state=broken", "app=A"} {
		if rec := w.asUser(ann, http.MethodGet, "/v1/jobs?"+query, ""); rec.Code != 400 {
			t.Errorf("%s: %d", query, rec.Code)
		}
	}
}

func TestExplain_OnlySuperadminsSeeNodes(t *testing.T) {
	w := newWorld(t)
	target := jobPath(jobIDOf(ann).String()) + "/explain"
	for user, named := range map[int64]bool{ann: false, vera: false, olga: false, root: true} {
		pool := read[rest.Explanation](t, w.asUser(user, http.MethodGet, target, "")).Pools[0]
		if pool.Nodes != 2 || pool.Candidates != 1 || len(pool.Reasons) != 2 || pool.Reasons[0].Reason != "draining" || pool.Reasons[1].Nodes != 1 {
			t.Errorf("user %d: %+v", user, pool)
		}
		if (len(pool.CandidateNodes) > 0) != named || (len(pool.Reasons[0].NodeIDs) > 0) != named {
			t.Errorf("user %d sees nodes: %+v", user, pool)
		}
		if len(pool.First) != 1 || pool.First[0].Nodes != 1 || (pool.First[0].Words != "") != named {
			t.Errorf("user %d: first reasons %+v", user, pool.First)
		}
	}
	w.jobs[jobIDOf(ann)].State = fleet.JobSucceeded
	if rec := w.asUser(ann, http.MethodGet, target, ""); rec.Code != 409 {
		t.Errorf("an ended job: %d %s", rec.Code, rec.Body)
	}
}

func decodeAnswer(rec *httptest.ResponseRecorder, out any) error {
	return json.Unmarshal(rec.Body.Bytes(), out)
}
