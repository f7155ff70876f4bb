package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// TestAttack_A43_ASecretIsChangedUnderALiveNode: its work goes on, no job is lost
// or run twice, and the old secret is good for nothing afterwards; three times, and
// once with the agent killed in the middle.
func TestAttack_A43_ASecretIsChangedUnderALiveNode(t *testing.T) {
	t.Parallel()
	u, w := newTenant(t, server(t)), newWorkshop(t)
	a := u.agent("rotates", 2, w)
	long := u.submit(runner("wait"))
	w.AwaitStart(long.ID, 1)
	var brief []backendtest.Job
	for range 3 {
		old, before := a.Secret(t), a.AwaitLease(t, u.s, "ready")
		if _, err := u.s.Admin.RotateNode(t.Context(), a.Name, "leaked", 0); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			brief = append(brief, u.submit(runner("brief")))
		}
		u.awaitRotation(a, old, before.Epoch)
		header := http.Header{"Authorization": {"Bearer " + old}}
		if socket, answer := u.s.Upgrade(t, "", header); socket != nil || answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("the old secret opens a session: %v", answer.Status)
		}
	}
	w.Release()
	for _, job := range append(brief, long) {
		u.await(job.ID, "succeeded")
		starts := slices.DeleteFunc(w.Lines("starts"), func(line string) bool { return !strings.HasPrefix(line, job.ID+"/") })
		if len(starts) != 1 { // an offer that a session's end took along is made again under the next number
			t.Errorf("job %s was started as %q", job.ID, starts)
		}
	}
	old, before := a.Secret(t), a.AwaitLease(t, u.s, "ready")
	if _, err := u.s.Admin.RotateNode(t.Context(), a.Name, "again", 0); err != nil {
		t.Fatal(err)
	}
	a.Kill(t)
	a.Start(t)
	u.awaitRotation(a, old, before.Epoch)
	u.await(u.submit(runner("brief")).ID, "succeeded")
}

// awaitRotation waits until the agent has a session under another secret, and the
// change is over on both sides.
func (u *tenant) awaitRotation(a *rig.Agent, old string, epoch int64) {
	u.t.Helper()
	rig.Await(u.t, patience, func() (bool, string) {
		node, err := u.s.Admin.Node(u.t.Context(), a.Name)
		done := err == nil && node.Lease == "ready" && node.Epoch > epoch && !node.Rotating && a.Secret(u.t) != old
		return done, fmt.Sprintf("lease %s, epoch %d above %d, rotating %v, another secret %v; %v", node.Lease, node.Epoch, epoch, node.Rotating, a.Secret(u.t) != old, err)
	})
}
