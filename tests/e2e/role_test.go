package e2e

import (
	"fmt"
	"testing"

	"rockpool/backend/backendtest"
	"rockpool/shared/wire"
	"rockpool/tests/rig"
)

// Work of every role, built in or added, is served from the pool that its app
// resolves to, and from nowhere else.
func TestEveryRoleGoesThroughThePool(t *testing.T) {
	t.Parallel()
	s := server(t)
	u, other := newTenant(t, s), newTenant(t, s)
	added := fmt.Sprintf("role-of-%s", u.id)
	if _, err := u.client.SubmitJob(t.Context(), backendtest.JobRequest{App: u.app, Runner: "noop", Role: added}, ""); err == nil {
		t.Error("work of a role that is not there was taken")
	}
	if _, err := s.Admin.CreateRole(t.Context(), backendtest.RoleRequest{Name: added}); err != nil {
		t.Fatal(err)
	}
	roles, err := s.Admin.Roles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, role := range roles.Items {
		if !role.BuiltIn && role.Name != added {
			continue // other tests'
		}
		tried++
		elsewhere := other.nodeOf(role.Name)
		fail := func(r *backendtest.JobRequest) { r.Role, r.WhenExhausted = role.Name, "fail" }
		mine := u.nodeOf(role.Name)
		if job := u.await(u.submit(fail).ID, "succeeded"); job.Node != mine.Name || job.Pool != u.pool() || job.Fallback {
			t.Errorf("role %s: served %s", role.Name, inWords(job))
		}
		u.move(mine.Name, "unassigned")
		u.mustBe(u.submit(fail), "failed", "pool_exhausted")
		if offered := elsewhere.Seen(wire.TypeOffer); offered != 0 {
			t.Errorf("role %s: %d offers went to another pool", role.Name, offered)
		}
	}
	if tried != 7 {
		t.Errorf("%d roles were tried, want the six that are built in and one more", tried)
	}
}

// nodeOf joins a node of that role.
func (u *tenant) nodeOf(role string) *rig.RawNode {
	u.t.Helper()
	license, err := u.s.Admin.CreateLicense(u.t.Context(), backendtest.LicenseRequest{User: u.id, Roles: []string{role}})
	if err != nil {
		u.t.Fatal(err)
	}
	say := func(h wire.Hello) wire.Body { h.Role = role; return h }
	o := u.options(fmt.Sprintf("%.12s", role), rig.RawOptions{Answer: rig.Diligent, Say: say})
	o.License = license.LicenseCode
	return rig.JoinRawNode(u.t, u.s, o)
}
