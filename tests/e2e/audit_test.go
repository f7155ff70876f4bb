package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// entriesOf counts the audit entries that a request left.
func entriesOf(t testing.TB, s *rig.Server, a answer) int {
	t.Helper()
	id := a.Header.Get("X-Request-Id")
	if id == "" {
		t.Fatal("an answer has no request id")
	}
	return query[int](t, s, `SELECT count(*) FROM audit_entries WHERE request_id = $1`, id)
}

func TestInv_I14_EveryAdministrativeCallLeavesOneEntry(t *testing.T) {
	t.Parallel()
	s := server(t)
	u := newTenant(t, s)
	n := u.node("1", rig.RawOptions{})
	if left := audited(t, s, "node_registered", "node:"+n.Name); left != 1 {
		t.Errorf("the registration left %d entries", left)
	}
	var made struct{ ID string } // of the call before
	calls := []struct {
		token, method, path, body string
		status, entries           int
		action                    string
	}{
		{s.AdminToken, "POST", "/v1/admin/users", fmt.Sprintf(`{"name": "%s-made"}`, u.name), 201, 1, "user_created"},
		{s.AdminToken, "PUT", "/v1/admin/users/{made}/roles", `{"roles": ["viewer"], "reason": "test"}`, 200, 1, "user_roles_set"},
		{s.AdminToken, "POST", "/v1/admin/users", fmt.Sprintf(`{"name": "%s-made"}`, u.name), 409, 0, ""},
		{s.AdminToken, "POST", "/v1/admin/users/" + u.id + "/tokens", `{"name": "more"}`, 201, 1, "token_created"},
		{s.AdminToken, "POST", "/v1/admin/apps", fmt.Sprintf(`{"id": "%s-made"}`, u.name), 201, 1, "app_created"},
		{s.AdminToken, "POST", "/v1/admin/apps", fmt.Sprintf(`{"id": "%s-made"}`, u.name), 409, 0, ""},
		{s.AdminToken, "POST", "/v1/admin/licenses", fmt.Sprintf(`{"user": %q}`, u.id), 201, 1, "license_created"},
		{s.AdminToken, "POST", "/v1/admin/licenses/{made}/revoke", `{"reason": "test"}`, 200, 1, "license_revoked"},
		{u.token, "POST", "/v1/tokens", `{"name": "own"}`, 201, 1, "token_created"},
		{u.token, "DELETE", "/v1/tokens/{made}", "", 204, 1, "token_deleted"},
		{u.token, "PUT", "/v1/admin/nodes/" + n.Name + "/pool", `{"pool": "unassigned"}`, 403, 0, ""},
		{s.AdminToken, "PUT", "/v1/admin/nodes/" + n.Name + "/pool", `{"pool": "unassigned", "reason": "test"}`, 200, 1, "node_moved"},
		{s.AdminToken, "PUT", "/v1/admin/nodes/" + n.Name + "/pool", `{"pool": "no-such-pool"}`, 422, 0, ""},
		{s.AdminToken, "POST", "/v1/admin/nodes/" + n.Name + "/cordon", `{"reason": "test"}`, 200, 1, "node_cordoned"},
		{s.AdminToken, "POST", "/v1/admin/nodes/" + n.Name + "/uncordon", `{"reason": "test"}`, 200, 1, "node_uncordoned"},
		{s.AdminToken, "POST", "/v1/admin/nodes/" + n.Name + "/uncordon", "", 200, 0, ""},
		{s.AdminToken, "PUT", "/v1/admin/users/" + u.id + "/password", `{"password": "correct horse battery"}`, 204, 1, "password_set"},
		{s.AdminToken, "PUT", "/v1/admin/users/" + u.id + "/password", `{"password": "too short"}`, 400, 0, ""},
		{"", "POST", "/v1/session", fmt.Sprintf(`{"name": %q, "password": "correct horse battery"}`, u.name), 200, 1, "signed_in"},
		{"", "POST", "/v1/session", fmt.Sprintf(`{"name": %q, "password": "wrong horse battery"}`, u.name), 401, 0, ""},
		{s.AdminToken, "POST", "/v1/admin/nodes/" + n.Name + "/drain?dryRun=true", "", 200, 0, ""},
		{s.AdminToken, "POST", "/v1/admin/nodes/" + n.Name + "/drain", `{"deadline": "1h"}`, 200, 1, "node_drained"},
		{s.AdminToken, "PUT", "/v1/admin/nodes/" + n.Name + "/pool?dryRun=true", fmt.Sprintf(`{"pool": %q}`, u.pool()), 200, 0, ""},
		{s.AdminToken, "POST", "/v1/admin/roles", fmt.Sprintf(`{"name": "%s-role"}`, u.name), 201, 1, "role_created"},
		{s.AdminToken, "POST", "/v1/admin/nodes", fmt.Sprintf(`{"id": "%s-made", "role": "%s-role"}`, u.name, u.name), 201, 1, "node_created"},
		{s.AdminToken, "POST", "/v1/admin/nodes/{made}/leave", `{"reason": "test"}`, 200, 1, "node_left"},
		{s.AdminToken, "POST", "/v1/admin/node-pools", fmt.Sprintf(`{"id": "%s-pool"}`, u.name), 201, 1, "pool_created"},
		{s.AdminToken, "PUT", "/v1/admin/node-pools/{made}?dryRun=true", `{"state": "draining"}`, 200, 0, ""},
		{s.AdminToken, "PUT", "/v1/admin/node-pools/{made}", `{"state": "draining"}`, 200, 1, "pool_changed"},
		{s.AdminToken, "PUT", "/v1/admin/node-pools/{made}", `{"state": "draining"}`, 200, 0, ""},
		{s.AdminToken, "PUT", "/v1/admin/app-pool-bindings/" + u.app, binding(u.name + "-pool"), 200, 1, "binding_set"},
		{s.AdminToken, "DELETE", "/v1/admin/node-pools/{made}", "", 409, 0, ""},
		{s.AdminToken, "PUT", "/v1/admin/app-pool-bindings/" + u.app, binding("unassigned"), 422, 0, ""},
		{s.AdminToken, "PUT", "/v1/admin/app-pool-bindings/" + u.app, binding(), 200, 1, "binding_deleted"},
		{s.AdminToken, "DELETE", "/v1/admin/node-pools/{made}", "", 204, 1, "pool_deleted"},
		{s.AdminToken, "GET", "/v1/admin/audit/isolation?since=1h", "", 200, 0, ""},
		{s.AdminToken, "POST", "/v1/admin/nodes/" + n.Name + "/revoke", `{"reason": "test"}`, 200, 1, "node_revoked"},
		{s.AdminToken, "GET", "/v1/admin/users", "", 200, 0, ""},
		{s.AdminToken, "GET", "/v1/admin/audit/verify", "", 200, 0, ""},
	}
	for _, c := range calls {
		path := replaceMade(c.path, made.ID)
		a := ask(t, s, c.token, c.method, path, c.body)
		if a.Status != c.status {
			t.Fatalf("%s %s: %d %s, want %d", c.method, path, a.Status, a.Body, c.status)
		}
		if left := entriesOf(t, s, a); left != c.entries {
			t.Errorf("%s %s (%d) left %d entries, want %d", c.method, path, a.Status, left, c.entries)
		}
		if c.action != "" {
			action := query[string](t, s, `SELECT action FROM audit_entries WHERE request_id = $1`, a.Header.Get("X-Request-Id"))
			if action != c.action {
				t.Errorf("%s %s is audited as %s, want %s", c.method, path, action, c.action)
			}
		}
		if a.Status == 201 {
			_ = json.Unmarshal([]byte(a.Body), &made)
		}
	}

	ran := s.Run(t, s.AdminToken, "audit", "verify", "-o", "json")
	var verified backendtest.AuditVerified
	if err := json.Unmarshal([]byte(ran.Out), &verified); ran.Code != 0 || err != nil || !verified.OK || verified.BadSeq != nil {
		t.Errorf("audit verify ended %d: %s%s", ran.Code, ran.Out, ran.Err)
	}
}

// binding is a request that binds an app's work to the pools.
func binding(pools ...string) string {
	list, _ := json.Marshal(append([]string{}, pools...)) // strings marshal
	return fmt.Sprintf(`{"role": "", "pools": %s, "allowFallbackToDefault": false}`, list)
}

func TestAuditEntriesAreTheOwnersOnly(t *testing.T) {
	t.Parallel()
	s := server(t)
	u := newTenant(t, s)
	ask(t, s, u.token, "GET", "/v1/admin/audit", "").refused(t, "a user reads the audit", 403, "forbidden")
	db := connect(t, serverRoleURL(s))
	defer db.Close(t.Context())
	for _, sql := range []string{
		`UPDATE audit_entries SET reason = 'nothing happened'`, `DELETE FROM audit_entries`, `TRUNCATE audit_entries`,
		`INSERT INTO audit_entries SELECT * FROM audit_entries LIMIT 1`, `UPDATE audit_head SET seq = 0`,
		`ALTER TABLE audit_entries DISABLE TRIGGER ALL`, `DROP TABLE audit_entries`, `SET ROLE rockpool_admin`,
	} {
		if _, err := db.Exec(t.Context(), sql); err == nil {
			t.Errorf("the server's role may %s", sql)
		}
	}
	// Its owner is refused as well, by the trigger.
	owner := connect(t, s.DatabaseURL())
	defer owner.Close(t.Context())
	if _, err := owner.Exec(t.Context(), `DELETE FROM audit_entries WHERE seq = 1`); err == nil {
		t.Error("the owner deleted an entry")
	}
}

func replaceMade(path, id string) string { return strings.ReplaceAll(path, "{made}", id) }

// serverRoleURL reaches the private PostgreSQL as the server does.
func serverRoleURL(s *rig.Server) string {
	return strings.Replace(s.DatabaseURL(), "user=rockpool_admin", "user=rockpool_server", 1)
}
