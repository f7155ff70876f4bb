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

// A node is what its record says, whatever it says of itself.
func TestCase_A4_TheRecordsRoleWins(t *testing.T) {
	t.Parallel()
	s := server(t)
	u := newTenant(t, s)
	lie := func(h wire.Hello) wire.Body {
		h.Role = "origin"
		h.Labels = append(h.Labels, wire.Pair{Name: "rockpool/pool", Value: "gold"}, wire.Pair{Name: "pool", Value: "gold"}, wire.Pair{Name: "site", Value: "ams"})
		return h
	}
	n := u.node("1", rig.RawOptions{Answer: rig.Diligent})
	n.Cut()
	n.Say = lie
	n.Join(t)
	awaitAudited(t, s, "claimed_pool_ignored", "node:"+n.Name, 1)
	awaitAudited(t, s, "claimed_role_ignored", "node:"+n.Name, 1)
	row, err := s.Admin.Node(t.Context(), n.Name)
	if err != nil || row.Role != "worker" {
		t.Errorf("the node is %+v, %v", row, err)
	}
	if !slices.Equal(row.Labels, []backendtest.Pair{{"site", "ams"}}) {
		t.Errorf("labels %v", row.Labels)
	}
	origin := u.submit(func(r *backendtest.JobRequest) { r.Role, r.WhenExhausted = "origin", "fail" })
	u.mustBe(origin, "failed", "pool_exhausted")
	u.await(u.submit().ID, "succeeded")
}

// Nothing matches anything: an app that resolves to a pool without nodes is refused,
// however many nodes other pools have.
func TestCase_A6_NoBindingIsNoWildcard(t *testing.T) {
	t.Parallel()
	s := server(t)
	u := newTenant(t, s)
	for i := range 3 {
		u.node(fmt.Sprint(i), rig.RawOptions{Answer: rig.Diligent})
	}
	orphan := u.name + "-orphan" // of nobody: it resolves to default, which is empty
	if _, err := s.Admin.CreateApp(t.Context(), backendtest.AppRequest{ID: orphan}); err != nil {
		t.Fatal(err)
	}
	job, err := s.Admin.SubmitJob(t.Context(), backendtest.JobRequest{App: orphan, Runner: "noop", WhenExhausted: "fail"}, "")
	if err != nil || job.State != "failed" || text(job.Reason) != "pool_exhausted" || job.Node != "" {
		t.Errorf("it ended as %s, %v", inWords(job), err)
	}
}

// What is refused because its nodes sit elsewhere says exactly that, before a
// request fails and after it.
func TestCase_B4_NodesExistButInOtherPools(t *testing.T) {
	t.Parallel()
	s := server(t)
	u := newTenant(t, s)
	if _, err := s.Admin.CreatePool(t.Context(), backendtest.PoolRequest{ID: u.name + "-elsewhere"}); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		u.move(u.node(fmt.Sprint(i), rig.RawOptions{Answer: rig.Diligent}).Name, u.name+"-elsewhere")
	}
	alignment, err := s.Admin.Alignment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(alignment.Apps, func(a backendtest.MisalignedApp) bool { return a.App == u.app })
	if at < 0 || alignment.Apps[at].Elsewhere != 2 || !strings.Contains(alignment.Apps[at].Text, "nodes exist but in other pools: 2 usable nodes") {
		t.Errorf("alignment %+v", alignment.Apps)
	}
	if !slices.ContainsFunc(alignment.Pools, func(p backendtest.UnresolvedPool) bool { return p.Pool == u.name+"-elsewhere" && p.Nodes == 2 }) {
		t.Errorf("pools that nothing resolves to: %+v", alignment.Pools)
	}
	seen, err := u.client.Candidates(t.Context(), u.app, backendtest.Preview{Runner: "noop"})
	if err != nil || !strings.HasPrefix(seen.Hint, "nodes exist but in other pools: 2 nodes of user "+u.id) || seen.Decision.Outcome == "placed" {
		t.Errorf("candidates %+v, %v", seen, err)
	}
	if alarms, err := s.Admin.Alarms(t.Context(), backendtest.AlarmFilter{Pool: u.pool()}, backendtest.Page{}); err != nil || len(alarms.Items) != 0 {
		t.Errorf("looking raised %+v, %v", alarms.Items, err)
	}
	waiting := u.submit()
	explained, err := u.client.Explanation(t.Context(), waiting.ID)
	if err != nil || !strings.HasPrefix(explained.Hint, "nodes exist but in other pools") {
		t.Errorf("explained %+v, %v", explained, err)
	}
	// What the hint says helps: no new submit is needed.
	bind := backendtest.BindingRequest{Binding: backendtest.Binding{Pools: []string{u.name + "-elsewhere"}}}
	if _, err := s.Admin.PutBinding(t.Context(), u.app, bind, 0); err != nil {
		t.Fatal(err)
	}
	if job := u.await(waiting.ID, "succeeded"); job.Pool != u.name+"-elsewhere" {
		t.Errorf("it ran %s", inWords(job))
	}
}

// A canary pool's nodes get canary jobs and nothing else, and move on in one action.
func TestCanaryJobsPromoteTheirPool(t *testing.T) {
	t.Parallel()
	s := server(t)
	u := newTenant(t, s)
	canary := u.name + "-canary"
	if _, err := s.Admin.CreatePool(t.Context(), backendtest.PoolRequest{ID: canary}); err != nil {
		t.Fatal(err)
	}
	n := u.node("new", rig.RawOptions{Slots: 4, Answer: rig.Diligent})
	u.move(n.Name, canary)
	u.mustBe(u.submit(func(r *backendtest.JobRequest) { r.WhenExhausted = "fail" }), "failed", "pool_exhausted")
	promotion := backendtest.PromoteRequest{To: u.pool(), Checks: backendtest.PromoteChecks{Jobs: 2}}
	if _, err := s.Admin.Promote(t.Context(), canary, promotion, false); err == nil || !strings.Contains(err.Error(), "0 of 2 canary jobs have succeeded") {
		t.Errorf("promoted without a canary job: %v", err)
	}
	for range 2 {
		job, err := s.Admin.SubmitJob(t.Context(), backendtest.JobRequest{App: u.app, Runner: "noop", Pool: canary}, "")
		if err != nil {
			t.Fatal(err)
		}
		if done := u.await(job.ID, "succeeded"); done.Node != n.Name || done.Pool != canary || done.Fallback {
			t.Errorf("the canary job ran %s", inWords(done))
		}
		if decision, err := u.client.Decision(t.Context(), job.ID); err != nil || decision.Rule != "canary" {
			t.Errorf("decided %+v, %v", decision, err)
		}
	}
	tried, err := s.Admin.Promote(t.Context(), canary, promotion, true)
	if err != nil || tried.Applied || len(tried.Reasons) != 0 || !slices.Equal(tried.Nodes, []string{n.Name}) || tried.Impact == nil {
		t.Errorf("a dry run: %+v, %v", tried, err)
	}
	done, err := s.Admin.Promote(t.Context(), canary, promotion, false)
	if err != nil || !done.Applied {
		t.Errorf("promoted %+v, %v", done, err)
	}
	if job := u.submit(func(r *backendtest.JobRequest) { r.WhenExhausted = "fail" }); job.Node != n.Name {
		t.Errorf("the very next decision is %s", inWords(job))
	}
}
