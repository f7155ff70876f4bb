package e2e

import (
	"testing"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/shared/nodecore"
	"rockpool/tests/rig"
)

// A node whose spool is full, or whose disk is, gets no work, everybody sees why, and
// it works on when it says that it can.
func TestFullSpool_IsShownAndGetsNoWork(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	n := u.node("1", rig.RawOptions{})
	refuse := func(reason string) {
		t.Helper()
		if err := n.Refuse(reason); err != nil {
			t.Fatal(err)
		}
	}
	for _, reason := range []string{nodecore.ReasonSpoolFull, nodecore.ReasonDiskFull, nodecore.ReasonStateFailing} {
		refuse(reason)
		u.awaitNode(n.Name, time.Minute, "why it takes no work", func(node backendtest.Node) bool {
			return !node.Accepting && node.AcceptReason == reason
		})
		job := u.submit()
		u.mustBe(job, "queued", "pool_exhausted")
		refuse("")
		offer := n.Take(t)
		if offer.Job != job.ID {
			t.Errorf("%s is offered instead of %s", offer.Job, job.ID)
		}
		n.Report(t, rig.Succeed(offer))
		u.await(job.ID, "succeeded")
	}
}
