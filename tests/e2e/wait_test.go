package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// What waits for minutes stands near the end of the package: of the tests that run in
// parallel Go begins the last ones first, and so nothing waits for these in the end.

// slowly is how long what takes a whole wait of a refused agent may take: a minute,
// and its jitter.
const slowly = 2*time.Minute + patience

// A state directory that was copied, on the same machine: the two look like one
// that restarts, until both have spoken. Nobody restarts anything by hand.
func TestCase_N35_ACopiedStateDirectoryAndTheCopyIsKept(t *testing.T) {
	t.Parallel()
	u, w := newTenant(t, rig.NewServer(t, enduring...)), newWorkshop(t)
	a := u.agent("1", 1, w)
	job := u.submit(runner("wait"))
	w.AwaitStart(job.ID, 1)
	epoch := a.AwaitLease(t, u.s, "ready").Epoch
	begun := time.Now()
	b := a.Copy(t)
	held := u.awaitNode(a.Name, slowly, "in quarantine", inQuarantine)
	// By now each has come: the copy took over, the first one came back and was refused.
	if opened := held.Epoch - epoch; opened > 3 {
		t.Errorf("the session changed hands %d times in %v", opened, time.Since(begun))
	}
	u.awaitDuplicates(a.Name, 1, 1)
	count := func() int64 {
		return query[int64](t, u.s, `SELECT count FROM alarms WHERE kind = 'duplicate_identity' AND node_id = $1`, a.Name)
	}
	detail := query[string](t, u.s, `SELECT detail FROM alarms WHERE kind = 'duplicate_identity' AND node_id = $1`, a.Name)
	if len(held.Claimants) != 2 || strings.Count(detail, "127.0.0.1") != 2 {
		t.Errorf("claimants %+v, alarm %q", held.Claimants, detail)
	}
	u.mustBe(u.submit(), "queued", "pool_exhausted")
	u.awaitNode(a.Name, slowly, "the holder is back", func(n backendtest.Node) bool { return n.Lease == "ready" })
	rig.Await(t, slowly, func() (bool, string) { n := count(); return n >= 2, fmt.Sprintf("counted %d", n) })
	opened := query[int64](t, u.s, `SELECT epoch FROM nodes WHERE id = $1`, a.Name) - epoch
	if most := 3 * (1 + int64(time.Since(begun)/time.Minute)); opened > most {
		t.Errorf("%d sessions in %v", opened, time.Since(begun))
	}
	u.repair(a.Name, claimant(t, held, true).ID)
	u.awaitNode(a.Name, slowly, "repaired", func(n backendtest.Node) bool { return !inQuarantine(n) && n.Lease == "ready" && !n.Rotating })
	u.awaitDuplicates(a.Name, 1, 0)
	if strings.Contains(a.Log(), "job ended") {
		t.Error("the first one's job ended before it was let")
	}
	w.Release()
	done := u.await(job.ID, "succeeded")
	starts := w.Lines("starts")
	if slices.Sort(starts); len(slices.Compact(slices.Clone(starts))) != len(starts) {
		t.Errorf("an attempt started twice: %v", starts)
	}
	a.Kill(t)
	a.Start(t)
	awaitShutOut(t, a)
	if b.Secret(t) == a.Secret(t) {
		t.Error("the kept one has the old secret")
	}
	if audited(t, u.s, "node_repaired", "node:"+a.Name) != 1 || audited(t, u.s, "secret_rotated", "node:"+a.Name) != 1 {
		t.Error("the audit entries are missing")
	}
	t.Logf("job done by attempt %d on %s", done.Attempt, done.Node)
}

// The agents are there first and the server comes later; and the server goes and
// comes back ten times, whatever each of them is at then: in a session, dialing, or
// waiting between two dials. None hangs, and nobody has to help.
func TestCase_N39_TheServerComesLaterAndComesBack(t *testing.T) {
	t.Parallel()
	u, w := newTenant(t, rig.NewServer(t, enduring...)), newWorkshop(t)
	var agents []*rig.Agent
	epochs := map[string]int64{}
	for i := range 4 {
		a := u.agent(fmt.Sprint(i), 1, w)
		agents, epochs[a.Name] = append(agents, a), 1
		a.Stop(t)
	}
	u.s.Kill(t)
	for _, a := range agents {
		a.Start(t)
	}
	for _, a := range agents {
		rig.Await(t, patience, func() (bool, string) {
			n := strings.Count(a.Log(), "connection refused")
			return n >= 2, fmt.Sprintf("%d dials of %s were refused", n, a.Name)
		})
	}
	// Between two dials lies half a minute at the most.
	back := func(least int) {
		t.Helper()
		rig.Await(t, slowly, func() (bool, string) {
			n := 0
			for _, a := range agents {
				node, err := u.s.Admin.Node(t.Context(), a.Name)
				if err == nil && node.Lease == "ready" && node.Epoch > epochs[a.Name] {
					n++
				}
			}
			return n >= least, fmt.Sprintf("%d of %d are back", n, len(agents))
		})
	}
	u.s.Start(t)
	back(len(agents))
	for range 10 {
		for _, a := range agents {
			node, err := u.s.Admin.Node(t.Context(), a.Name)
			if err != nil {
				t.Fatal(err)
			}
			epochs[a.Name] = node.Epoch
		}
		u.s.Kill(t)
		u.s.Start(t)
		back(1)
	}
	back(len(agents))
	u.await(u.submit(runner("brief")).ID, "succeeded")
}
