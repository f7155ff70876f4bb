package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// drain orders a drain of the node; 0: without a deadline.
func (u *tenant) drain(node string, deadline time.Duration) backendtest.Drained {
	u.t.Helper()
	req := backendtest.DrainRequest{Reason: "test"}
	if deadline > 0 {
		left := backendtest.Duration(deadline)
		req.Deadline = &left
	}
	drained, err := u.s.Admin.DrainNode(u.t.Context(), node, req, 0, false)
	if err != nil {
		u.t.Fatalf("drain %s: %v", node, err)
	}
	return drained
}

// held is what holds the node: kind/owner, in their order.
func (u *tenant) held(node string) string {
	u.t.Helper()
	row, err := u.s.Admin.Node(u.t.Context(), node)
	if err != nil {
		u.t.Fatal(err)
	}
	var list []string
	for _, h := range row.Holds {
		list = append(list, h.Kind+"/"+h.Owner)
	}
	return strings.Join(list, " ")
}

func TestCase_E4_DrainedWorkRunsAgainOrFailsByPolicy(t *testing.T) {
	t.Parallel()
	u, w := newTenant(t, server(t)), newWorkshop(t)
	a := u.agent("1", 2, w)
	again := u.submit(runner("wait"), func(r *backendtest.JobRequest) { r.MaxAttempts = new(int32(1)) })
	never := u.submit(runner("wait"), func(r *backendtest.JobRequest) { r.OnNodeLost = "fail" })
	w.AwaitStart(again.ID, 1)
	w.AwaitStart(never.ID, 1)
	if drained := u.drain(a.Name, time.Second); !drained.Applied || len(drained.Running) != 2 {
		t.Errorf("drained: %+v", drained)
	}
	u.mustBe(u.await(again.ID, "queued"), "queued", "drained")
	u.mustBe(u.await(never.ID, "failed"), "failed", "drained")
	if counted := u.counted(again.ID); counted != 0 {
		t.Errorf("%d attempts count", counted)
	}
	w.Release()
	if _, err := u.s.Admin.UncordonNode(t.Context(), a.Name, "done", 0); err != nil {
		t.Fatal(err)
	}
	if job := u.await(again.ID, "succeeded"); job.Attempt != 2 || u.counted(again.ID) != 1 {
		t.Errorf("it ended as %s", inWords(job))
	}
	if starts := w.Lines("starts"); len(starts) != 3 {
		t.Errorf("starts %v", starts)
	}
}

func TestCase_E7_AGoodbyeHoldsUntilTheNodeIsBack(t *testing.T) {
	t.Parallel()
	u, w := newTenant(t, server(t)), newWorkshop(t)
	a := u.agent("1", 1, w)
	if _, err := u.s.Admin.CordonNode(t.Context(), a.Name, "new disk", 0); err != nil {
		t.Fatal(err)
	}
	a.AwaitLease(t, u.s, "ready")
	await := func(want string) {
		t.Helper()
		rig.Await(t, patience, func() (bool, string) {
			held := u.held(a.Name)
			return held == want, fmt.Sprintf("held by %q, want %q", held, want)
		})
	}
	a.Stop(t)
	await("cordon/operator drain/self")
	a.Start(t)
	await("cordon/operator")
	if _, err := u.s.Admin.UncordonNode(t.Context(), a.Name, "", 0); err != nil {
		t.Fatal(err)
	}
	await("")
	w.Release()
	u.await(u.submit(runner("wait")).ID, "succeeded")
}
