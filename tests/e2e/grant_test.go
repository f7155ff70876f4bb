package e2e

import (
	"testing"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/shared/wire"
	"rockpool/tests/rig"
)

// grant gives the person a role for one pool and nothing else.
func (p *person) grant(role, pool string) {
	p.t.Helper()
	grants := []backendtest.Grant{{Role: role, Pool: pool}}
	if _, err := p.s.Admin.SetRoles(p.t.Context(), p.id, backendtest.RolesRequest{Roles: []string{}, Grants: &grants}); err != nil {
		p.t.Fatal(err)
	}
}

// Who operates one pool sees and handles that one, over REST and on the console; the
// rest is not there.
func TestCase_A8_TheOperatorOfOnePool(t *testing.T) {
	t.Parallel()
	s := server(t)
	mine, other := newTenant(t, s), newTenant(t, s)
	near, far := mine.node("near", rig.RawOptions{}), other.node("far", rig.RawOptions{})
	p := newPerson(t, s, "viewer")
	p.grant("operator", mine.pool())
	p.signIn()
	c := p.open(wire.Subscribe{Topic: wire.TopicPools}, wire.Subscribe{Topic: wire.TopicNodes}, wire.Subscribe{Topic: wire.TopicJobs})
	waits, elsewhere := mine.submit(runner("nobodys")), other.submit(runner("nobodys"))
	c.until("pool, node and job came", func() bool {
		return c.pools[mine.pool()].ID != "" && c.nodes[near.Name].ID != "" && c.jobs[waits.ID].ID != ""
	})

	p.ask("GET", "/v1/nodes/"+far.Name, "").refused(t, "another pool's node", 404, "not_found")
	p.ask("GET", "/v1/jobs/"+elsewhere.ID, "").refused(t, "another pool's job", 404, "not_found")
	p.ask("POST", "/v1/admin/nodes/"+far.Name+"/cordon", "").refused(t, "another pool's node", 404, "not_found")
	p.ask("PUT", "/v1/admin/nodes/"+near.Name+"/pool", `{"pool": "default"}`).refused(t, "a move", 403, "forbidden")
	p.ask("POST", "/v1/jobs", `{"app": "`+mine.app+`", "runner": "noop"}`).refused(t, "a submit", 403, "forbidden")
	if a := p.ask("POST", "/v1/admin/nodes/"+near.Name+"/cordon", `{"reason": "fan"}`); a.Status != 200 {
		t.Errorf("the cordon answered %d: %s", a.Status, a.Body)
	}
	c.until("the cordon came", func() bool { return len(c.nodes[near.Name].Holds) == 1 })

	// A node comes and goes with its pool.
	other.move(far.Name, mine.pool())
	c.until("a node moved in", func() bool { return c.nodes[far.Name].ID != "" })
	other.move(far.Name, other.pool())
	c.until("it moved away", func() bool { _, there := c.nodes[far.Name]; return !there })
	if len(c.pools) != 1 || len(c.nodes) != 1 || len(c.jobs) != 1 {
		t.Errorf("the console shows %d pools, %d nodes, %d jobs", len(c.pools), len(c.nodes), len(c.jobs))
	}

	begin := time.Now()
	p.grant("viewer", other.pool())
	if code := c.closed(); code != wire.CloseRevoked || time.Since(begin) > atOnce {
		t.Errorf("with other rights closed with %s after %v", code, time.Since(begin))
	}
}
