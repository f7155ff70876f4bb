package e2e

import (
	"testing"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/shared/wire"
	"rockpool/tests/rig"
)

// declining answers every offer with a no.
func declining(n *rig.RawNode, m wire.Message) {
	if offer, err := wire.Decode[wire.Offer](m); m.Type == wire.TypeOffer && err == nil {
		_ = n.TrySend(wire.Decline{Job: offer.Job, Attempt: offer.Attempt, Reason: "slots"})
	}
}

// A drain with a deadline and an automatic hold are as they were after the server
// was killed in the middle of them.
func TestHoldsOutliveAKilledServer(t *testing.T) {
	t.Parallel()
	s := rig.NewServer(t, enduring...)
	u, w := newTenant(t, s), newWorkshop(t)
	a := u.agent("1", 1, w)
	job := u.submit(runner("wait"))
	w.AwaitStart(job.ID, 1)
	bad := newTenant(t, s)
	sick := bad.node("sick", rig.RawOptions{Slots: 4, Answer: declining})
	for range 5 {
		bad.submit()
	}
	held := func(node, want string) {
		t.Helper()
		rig.Await(t, patience, func() (bool, string) { is := u.held(node); return is == want, "held by " + is + ", want " + want })
	}
	held(sick.Name, "auto/auto")
	rig.Await(t, patience, func() (bool, string) { // seen a moment before it is stored
		stored := query[int](t, s, `SELECT count(*) FROM node_holds WHERE node_id = $1`, sick.Name)
		return stored == 1, "the automatic hold is not stored"
	})
	u.drain(a.Name, 5*time.Second)
	s.Kill(t)
	sick.Cut()
	s.Start(t)
	held(sick.Name, "auto/auto")
	held(a.Name, "drain/operator")
	u.mustBe(u.await(job.ID, "queued"), "queued", "drained")
	sick.Join(t)
	held(sick.Name, "auto/auto")
	w.Release()
	if _, err := s.Admin.UncordonNode(t.Context(), a.Name, "", 0); err != nil {
		t.Fatal(err)
	}
	u.await(job.ID, "succeeded")
	if raised := query[int](t, s, `SELECT count(*) FROM alarms WHERE kind = 'node_rejecting_offers'`); raised != 1 {
		t.Errorf("node_rejecting_offers was raised %d times", raised)
	}
	if _, err := s.Admin.LiftHold(t.Context(), sick.Name, "auto", "", 0); err != nil {
		t.Fatal(err)
	}
	// From here on the node is offered work again, and may earn the next one.
	if ended := query[int](t, s, `SELECT count(*) FROM alarms WHERE kind = 'node_rejecting_offers' AND resolved_at IS NOT NULL`); ended != 1 {
		t.Errorf("its hold is lifted, and %d alarms node_rejecting_offers have ended", ended)
	}
}

// A node that is taken out leaves lists whole and its work handled at once.
func TestCase_D16_ANodeThatLeavesWithWork(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	n := u.node("1", rig.RawOptions{Slots: 2})
	again, never := u.submit(), u.submit(func(r *backendtest.JobRequest) { r.OnNodeLost = "fail" })
	n.Take(t)
	n.Take(t)
	left, err := u.s.Admin.LeaveNode(t.Context(), n.Name, "sold")
	if err != nil || left.Lease != "left" || left.Running != 0 {
		t.Errorf("left: %+v, %v", left, err)
	}
	u.await(again.ID, "queued")
	u.mustBe(u.await(never.ID, "failed"), "failed", "node_lost")
	for _, path := range []string{"/v1/nodes", "/v1/nodes/" + n.Name, "/v1/pools", "/v1/pools/" + u.pool(), "/v1/jobs", "/v1/jobs?node=" + n.Name, "/v1/usage"} {
		if a := ask(t, u.s, u.token, "GET", path, ""); a.Status != 200 {
			t.Errorf("GET %s answers %d: %s", path, a.Status, a.Body)
		}
	}
}
