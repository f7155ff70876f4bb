package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"rockpool/backend/backendtest"
	"rockpool/shared/wire"
	"rockpool/tests/rig"
)

// belongings are one thing of each kind of a user's.
type belongings struct {
	*tenant
	node   *rig.RawNode
	job    backendtest.Job // runs on node
	digest string          // of an artifact
	second backendtest.NewToken
	placed backendtest.Placement // on node
}

func newBelongings(t *testing.T) *belongings {
	t.Helper()
	b := &belongings{tenant: newTenant(t, server(t))}
	b.node = b.tenant.node("1", rig.RawOptions{})
	b.job = b.submit()
	b.node.Take(t)
	content := "what belongs to user " + b.id
	sum := sha256.Sum256([]byte(content))
	b.digest = "sha256:" + hex.EncodeToString(sum[:])
	if _, err := b.client.PutArtifact(t.Context(), b.digest, int64(len(content)), strings.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.placed, err = b.client.Place(t.Context(), backendtest.PlacementRequest{App: b.app, Role: "worker"}, ""); err != nil {
		t.Fatal(err)
	}
	if b.second, err = b.client.CreateToken(t.Context(), "", backendtest.TokenRequest{Name: "second"}); err != nil {
		t.Fatal(err)
	}
	return b
}

// routes with a thing of the owner's in their path.
func (b *belongings) routes() map[string]string {
	job, placed := "/v1/jobs/"+b.job.ID, "/v1/placements/"+b.placed.ID
	return map[string]string{
		"POST /v1/jobs/{id}/retry": job + "/retry", "POST /v1/jobs/{id}/resolve": job + "/resolve",
		"GET /v1/placements/{id}": placed, "POST /v1/placements/{id}/renew": placed + "/renew", "DELETE /v1/placements/{id}": placed,
		"GET /v1/jobs/{id}": job, "POST /v1/jobs/{id}/cancel": job + "/cancel", "GET /v1/jobs/{id}/decision": job + "/decision",
		"GET /v1/jobs/{id}/explain": job + "/explain", "GET /v1/jobs/{id}/attempts": job + "/attempts", "GET /v1/jobs/{id}/log": job + "/log",
		"GET /v1/nodes/{id}": "/v1/nodes/" + b.node.Name, "GET /v1/nodes/{id}/history": "/v1/nodes/" + b.node.Name + "/history",
		"GET /v1/pools/{id}":         "/v1/pools/" + b.pool(),
		"GET /v1/pools/{id}/history": "/v1/pools/" + b.pool() + "/history", "GET /v1/apps/{id}/candidates": "/v1/apps/" + b.app + "/candidates",
		"GET /v1/apps/{id}": "/v1/apps/" + b.app, "GET /v1/licenses/{id}": "/v1/licenses/" + b.license.ID,
		"DELETE /v1/tokens/{id}":     "/v1/tokens/" + b.second.ID,
		"GET /v1/artifacts/{digest}": "/v1/artifacts/" + b.digest, "HEAD /v1/artifacts/{digest}": "/v1/artifacts/" + b.digest,
	}
}

// bodyOf is what a route with a thing in its path needs.
func bodyOf(route string) string {
	if strings.HasSuffix(route, "/resolve") {
		return `{"action": "fail"}`
	}
	return ""
}

func TestAttack_A61_AnotherUsersThingsAreNotThere(t *testing.T) {
	t.Parallel()
	alice, bob := newBelongings(t), newBelongings(t)
	missing := "/v1/jobs/01990000-0000-7000-8000-000000000000"
	like := ask(t, bob.s, bob.token, "GET", missing, "")
	for route, path := range alice.routes() {
		method, _, _ := strings.Cut(route, " ")
		a := ask(t, bob.s, bob.token, method, path, bodyOf(route))
		if a.Status != 404 {
			t.Errorf("bob: %s answered %d %s", route, a.Status, a.Body)
		}
		if method != "HEAD" && (a.Problem.Code != "not_found" || a.Problem.Title != like.Problem.Title) {
			t.Errorf("bob: %s is told apart from what is not there: %s", route, a.Body)
		}
	}
	for route := range alice.routes() {
		if path := bob.routes()[route]; !strings.HasPrefix(route, "DELETE") && !strings.HasSuffix(route, "/cancel") {
			method, _, _ := strings.Cut(route, " ")
			want := 200
			if strings.HasSuffix(route, "/retry") || strings.HasSuffix(route, "/resolve") {
				want = 409 // it runs
			}
			if a := ask(t, bob.s, bob.token, method, path, bodyOf(route)); a.Status != want {
				t.Errorf("bob's own: %s answered %d %s", route, a.Status, a.Body)
			}
		}
	}
	for _, list := range []string{"jobs", "placements", "nodes", "pools", "apps", "licenses", "tokens"} {
		a := ask(t, bob.s, bob.token, "GET", "/v1/"+list+"?pageSize=200", "")
		for _, secret := range []string{alice.job.ID, alice.node.Name, alice.pool() + `"`, alice.app, alice.license.ID, alice.second.ID, alice.placed.ID} {
			if strings.Contains(a.Body, secret) {
				t.Errorf("the list of %s shows bob %s", list, secret)
			}
		}
	}
	if a := ask(t, bob.s, bob.token, "GET", "/v1/usage", ""); a.Status != 200 || strings.Contains(a.Body, alice.app) {
		t.Errorf("the usage shows bob %s", a.Body)
	}
	for _, pool := range []string{alice.pool(), "pool-nobodys"} { // an operator's: no user learns which pools there are
		ask(t, bob.s, bob.token, "POST", "/v1/pools/"+pool+"/release", `{"reason": "r"}`).refused(t, "the release of "+pool, 403, "forbidden")
	}
	alice.untouched(bob)
}

// untouched checks that nothing was done to alice's, also by naming it in bodies.
func (b *belongings) untouched(bob *belongings) {
	t := b.t
	t.Helper()
	ask(t, b.s, bob.token, "POST", "/v1/jobs", fmt.Sprintf(`{"app": %q, "runner": "noop"}`, b.app)).refused(t, "a job for another user's app", 404, "not_found")
	ask(t, b.s, bob.token, "GET", "/v1/jobs?app="+b.app, "").emptyList(t)
	ask(t, b.s, bob.token, "GET", "/v1/jobs?node="+b.node.Name, "").emptyList(t)
	input := fmt.Sprintf(`{"app": %q, "runner": "noop", "inputs": {"file": %q}}`, bob.app, b.digest)
	ask(t, b.s, bob.token, "POST", "/v1/jobs", input).refused(t, "another user's artifact as an input", 422, "unprocessable")
	if now := b.tenant.job(b.job.ID); now.State != "running" {
		t.Errorf("alice's job is %s", inWords(now))
	}
	if a := ask(t, b.s, b.second.Secret, "GET", "/v1/tokens", ""); a.Status != 200 {
		t.Errorf("alice's second token answers %d", a.Status)
	}
	selection := fmt.Sprintf(`{"ids": [%q]}`, b.job.ID)
	if a := ask(t, b.s, bob.token, "POST", "/v1/jobs/cancel", selection); a.Status != 200 || !strings.Contains(a.Body, "not_found") {
		t.Errorf("a cancel of another user's job answers %d %s", a.Status, a.Body)
	}
	if placed, err := b.client.Placement(t.Context(), b.placed.ID); err != nil || placed.State != "active" {
		t.Errorf("alice's placement is %+v, %v", placed, err)
	}
	// The node's secret is for its own jobs' inputs only.
	ask(t, b.s, bob.node.Secret, "GET", "/v1/artifacts/"+b.digest, "").refused(t, "another user's artifact for a node", 404, "not_found")
	if verdict := b.node.Report(t, wire.Result{Job: b.job.ID, Attempt: 1, Status: wire.ResultSucceeded}); verdict != wire.VerdictStored {
		t.Errorf("alice's result is %s", verdict)
	}
}

func (a answer) emptyList(t testing.TB) {
	t.Helper()
	var list struct{ Items []json.RawMessage }
	if a.read(t, &list); a.Status != 200 || len(list.Items) != 0 {
		t.Errorf("answered %d %s, want an empty list", a.Status, a.Body)
	}
}

// TestAttack_A61_EveryRouteWithAnIDIsTried fails for a new route that the test
// above does not know.
func TestAttack_A61_EveryRouteWithAnIDIsTried(t *testing.T) {
	t.Parallel()
	b := &belongings{tenant: &tenant{}, node: rig.NewRawNode(&rig.Server{}, rig.RawOptions{})}
	for path, item := range document(t, server(t)).Paths.Map() {
		if !strings.Contains(path, "{") || strings.HasPrefix(path, "/v1/admin/") {
			continue // those below admin are a superadmin's: 403 for everybody else
		}
		for method := range item.Operations() {
			// An upload is its sender's own, whatever digest it names.
			elsewhere := []string{"PUT /v1/artifacts/{digest}", "HEAD /v1/uploads/{digest}", "PATCH /v1/uploads/{digest}", "POST /v1/pools/{id}/release"}
			if _, tried := b.routes()[method+" "+path]; !tried && !slices.Contains(elsewhere, method+" "+path) {
				t.Errorf("%s %s is not tried on another user's", method, path)
			}
		}
	}
}

func TestAttack_A62_KeysThatAreNotTheClientsToSet(t *testing.T) {
	t.Parallel()
	s := server(t)
	u := newTenant(t, s)
	n := u.node("1", rig.RawOptions{})
	for _, c := range []struct {
		method, path, document string
		keys                   []string
	}{
		{"POST", "/v1/jobs", fmt.Sprintf(`"app": %q, "runner": "noop"`, u.app),
			[]string{"poolId", "pool_id", "ownerId", "owner", "attempt", "state", "node", "id", "App", "counted", "submitter"}},
		{"POST", "/v1/admin/users", `"name": "mass"`, []string{"id", "disabled", "role", "Roles", "isAdmin"}},
		{"POST", "/v1/admin/apps", `"id": "mass"`, []string{"ownerId", "version", "pools", "createdAt"}},
		{"POST", "/v1/admin/licenses", fmt.Sprintf(`"user": %q`, u.id), []string{"pool", "used", "licenseCode", "revokedAt"}},
		{"POST", "/v1/tokens", `"name": "mass"`, []string{"user", "userId", "token", "id"}},
		{"POST", "/v1/admin/nodes", `"id": "mass", "role": "worker"`, []string{"pool", "secret", "license", "capacity"}},
		{"POST", "/v1/admin/node-pools", `"id": "mass"`, []string{"kind", "state", "canary", "version"}},
		{"PUT", "/v1/admin/app-pool-bindings/" + u.app, `"role": "", "pools": [], "allowFallbackToDefault": false`, []string{"app", "owner", "rule", "version"}},
		{"PUT", "/v1/admin/nodes/" + n.Name + "/pool", `"pool": "unassigned"`, []string{"poolId", "owner", "role", "version"}},
		{"POST", "/v1/setup", `"setupToken": "x"`, []string{"roles", "token"}},
	} {
		token := s.AdminToken
		if strings.HasPrefix(c.path, "/v1/jobs") {
			token = u.token
		}
		for _, key := range c.keys {
			body := fmt.Sprintf(`{%s, %q: "x"}`, c.document, key)
			a := ask(t, s, token, c.method, c.path, body)
			a.refused(t, c.path+" with "+key, 400, "bad_request")
			if !strings.Contains(a.Problem.Detail, key) {
				t.Errorf("%s: %q does not name %s", c.path, a.Problem.Detail, key)
			}
		}
	}
	batch := ask(t, s, u.token, "POST", "/v1/jobs/batch", fmt.Sprintf(`{"jobs": [{"app": %q, "runner": "noop", "poolId": "default", "state": "running"}]}`, u.app))
	batch.refused(t, "a batch", 400, "bad_request")
	for _, key := range []string{"poolId", "state"} {
		if !strings.Contains(batch.Body, key) {
			t.Errorf("%s does not name %s", batch.Body, key)
		}
	}
	if jobs := query[int](t, s, `SELECT count(*) FROM jobs WHERE app_id = $1`, u.app); jobs != 0 {
		t.Errorf("%d jobs were taken", jobs)
	}
	if pool := query[string](t, s, `SELECT pool_id FROM nodes WHERE id = $1`, n.Name); pool != u.pool() {
		t.Errorf("the node stands in %s", pool)
	}
}

func TestAttack_A69_TextThatCannotBeKept(t *testing.T) {
	t.Parallel()
	s := server(t)
	u := newTenant(t, s)
	n := u.node("1", rig.RawOptions{})
	texts := map[string]string{
		"NUL": `a\u0000b`, "lone high surrogate": `a\ud800b`, "lone low surrogate": `a\udc00b`, "surrogates swapped": `\udc00\ud800`,
		"invalid UTF-8": "a\xffb", "overlong": "a\xc0\x80b", "surrogate in UTF-8": "a\xed\xa0\x80b", "raw NUL": "a\x00b",
	}
	for _, c := range []struct{ token, method, path, document string }{
		{u.token, "POST", "/v1/jobs", fmt.Sprintf(`{"app": %q, "runner": "noop", "labels": [["name", "TEXT"]]}`, u.app)},
		{u.token, "POST", "/v1/jobs", fmt.Sprintf(`{"app": %q, "runner": "noop", "params": {"name": "TEXT"}}`, u.app)},
		{u.token, "POST", "/v1/jobs", fmt.Sprintf(`{"app": %q, "runner": "noop", "inputs": {"TEXT": "sha256:x"}}`, u.app)},
		{u.token, "POST", "/v1/jobs", `{"app": "TEXT", "runner": "noop"}`},
		{u.token, "POST", "/v1/jobs", fmt.Sprintf(`{"app": %q, "runner": "noop", "TEXT": 1}`, u.app)},
		{u.token, "POST", "/v1/tokens", `{"name": "TEXT"}`},
		{s.AdminToken, "POST", "/v1/admin/users", `{"name": "TEXT"}`},
		{s.AdminToken, "POST", "/v1/admin/apps", `{"id": "TEXT"}`},
		{s.AdminToken, "PUT", "/v1/admin/nodes/" + n.Name + "/pool", `{"pool": "unassigned", "reason": "TEXT"}`},
		{s.AdminToken, "POST", "/v1/admin/nodes/" + n.Name + "/revoke", `{"reason": "TEXT"}`},
		{"", "POST", "/v1/setup", `{"setupToken": "TEXT"}`},
	} {
		for name, bad := range texts {
			if c.path == "/v1/setup" && name != "NUL" {
				continue // its attempts are counted by address
			}
			a := ask(t, s, c.token, c.method, c.path, strings.Replace(c.document, "TEXT", bad, 1))
			a.refused(t, name+" in "+c.document, 400, "bad_request")
		}
	}
	for _, path := range []string{
		"/v1/jobs?app=%00", "/v1/jobs?app=%ff", "/v1/jobs?state=%ed%a0%80", "/v1/nodes?pool=%00", "/v1/nodes?lease=%c0%80",
		"/v1/jobs?pageToken=%00", "/v1/nodes/%00", "/v1/apps/%ff", "/v1/jobs/%ed%a0%80", "/v1/artifacts/%00", "/v1/licenses/a%00b", "/v1/%00",
	} {
		ask(t, s, s.AdminToken, "GET", path, "").refused(t, path, 400, "bad_request")
	}
	key := ask(t, s, u.token, "POST", "/v1/jobs", fmt.Sprintf(`{"app": %q, "runner": "noop"}`, u.app), "Idempotency-Key", "a\xffb")
	key.refused(t, "invalid UTF-8 in a key", 400, "bad_request")
	if pool := query[string](t, s, `SELECT pool_id FROM nodes WHERE id = $1`, n.Name); pool != u.pool() {
		t.Errorf("the node stands in %s", pool)
	}
	if !slices.Contains([]string{"ready"}, nodeLease(t, u, n.Name)) {
		t.Error("the node was revoked")
	}
}

func nodeLease(t testing.TB, u *tenant, node string) string {
	t.Helper()
	n, err := u.client.Node(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	return n.Lease
}
