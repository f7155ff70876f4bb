package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/shared/wire"
	"rockpool/tests/rig"
)

// awaitNode waits until the node is as wanted.
func (u *tenant) awaitNode(name string, limit time.Duration, want string, is func(backendtest.Node) bool) backendtest.Node {
	u.t.Helper()
	var node backendtest.Node
	rig.Await(u.t, limit, func() (bool, string) {
		var err error
		node, err = u.s.Admin.Node(u.t.Context(), name)
		return err == nil && is(node), fmt.Sprintf("want %s, is %+v, %v", want, node, err)
	})
	return node
}

// awaitConfirmed waits until the server knows that the node has what its newest session
// gave it. Until then its welcome may be lost, and who shows the value before is the
// node itself.
func (u *tenant) awaitConfirmed(name string) {
	u.t.Helper()
	rig.Await(u.t, patience, func() (bool, string) {
		is := query[string](u.t, u.s, `SELECT octet_length(chain_pending) / 32 || ' pending, ' || octet_length(chain_past) / 32 || ' past'
			FROM node_identities WHERE node_id = $1`, name)
		return strings.HasPrefix(is, "0 pending") && !strings.HasSuffix(is, " 0 past"), is
	})
}

func inQuarantine(n backendtest.Node) bool {
	return slices.ContainsFunc(n.Holds, func(h backendtest.Hold) bool { return h.Kind == "quarantine" })
}

// awaitDuplicates waits until so many alarms of a copy were raised for the node,
// and so many last: a page shows what memory knows, before it is committed.
func (u *tenant) awaitDuplicates(node string, all, lasting int) {
	u.t.Helper()
	want := fmt.Sprintf("%d raised, %d last", all, lasting)
	rig.Await(u.t, patience, func() (bool, string) {
		now := query[string](u.t, u.s, `SELECT count(*) || ' raised, ' || count(*) FILTER (WHERE resolved_at IS NULL) || ' last'
			FROM alarms WHERE kind = 'duplicate_identity' AND node_id = $1`, node)
		return now == want, now
	})
}

// claimant finds the one that is the holder, or the one that is not.
func claimant(t *testing.T, n backendtest.Node, holder bool) backendtest.Claimant {
	t.Helper()
	at := slices.IndexFunc(n.Claimants, func(c backendtest.Claimant) bool { return c.Holder == holder })
	if at < 0 {
		t.Fatalf("no such claimant of %+v", n.Claimants)
	}
	return n.Claimants[at]
}

// repair chooses a claimant by the command line.
func (u *tenant) repair(node, keep string) {
	u.t.Helper()
	shown := u.s.Run(u.t, u.s.AdminToken, "node", "get", node)
	if !strings.Contains(shown.Out, keep) {
		u.t.Errorf("node get does not show the claimant %s:\n%s", keep, shown.Out)
	}
	if ran := u.s.Run(u.t, u.s.AdminToken, "node", "repair", node, "--keep", keep, "--reason", "the other one is a copy"); ran.Code != 0 {
		u.t.Fatalf("repair: %d %s", ran.Code, ran.Err)
	}
}

// A state directory that was copied, processes that their owner restarts, a server
// that is killed in between, and the first one kept.
func TestCase_N35_ACopiedStateDirectoryAndTheFirstIsKept(t *testing.T) {
	t.Parallel()
	u, w := newTenant(t, rig.NewServer(t, enduring...)), newWorkshop(t)
	a := u.agent("1", 1, w)
	b := a.Copy(t)
	before := a.AwaitLease(t, u.s, "ready").Epoch
	u.awaitNode(a.Name, patience, "the copy took over", func(n backendtest.Node) bool { return n.Epoch > 1 && n.Epoch >= before })
	u.awaitConfirmed(a.Name)
	a.Kill(t)
	a.Start(t)
	held := u.awaitNode(a.Name, patience, "in quarantine", inQuarantine)
	b.Kill(t)
	u.repair(a.Name, claimant(t, held, false).ID)
	u.s.Kill(t)
	u.s.Start(t)
	b.Start(t) // its chain is right, and it was not chosen
	a.Kill(t)
	a.Start(t)
	u.awaitNode(a.Name, patience, "repaired", func(n backendtest.Node) bool { return !inQuarantine(n) && n.Lease == "ready" && !n.Rotating })
	b.Kill(t)
	b.Start(t)
	awaitShutOut(t, b)
	u.awaitDuplicates(a.Name, 1, 0)
	job := u.submit(runner("brief"))
	u.await(job.ID, "succeeded")
}

// awaitShutOut waits until the agent's secret is refused: at the upgrade, or at the
// hello when the other's new secret was only just shown.
func awaitShutOut(t *testing.T, a *rig.Agent) {
	t.Helper()
	rig.Await(t, patience, func() (bool, string) {
		log := a.Log()
		return strings.Contains(log, "401") || strings.Contains(log, "unauthenticated"), "the other one is not refused"
	})
}

// on is a scripted node that says it is on that machine.
func on(machine string) func(wire.Hello) wire.Body {
	return func(h wire.Hello) wire.Body {
		h.MachineID = machine
		return h
	}
}

// settled has had a second session, so that it has shown what the first one gave.
func (u *tenant) settled(n *rig.RawNode) {
	u.t.Helper()
	n.Cut()
	n.Join(u.t)
	n.Send(u.t, wire.Heartbeat{Accepting: true, Health: wire.Health{OK: true}})
	u.awaitConfirmed(n.Name)
}

// copyOf is the same node on another machine.
func (u *tenant) copyOf(n *rig.RawNode, machine string) *rig.RawNode {
	other := rig.NewRawNode(u.s, rig.RawOptions{Name: n.Name, License: u.license.LicenseCode, Say: on(machine)})
	other.Secret, other.Chain, other.Epoch, other.BootID = n.Secret, n.Chain, n.Epoch, "boot-on-"+machine
	u.t.Cleanup(other.Cut)
	return other
}

// Two machines with one image: the second is refused, the first closed and held,
// and the node never changes hands.
func TestCase_D14_TwoMachinesWithOneImage(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	n := u.node("1", rig.RawOptions{Say: on("machine-1")})
	u.settled(n)
	clone := u.copyOf(n, "machine-2")
	refused := func(of *rig.RawNode) {
		t.Helper()
		if err := of.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "duplicate_identity") {
			t.Errorf("a duplicate is answered %v", err)
		}
	}
	refused(clone)
	if code := n.Session().Ended(t); code != wire.CloseDuplicateNode {
		t.Errorf("the session that stood was closed %s", code)
	}
	for range 5 {
		n.Join(t)
		refused(clone)
	}
	node := u.awaitNode(n.Name, patience, "held", inQuarantine)
	if holder := claimant(t, node, true); holder.MachineID != "machine-1" || len(node.Claimants) != 2 {
		t.Errorf("claimants %+v", node.Claimants)
	}
	awaitCount := func(want int64) {
		t.Helper()
		rig.Await(t, patience, func() (bool, string) {
			n := query[int64](t, u.s, `SELECT coalesce(max(count), 0) FROM alarms WHERE kind = 'duplicate_identity' AND node_id = $1`, n.Name)
			return n == want, fmt.Sprintf("counted %d, want %d", n, want)
		})
	}
	awaitCount(6)
	u.awaitDuplicates(n.Name, 1, 1)
	u.mustBe(u.submit(), "queued", "pool_exhausted")
}

// A secret that was taken without the state: whoever speaks next, the node is held.
func TestCase_N30_AStolenSecretIsSeenWithTheNextHello(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	n := u.node("1", rig.RawOptions{})
	u.settled(n)
	thief := u.copyOf(n, "")
	thief.Chain, thief.Epoch = "", 0
	if err := thief.Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "duplicate_identity") {
		t.Errorf("the thief is answered %v", err)
	}
	if code := n.Session().Ended(t); code != wire.CloseDuplicateNode {
		t.Errorf("the session that stood was closed %s", code)
	}
	n.Join(t)
	u.awaitNode(n.Name, patience, "held", inQuarantine)
}

// A thousand welcomes that never came, of twelve nodes at once and of each
// nearly as many as it may say hello: every node is who it was.
func TestCase_N35_LostWelcomesHoldNobody(t *testing.T) {
	t.Parallel()
	const nodes, lost = 12, 84
	u := newTenant(t, server(t))
	var said sync.WaitGroup
	var crowd []*rig.RawNode
	for i := range nodes {
		n := u.node(strconv.Itoa(i+1), rig.RawOptions{})
		u.settled(n)
		crowd = append(crowd, n)
	}
	for _, n := range crowd {
		said.Go(func() {
			for range lost {
				chain := n.Chain
				if err := n.Connect(t.Context()); err != nil {
					t.Errorf("%s: %v", n.Name, err)
					return
				}
				n.Cut()
				n.Chain = chain // it never heard it
			}
		})
	}
	said.Wait()
	for _, n := range crowd {
		n.Join(t)
		if node := u.awaitNode(n.Name, patience, "ready", func(n backendtest.Node) bool { return n.Lease == "ready" }); inQuarantine(node) { // coming and going so often holds it for a while
			t.Errorf("held: %+v", node.Holds)
		}
		u.awaitDuplicates(n.Name, 0, 0)
	}
}

// A node's secret changes under a running job: nothing is lost, and the old secret
// is good for nothing.
func TestAttack_A43_RotationWhileAJobRuns(t *testing.T) {
	t.Parallel()
	u, w := newTenant(t, server(t)), newWorkshop(t)
	a := u.agent("1", 2, w)
	job := u.submit(runner("wait"))
	w.AwaitStart(job.ID, 1)
	old := a.Secret(t)
	for range 2 {
		before := a.Secret(t)
		if ran := u.s.Run(t, u.s.AdminToken, "node", "rotate", a.Name, "--reason", "yearly"); ran.Code != 0 {
			t.Fatalf("rotate: %d %s", ran.Code, ran.Err)
		}
		rig.Await(t, patience, func() (bool, string) { return a.Secret(t) != before, "the secret is the old one" })
		u.awaitNode(a.Name, patience, "rotated", func(n backendtest.Node) bool { return !n.Rotating && n.Lease == "ready" && n.Running == 1 })
	}
	if ask := ask(t, u.s, old, "GET", "/v1/artifacts/sha256:"+strings.Repeat("0", 64), ""); ask.Status != 401 {
		t.Errorf("the old secret is answered %d", ask.Status)
	}
	w.Release()
	u.mustBe(u.await(job.ID, "succeeded"), "succeeded", "")
	if starts := w.Lines("starts"); len(starts) != 1 {
		t.Errorf("starts %v", starts)
	}
	if n := audited(t, u.s, "secret_rotated", "node:"+a.Name); n != 2 {
		t.Errorf("%d audit entries", n)
	}
}
