package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// batch submits so many jobs of one app at once; all are taken.
func (u *tenant) batch(app string, jobs int) []backendtest.Job {
	u.t.Helper()
	requests := slices.Repeat([]backendtest.JobRequest{{App: app, Runner: "noop"}}, jobs)
	batch, err := u.client.SubmitJobs(u.t.Context(), requests, "")
	if err != nil {
		u.t.Fatal(err)
	}
	list := make([]backendtest.Job, jobs)
	for i, item := range batch.Items {
		if item.Job == nil {
			u.t.Fatalf("job %d: %d %+v", i, item.Status, item.Problem)
		}
		list[i] = *item.Job
	}
	return list
}

func TestCase_C5_SixJobsOverThreeEqualNodes(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	for n := range 3 {
		u.node(fmt.Sprint(n), rig.RawOptions{Slots: 4})
	}
	per := map[string]int{}
	for _, job := range u.batch(u.app, 6) {
		per[job.Node]++
	}
	if len(per) != 3 || per[u.name+"-0"] != 2 || per[u.name+"-1"] != 2 {
		t.Errorf("by node: %v", per)
	}
}

// An app that works off a queue of 10,000 jobs does not delay another app's first by
// more than the job that runs.
func TestWork_AnAppIsNotBehindAnothersTenThousand(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	small := u.name + "-small"
	if _, err := u.s.Admin.CreateApp(t.Context(), backendtest.AppRequest{ID: small, Owner: &u.id}); err != nil {
		t.Fatal(err)
	}
	n := u.node("1", rig.RawOptions{})
	u.batch(u.app, 1)
	runs := n.Take(t)
	for range 10 {
		u.batch(u.app, 1000)
	}
	late := u.batch(small, 1)[0]
	n.Report(t, rig.Succeed(runs))
	if next := n.Take(t); next.Job != late.ID {
		t.Errorf("the next offer is %+v, want the other app's %s", next, late.ID)
	}
	if job := u.job(late.ID); job.Waits == nil || job.Waits.Pool+job.Waits.Fairness+job.Waits.Offer != *job.QueuedMs {
		t.Errorf("it waited %+v", job.Waits)
	}
}

// Cancel races result: each job has one outcome, which never changes again, and
// gives its slot back.
func TestInv_I24_CancelAgainstResult(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	n := u.node("1", rig.RawOptions{Slots: 16, Answer: rig.Diligent})
	const races = 1000
	jobs := u.batch(u.app, races)
	cancelAll := func() {
		var canceling sync.WaitGroup
		for _, part := range slices.Collect(slices.Chunk(jobs, races/8)) {
			canceling.Go(func() {
				for _, job := range part {
					if _, err := u.client.CancelJob(t.Context(), job.ID, nil); err != nil {
						t.Errorf("cancel %s: %v", job.ID, err)
					}
				}
			})
		}
		canceling.Wait()
	}
	cancelAll()
	rig.Await(t, patience, func() (bool, string) {
		open := query[int](t, u.s, `SELECT count(*) FROM jobs WHERE app_id = $1 AND ended_at IS NULL`, u.app)
		return open == 0, fmt.Sprintf("%d jobs are open", open)
	})
	ends := func() string {
		return query[string](t, u.s, `SELECT string_agg(state || ' ' || ended_at::text, ',' ORDER BY id) FROM jobs WHERE app_id = $1`, u.app)
	}
	before := ends()
	cancelAll()
	if after := ends(); after != before {
		t.Error("an end changed")
	}
	succeeded, canceled := strings.Count(before, "succeeded"), strings.Count(before, "canceled")
	if succeeded+canceled != races || canceled == 0 {
		t.Errorf("%d succeeded, %d canceled", succeeded, canceled)
	}
	if memory, sql := u.reserved(n.Name); memory != 0 || sql != 0 {
		t.Errorf("%d slots stay reserved in memory, %d in SQL", memory, sql)
	}
}

// The same with an agent's processes: none is left.
func TestInv_I24_CancelAgainstResultOfAnAgent(t *testing.T) {
	t.Parallel()
	u, w := newTenant(t, server(t)), newWorkshop(t)
	a := u.agent("1", 8, w)
	w.Release()
	var racing sync.WaitGroup
	ids := make([]string, 64)
	for i := range ids {
		racing.Go(func() {
			ids[i] = u.submit(runner("wait")).ID
			if _, err := u.client.CancelJob(t.Context(), ids[i], nil); err != nil {
				t.Errorf("cancel: %v", err)
			}
		})
	}
	racing.Wait()
	for _, id := range ids {
		rig.Await(t, patience, func() (bool, string) {
			job := u.job(id)
			return job.State == "canceled" || job.State == "succeeded", inWords(job)
		})
	}
	if memory, sql := u.reserved(a.Name); memory != 0 || sql != 0 {
		t.Errorf("%d slots stay reserved in memory, %d in SQL", memory, sql)
	}
	starts := w.Lines("starts")
	slices.Sort(starts)
	if once := slices.Compact(slices.Clone(starts)); len(once) != len(starts) {
		t.Errorf("an attempt started twice: %v", starts)
	}
}

// A selection is looked at first, and the list that it gave is what ends.
func TestCase_E3_ASelectionOfWaitingWorkEndsAtOnce(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	label := &backendtest.Pair{"build", "812"}
	wanted := map[string]bool{}
	for range 3 {
		wanted[u.submit(func(r *backendtest.JobRequest) { r.Labels = []backendtest.Pair{*label} }).ID] = true
	}
	other := u.submit()
	found, err := u.client.CancelJobs(t.Context(), backendtest.CancelSelection{App: u.app, Label: label}, true)
	if err != nil || found.Applied || len(found.Items) != 3 {
		t.Fatalf("%+v, %v", found, err)
	}
	list := backendtest.CancelSelection{}
	for _, item := range found.Items {
		if !wanted[item.ID] || item.State != "queued" {
			t.Errorf("selected %+v", item)
		}
		list.IDs = append(list.IDs, item.ID)
	}
	late := u.submit(func(r *backendtest.JobRequest) { r.Labels = []backendtest.Pair{*label} })
	done, err := u.client.CancelJobs(t.Context(), list, false)
	if err != nil || !done.Applied {
		t.Fatalf("%+v, %v", done, err)
	}
	for _, item := range done.Items {
		if item.State != "canceled" {
			t.Errorf("%+v", item)
		}
	}
	for _, id := range []string{other.ID, late.ID} {
		if job := u.job(id); job.State != "queued" {
			t.Errorf("one that is not on the list is %s", inWords(job))
		}
	}
	again, err := u.client.RetryJob(t.Context(), list.IDs[0], "")
	if err != nil || again.RetryOf != list.IDs[0] || again.ID == list.IDs[0] || again.State != "queued" {
		t.Errorf("again: %+v, %v", again, err)
	}
	if jobs, err := u.client.Jobs(t.Context(), backendtest.JobFilter{App: u.app, Label: "build=812", State: "queued", Reason: "pool_exhausted"}, backendtest.Page{}); err != nil || len(jobs.Items) != 2 {
		t.Errorf("found %+v, %v", jobs.Items, err)
	}
}

func TestWork_WhatIsPastABoundIsToldWhen(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	share := backendtest.ShareRequest{Share: backendtest.Share{Weight: 100, MaxOpenJobs: 2}}
	if _, err := u.s.Admin.SetShare(t.Context(), u.app, share, 0); err != nil {
		t.Fatal(err)
	}
	requests := slices.Repeat([]backendtest.JobRequest{{App: u.app, Runner: "noop"}}, 3)
	batch, err := u.client.SubmitJobs(t.Context(), requests, "")
	if err != nil || batch.Items[0].Status != 201 || batch.Items[1].Status != 201 {
		t.Fatalf("%+v, %v", batch, err)
	}
	if third := batch.Items[2]; third.Status != http.StatusTooManyRequests || third.Problem == nil || third.Problem.Code != "rate_limited" || third.Problem.RetryAfter < 1 {
		t.Errorf("the third: %+v", third)
	}
	a := ask(t, u.s, u.token, "POST", "/v1/jobs", fmt.Sprintf(`{"app": %q, "runner": "noop"}`, u.app))
	if a.refused(t, "one more", 429, "rate_limited"); a.Header.Get("Retry-After") == "" {
		t.Errorf("headers %v", a.Header)
	}
}

// What an administrator posts with a key is done once, and no secret is kept.
func TestInv_I13_AdministrativePosts(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	path, body := "/v1/admin/users/"+u.id+"/tokens", `{"name": "once"}`
	answers := make([]answer, 20)
	var posts sync.WaitGroup
	for i := range answers {
		posts.Go(func() { answers[i] = ask(t, u.s, u.s.AdminToken, "POST", path, body, "Idempotency-Key", u.name) })
	}
	posts.Wait()
	var secrets, ids []string
	for _, a := range answers {
		var token backendtest.NewToken
		if a.read(t, &token); a.Status != 201 {
			t.Errorf("answered %d %s", a.Status, a.Body)
		}
		if ids = append(ids, token.ID); token.Secret != "" {
			secrets = append(secrets, token.Secret)
		}
	}
	if slices.Sort(ids); len(slices.Compact(ids)) != 1 || len(secrets) != 1 {
		t.Fatalf("tokens %v, %d secrets shown", slices.Compact(ids), len(secrets))
	}
	if kept := query[string](t, u.s, `SELECT convert_from(body, 'UTF8') FROM idempotency WHERE key = $1`, u.name); strings.Contains(kept, secrets[0]) {
		t.Errorf("the secret is kept: %s", kept)
	}
	if n := query[int](t, u.s, `SELECT count(*) FROM audit_entries WHERE action = 'token_created' AND object = $1`, "token:"+ids[0]); n > 1 {
		t.Errorf("%d audit entries", n)
	}
	ask(t, u.s, u.s.AdminToken, "POST", path, `{"name": "twice"}`, "Idempotency-Key", u.name).refused(t, "another body", 422, "idempotency_key_reused")
	if a := ask(t, u.s, u.token, "POST", "/v1/tokens", body, "Idempotency-Key", u.name); a.Status != 201 || a.Header.Get("Idempotency-Replayed") != "" {
		t.Errorf("another user's key: %d %s", a.Status, a.Body)
	}
}
