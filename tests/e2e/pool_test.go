package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"rockpool/backend/backendtest"
	"rockpool/shared/wire"
	"rockpool/tests/rig"
)

func TestUnboundAppIsServedFromItsOwnersPool(t *testing.T) {
	t.Parallel()
	s := server(t)
	u := newTenant(t, s)
	for i := range 3 {
		n := u.node(fmt.Sprint(i), rig.RawOptions{Answer: rig.Diligent})
		if n.Welcome.Pool != u.pool() {
			t.Errorf("node %s is welcomed to %s", n.Name, n.Welcome.Pool)
		}
	}
	if elsewhere := query[int](t, s, `SELECT count(*) FROM nodes WHERE owner_id = $1 AND pool_id IS DISTINCT FROM $2`, u.id, u.pool()); elsewhere != 0 {
		t.Fatalf("%d nodes are not in %s", elsewhere, u.pool())
	}
	if bound := query[int](t, s, `SELECT count(*) FROM app_pool_bindings WHERE app_id = $1`, u.app); bound != 0 {
		t.Fatalf("the app has %d bindings", bound)
	}
	job := u.await(u.submit().ID, "succeeded")
	if job.Pool != u.pool() || job.Fallback || !strings.HasPrefix(job.Node, u.name) {
		t.Errorf("served elsewhere: %s", inWords(job))
	}
	decision, err := u.client.Decision(t.Context(), job.ID)
	if err != nil || decision.Rule != "owner_pool" || decision.Outcome != "placed" || len(decision.Pools) != 1 || decision.Pools[0].Candidates != 3 {
		t.Errorf("decided %+v, %v", decision, err)
	}
	if !strings.Contains(decision.Text, "owner's pool of user "+u.id) {
		t.Errorf("in words: %s", decision.Text)
	}
}

// TestUserWithoutNodesFallsBackToDefault puts a node into default, which other
// tests rely on to be empty: it does not run in parallel.
func TestUserWithoutNodesFallsBackToDefault(t *testing.T) {
	s := server(t)
	u, lender := newTenant(t, s), newTenant(t, s)

	waiting := u.submit()
	u.mustBe(waiting, "queued", "pool_exhausted")
	failed := u.submit(func(r *backendtest.JobRequest) { r.WhenExhausted = "fail" })
	u.mustBe(failed, "failed", "pool_exhausted")
	decision, err := u.client.Decision(t.Context(), failed.ID)
	if err != nil || decision.Outcome != "failed" || !decision.FallbackOK || len(decision.Pools) != 2 ||
		decision.Pools[0].Pool != u.pool() || decision.Pools[1].Pool != "default" {
		t.Errorf("decided %+v, %v", decision, err)
	}

	n := lender.node("lent", rig.RawOptions{Answer: rig.Diligent})
	if job := u.job(waiting.ID); job.State != "queued" {
		t.Errorf("a node of another user's pool took it: %s", inWords(job))
	}
	t.Cleanup(func() { lender.move(n.Name, lender.pool()) })
	if moved := lender.move(n.Name, "default"); moved.From != lender.pool() || !moved.Applied {
		t.Errorf("moved %+v", moved)
	}
	// What waits is served without a new submit.
	job := u.await(waiting.ID, "succeeded")
	if job.Pool != "default" || !job.Fallback || job.Node != n.Name {
		t.Errorf("ran %s, fallback %v", inWords(job), job.Fallback)
	}
	from := query[[]string](t, s, `SELECT from_pools FROM pool_fallbacks WHERE job_id = $1 AND attempt = 1 AND app_id = $2 AND node_id = $3`, job.ID, u.app, n.Name)
	if !slices.Equal(from, []string{u.pool()}) {
		t.Errorf("the record names the pools %v", from)
	}
	if records := query[int](t, s, `SELECT count(*) FROM pool_fallbacks WHERE job_id = $1`, failed.ID); records != 0 {
		t.Error("a job that did not run has a record of its fallback")
	}
	// The lender has a node of its own, in whatever pool: its apps don't fall back.
	lender.mustBe(lender.submit(func(r *backendtest.JobRequest) { r.WhenExhausted = "fail" }), "failed", "pool_exhausted")
	if alarms := u.alarmsOf(); slices.ContainsFunc(alarms, func(a backendtest.Alarm) bool { return a.ResolvedAt == nil }) {
		t.Errorf("a fallback is no alarm: %+v", alarms)
	}

	// From the user's first node on the own pool counts, until the last has left.
	first := u.node("first", rig.RawOptions{Answer: rig.Diligent})
	if job := u.await(u.submit().ID, "succeeded"); job.Pool != u.pool() || job.Fallback || job.Node != first.Name {
		t.Errorf("with a node of their own it ran %s", inWords(job))
	}
	first.Cut()
	if _, err := s.Admin.LeaveNode(t.Context(), first.Name, "test"); err != nil {
		t.Fatal(err)
	}
	if job := u.await(u.submit().ID, "succeeded"); job.Pool != "default" || !job.Fallback || job.Node != n.Name {
		t.Errorf("when the last has left it ran %s", inWords(job))
	}
}

func TestExhaustedPoolSaysWhy(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	u.node("a", rig.RawOptions{})
	u.node("b", rig.RawOptions{Runners: []string{"other"}})
	u.submit() // takes a's only slot
	job := u.submit(func(r *backendtest.JobRequest) { r.WhenExhausted = "fail" })
	u.mustBe(job, "failed", "pool_exhausted")
	want := []backendtest.Reason{{Pool: u.pool(), Reason: "runner", Nodes: 1}, {Pool: u.pool(), Reason: "slots", Nodes: 1}}
	if !slices.Equal(job.Reasons, want) {
		t.Errorf("reasons %+v, want %+v", job.Reasons, want)
	}
}

func TestCase_A1_AMovedNodeFinishesWhatItRuns(t *testing.T) {
	t.Parallel()
	s := server(t)
	u := newTenant(t, s)
	n := u.node("1", rig.RawOptions{Slots: 3})
	finishing, canceling := u.submit(), u.submit()
	offers := map[string]wire.Offer{}
	for range 2 {
		offer := n.Take(t)
		offers[offer.Job] = offer
	}
	if moved := u.move(n.Name, "unassigned"); moved.Running != 2 {
		t.Errorf("moved %+v, want 2 running", moved)
	}
	next := u.submit()
	u.mustBe(next, "queued", "pool_exhausted")

	n.Send(t, wire.Progress{Job: finishing.ID, Attempt: 1, Percent: 40})
	rig.Await(t, patience, func() (bool, string) {
		job := u.job(finishing.ID)
		return job.Percent != nil && *job.Percent == 40, inWords(job)
	})
	result := rig.Succeed(offers[finishing.ID])
	result.Output, result.Head = []byte(`{"answer":42}`), []byte("a line of its log\n")
	if verdict := n.Report(t, result); verdict != wire.VerdictStored {
		t.Errorf("the result of a moved node is %s", verdict)
	}
	job := u.await(finishing.ID, "succeeded")
	if job.Pool != u.pool() || job.Node != n.Name || job.Attempt != 1 || string(job.Output) != `{"answer":42}` {
		t.Errorf("ended %s with %s", inWords(job), job.Output)
	}
	if log, err := u.client.JobLog(t.Context(), job.ID); err != nil || log.Head != "a line of its log\n" {
		t.Errorf("log %+v, %v", log, err)
	}
	if pool := query[string](t, s, `SELECT pool_id FROM jobs WHERE id = $1`, job.ID); pool != u.pool() {
		t.Errorf("the job's row says %s", pool)
	}

	if _, err := u.client.CancelJob(t.Context(), canceling.ID, nil); err != nil {
		t.Fatal(err)
	}
	if cancel := rig.Hear[wire.Cancel](t, n); cancel.Job != canceling.ID || cancel.Attempt != 1 {
		t.Errorf("canceled %+v", cancel)
	}
	word := wire.Result{Job: canceling.ID, Attempt: 1, Status: wire.ResultCanceled}
	if verdict := n.Report(t, word); verdict != wire.VerdictCanceled {
		t.Errorf("the word of a moved node is %s", verdict)
	}
	u.await(canceling.ID, "canceled")

	if offered := n.Seen(wire.TypeOffer); offered != 2 {
		t.Errorf("%d offers came, want the 2 of before the move", offered)
	}
	u.mustBe(u.job(next.ID), "queued", "pool_exhausted")
	u.move(n.Name, u.pool())
	n.Report(t, rig.Succeed(n.Take(t)))
	u.await(next.ID, "succeeded")
}
