package e2e

import (
	"testing"

	"rockpool/shared/wire"
	"rockpool/tests/rig"
)

// claimingHello says more than a node may decide.
type claimingHello struct {
	wire.Hello
	Pool    string   `msgpack:"pool"`
	PoolID  string   `msgpack:"poolId"`
	PoolID2 string   `msgpack:"pool_id"`
	UserID  string   `msgpack:"userId"`
	Tags    []string `msgpack:"tags"`
}

// claimingHeartbeat claims once more within the session.
type claimingHeartbeat struct {
	wire.Heartbeat
	Pool string `msgpack:"pool"`
}

const claimed = "pool-of-its-dreams"

func claimAll(h wire.Hello) wire.Body {
	return claimingHello{Hello: h, Pool: claimed, PoolID: claimed, PoolID2: claimed, UserID: "1", Tags: []string{claimed}}
}

func checkClaimIgnored(t *testing.T, u *tenant, n *rig.RawNode, sessions int) {
	t.Helper()
	awaitAudited(t, u.s, "claimed_pool_ignored", "node:"+n.Name, sessions)
	if pool := query[string](t, u.s, `SELECT pool_id FROM nodes WHERE id = $1`, n.Name); pool != u.pool() || n.Welcome.Pool != u.pool() {
		t.Errorf("the node stands in %s and is told %s", pool, n.Welcome.Pool)
	}
	if owner := query[string](t, u.s, `SELECT owner_id::text FROM nodes WHERE id = $1`, n.Name); owner != u.id {
		t.Errorf("the node belongs to user %s", owner)
	}
	if made := query[int](t, u.s, `SELECT count(*) FROM pools WHERE id = $1 OR name = $1`, claimed); made != 0 {
		t.Error("the claim made a pool")
	}
}

func TestAttack_A01_ARegistrationThatClaimsAPoolChangesNothing(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	before := u.s.Metric(t, "rockpool_channel_claimed_keys_total")
	n := u.node("1", rig.RawOptions{Say: claimAll, Answer: rig.Diligent})
	checkClaimIgnored(t, u, n, 1)
	if rose := u.s.Metric(t, "rockpool_channel_claimed_keys_total") - before; rose < 4 {
		t.Errorf("the counter rose by %v for 4 claims", rose)
	}
	if job := u.await(u.submit().ID, "succeeded"); job.Pool != u.pool() {
		t.Errorf("ran %s", inWords(job))
	}
}

func TestCase_A3_OneAuditEntryASession(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	n := u.node("1", rig.RawOptions{})
	checkClaimIgnored(t, u, n, 0)
	n.Say = claimAll
	for session := range 3 {
		n.Cut()
		n.Join(t)
		for range 5 {
			n.Send(t, claimingHeartbeat{Heartbeat: wire.Heartbeat{Accepting: true, Health: wire.Health{OK: true}}, Pool: claimed})
		}
		// The server takes a session's messages in order.
		acks := n.Seen(wire.TypeHeartbeatAck)
		rig.Await(t, patience, func() (bool, string) {
			return n.Seen(wire.TypeHeartbeatAck) >= acks+1, "heartbeats are not acknowledged"
		})
		checkClaimIgnored(t, u, n, session+1)
	}
}
