package e2e

import (
	"testing"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
	"rockpool/tests/rig"
)

// A node whose spool is full, or whose disk is, gets no work, everybody sees why, and
// it works on when it says that it can.
func TestFullSpool_IsShownAndGetsNoWork(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	n := u.node("1", rig.RawOptions{})
	for _, reason := range []string{nodecore.ReasonSpoolFull, nodecore.ReasonDiskFull, nodecore.ReasonStateFailing} {
		n.Send(t, wire.Heartbeat{Reason: reason, Spooled: 7, Health: wire.Health{OK: true}})
		u.awaitNode(n.Name, time.Minute, "why it takes no work", func(node backendtest.Node) bool {
			return !node.Accepting && node.AcceptReason == reason
		})
		job := u.submit()
		u.mustBe(job, "queued", "pool_exhausted")
		n.Send(t, wire.Heartbeat{Accepting: true, Health: wire.Health{OK: true}})
		offer := n.Take(t)
		if offer.Job != job.ID {
			t.Errorf("%s is offered instead of %s", offer.Job, job.ID)
		}
		n.Report(t, rig.Succeed(offer))
		u.await(job.ID, "succeeded")
	}
}
