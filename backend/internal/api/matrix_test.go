package api

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"rockpool/backend/internal/access"
)

// Who asks, in the order of a row's columns: nobody, node-7, the user ann, viewer and
// operator for pool-7, viewer and operator for the fleet, superadmin.
var askers = []string{"", "node", "7", "4", "5", "3", "2", "1"}

// right is what one route answers to every asker: for an object of ann's, in pool-7,
// and for one of bob's, in pool-8. A body may name {owner}.
type right struct {
	body string
	want string // status for ann's object / for bob's, one pair per asker
}

// rights has a row for every route. Columns: see askers. A role for pool-7 shows
// ann's objects and none of bob's.
var rights = map[string]right{
	"POST /v1/jobs":             {`{"app":"app-{owner}","runner":"checksum"}`, "401/401 403/403 201/404 403/403 403/403 403/403 403/403 201/201"},
	"POST /v1/jobs/batch":       {`{"jobs":[{"app":"app-{owner}","runner":"checksum"}]}`, "401/401 403/403 200/404 403/403 403/403 403/403 403/403 200/200"},
	"GET /v1/jobs":              {"", "401/401 403/403 200/200 200/200 200/200 200/200 200/200 200/200"},
	"GET /v1/jobs/:id":          {"", "401/401 403/403 200/404 200/404 200/404 200/200 200/200 200/200"},
	"POST /v1/jobs/:id/cancel":  {"", "401/401 403/403 200/404 403/403 403/403 403/403 403/403 200/200"},
	"POST /v1/jobs/cancel":      {`{"ids":["{job}"]}`, "401/401 403/403 200/200 403/403 403/403 403/403 403/403 200/200"}, // not_found stands in the answer
	"POST /v1/jobs/:id/retry":   {"", "401/401 403/403 409/404 403/403 403/403 403/403 403/403 409/409"},                  // it has not ended
	"POST /v1/jobs/:id/resolve": {`{"action":"fail"}`, "401/401 403/403 409/404 403/403 403/403 403/403 403/403 409/409"}, // it is not held
	"GET /v1/jobs/:id/decision": {"", "401/401 403/403 200/404 200/404 200/404 200/200 200/200 200/200"},
	"GET /v1/jobs/:id/explain":  {"", "401/401 403/403 200/404 200/404 200/404 200/200 200/200 200/200"},
	"GET /v1/jobs/:id/attempts": {"", "401/401 403/403 200/404 200/404 200/404 200/200 200/200 200/200"},
	"GET /v1/jobs/:id/log":      {"", "401/401 403/403 200/404 200/404 200/404 200/200 200/200 200/200"},

	"POST /v1/placements":           {`{"app":"app-{owner}","role":"edge","key":"new"}`, "401/401 403/403 201/404 403/403 403/403 403/403 403/403 201/201"},
	"GET /v1/placements":            {"", "401/401 403/403 200/200 200/200 200/200 200/200 200/200 200/200"},
	"GET /v1/placements/:id":        {"", "401/401 403/403 200/404 200/404 200/404 200/200 200/200 200/200"},
	"POST /v1/placements/:id/renew": {"", "401/401 403/403 200/404 403/403 403/403 403/403 403/403 200/200"},
	"DELETE /v1/placements/:id":     {"", "401/401 403/403 200/404 403/403 403/403 403/403 403/403 200/200"},

	"GET /v1/nodes":                     {"", "401/401 403/403 200/200 200/200 200/200 200/200 200/200 200/200"},
	"GET /v1/nodes/:id":                 {"", "401/401 403/403 200/404 200/404 200/404 200/200 200/200 200/200"},
	"GET /v1/nodes/:id/history":         {"", "401/401 403/403 200/404 200/404 200/404 200/200 200/200 200/200"},
	"PUT /v1/admin/nodes/:id/pool":      {`{"pool":"unassigned"}`, "401/401 403/403 403/403 403/403 403/403 403/403 403/403 200/200"},
	"POST /v1/admin/nodes/:id/cordon":   {`{"reason":"new disk"}`, "401/401 403/403 403/403 403/403 200/404 403/403 200/200 200/200"},
	"POST /v1/admin/nodes/:id/uncordon": {"", "401/401 403/403 403/403 403/403 200/404 403/403 200/200 200/200"},
	"POST /v1/admin/nodes/:id/revoke":   {`{"reason":"stolen"}`, "401/401 403/403 403/403 403/403 403/403 403/403 403/403 200/200"},
	"GET /v1/pools":                     {"", "401/401 403/403 200/200 200/200 200/200 200/200 200/200 200/200"},
	"GET /v1/pools/:id":                 {"", "401/401 403/403 200/404 200/404 200/404 200/200 200/200 200/200"},
	"GET /v1/pools/:id/history":         {"", "401/401 403/403 200/404 200/404 200/404 200/200 200/200 200/200"},
	"POST /v1/pools/:id/release":        {`{"reason":"power cut"}`, "401/401 403/403 403/403 403/403 200/404 403/403 200/200 200/200"},
	"POST /v1/admin/nodes/impact":       {`{"action":"drain","nodes":["node-{owner}"]}`, "401/401 403/403 403/403 403/403 200/404 403/403 200/200 200/200"},

	"POST /v1/admin/nodes":                  {`{"id":"new-{owner}","owner":"{owner}","role":"edge"}`, "401/401 403/403 403/403 403/403 403/403 403/403 403/403 201/201"},
	"POST /v1/admin/nodes/:id/drain":        {`{"deadline":"10m","reason":"new disk"}`, "401/401 403/403 403/403 403/403 200/404 403/403 200/200 200/200"},
	"POST /v1/admin/nodes/:id/rotate":       {`{"reason":"yearly"}`, "401/401 403/403 403/403 403/403 200/404 403/403 200/200 200/200"},
	"POST /v1/admin/nodes/:id/repair":       {`{"keep":"aaaa0001"}`, "401/401 403/403 403/403 403/403 409/404 403/403 409/409 409/409"},                                   // it is not in quarantine
	"PUT /v1/node/secret":                   {`{"id":"r","secret":"` + strings.Repeat("A", 43) + `"}`, "401/401 409/409 403/403 403/403 403/403 403/403 403/403 403/403"}, // no rotation is under way
	"POST /v1/admin/nodes/:id/leave":        {`{"reason":"sold"}`, "401/401 403/403 403/403 403/403 403/403 403/403 403/403 200/200"},
	"GET /v1/admin/alarms":                  {"", "401/401 403/403 403/403 200/200 200/200 200/200 200/200 200/200"},
	"GET /v1/admin/alarms/:id":              {"", "401/401 403/403 403/403 200/404 200/404 200/200 200/200 200/200"},
	"POST /v1/admin/alarms/:id/ack":         {"", "401/401 403/403 403/403 403/403 200/404 403/403 200/200 200/200"},
	"POST /v1/admin/alarms/:id/silence":     {`{"for":"2h","reason":"known"}`, "401/401 403/403 403/403 403/403 200/404 403/403 200/200 200/200"},
	"GET /v1/admin/node-pools":              {"", "401/401 403/403 403/403 200/200 200/200 200/200 200/200 200/200"},
	"POST /v1/admin/node-pools":             {`{"id":"gpu-big","thresholds":{"queueWait":"5m","freeSlots":1,"notReadyPct":20}}`, "401/401 403/403 403/403 403/403 403/403 403/403 403/403 201/201"},
	"GET /v1/admin/node-pools/:id":          {"", "401/401 403/403 403/403 200/404 200/404 200/200 200/200 200/200"},
	"PUT /v1/admin/node-pools/:id":          {`{"state":"draining"}`, "401/401 403/403 403/403 403/403 403/403 403/403 403/403 200/200"},
	"DELETE /v1/admin/node-pools/:id":       {"", "401/401 403/403 403/403 403/403 403/403 403/403 403/403 409/409"},                                    // a user's own
	"POST /v1/admin/node-pools/:id/promote": {`{"to":"pool-1","checks":{"jobs":0}}`, "401/401 403/403 403/403 403/403 403/403 403/403 403/403 422/422"}, // no canary pool
	"GET /v1/admin/app-pool-bindings":       {"", "401/401 403/403 403/403 200/200 200/200 200/200 200/200 200/200"},
	"GET /v1/admin/app-pool-bindings/:id":   {"", "401/401 403/403 403/403 200/404 200/404 200/200 200/200 200/200"},
	"PUT /v1/admin/app-pool-bindings/:id":   {`{"role":"","pools":["canary-1"],"allowFallbackToDefault":false}`, "401/401 403/403 403/403 403/403 403/403 403/403 403/403 200/200"},
	"GET /v1/admin/roles":                   {"", "401/401 403/403 403/403 200/200 200/200 200/200 200/200 200/200"},
	"POST /v1/admin/roles":                  {`{"name":"caption"}`, "401/401 403/403 403/403 403/403 403/403 403/403 403/403 201/201"},
	"GET /v1/admin/alignment":               {"", "401/401 403/403 403/403 200/200 200/200 200/200 200/200 200/200"},

	"GET /v1/apps":                       {"", "401/401 403/403 200/200 200/200 200/200 200/200 200/200 200/200"},
	"GET /v1/apps/:id":                   {"", "401/401 403/403 200/404 200/404 200/404 200/200 200/200 200/200"},
	"GET /v1/apps/:id/candidates":        {"", "401/401 403/403 200/404 200/404 200/404 200/200 200/200 200/200"},
	"POST /v1/admin/apps":                {`{"id":"new-{owner}","owner":"{owner}"}`, "401/401 403/403 403/403 403/403 403/403 403/403 403/403 201/201"},
	"PUT /v1/admin/apps/:id/share":       {`{"weight":200,"maxOpenJobs":0,"maxPlacements":10,"maxSlots":0}`, "401/401 403/403 403/403 403/403 403/403 403/403 403/403 200/200"},
	"GET /v1/usage":                      {"", "401/401 403/403 200/200 200/200 200/200 200/200 200/200 200/200"},
	"GET /v1/licenses":                   {"", "401/401 403/403 200/200 403/403 403/403 403/403 403/403 200/200"},
	"GET /v1/licenses/:id":               {"", "401/401 403/403 200/404 403/403 403/403 403/403 403/403 200/200"},
	"POST /v1/admin/licenses":            {`{"user":"{owner}"}`, "401/401 403/403 403/403 403/403 403/403 403/403 403/403 201/201"},
	"POST /v1/admin/licenses/:id/revoke": {"", "401/401 403/403 403/403 403/403 403/403 403/403 403/403 200/200"},
	"GET /v1/admin/users":                {"", "401/401 403/403 403/403 403/403 403/403 403/403 403/403 200/200"},
	"GET /v1/admin/users/:id":            {"", "401/401 403/403 403/403 403/403 403/403 403/403 403/403 200/200"},
	"POST /v1/admin/users":               {`{"name":"carol"}`, "401/401 403/403 403/403 403/403 403/403 403/403 403/403 201/201"},
	"PUT /v1/admin/users/:id/roles":      {`{"roles":["superadmin"]}`, "401/401 403/403 403/403 403/403 403/403 403/403 403/403 200/200"},
	"PUT /v1/admin/users/:id/password":   {`{"password":"correct horse battery"}`, "401/401 403/403 403/403 403/403 403/403 403/403 403/403 204/204"},
	"POST /v1/session":                   {`{"name":"{owner}","password":"password of {owner}"}`, "200/200 200/200 200/200 200/200 200/200 200/200 200/200 200/200"},
	"GET /v1/session":                    {"", "401/401 403/403 200/200 200/200 200/200 200/200 200/200 200/200"},
	"DELETE /v1/session":                 {"", "401/401 403/403 409/409 409/409 409/409 409/409 409/409 409/409"}, // by token
	"PUT /v1/session/password":           {`{"current":"password of {self}","password":"correct horse battery"}`, "401/401 403/403 204/204 204/204 204/204 204/204 204/204 204/204"},
	"POST /v1/admin/users/:id/tokens":    {`{"name":"first"}`, "401/401 403/403 403/403 403/403 403/403 403/403 403/403 201/201"},
	"GET /v1/tokens":                     {"", "401/401 403/403 200/200 200/200 200/200 200/200 200/200 200/200"},
	"POST /v1/tokens":                    {`{"name":"laptop"}`, "401/401 403/403 201/201 201/201 201/201 201/201 201/201 201/201"},
	"DELETE /v1/tokens/:id":              {"", "401/401 403/403 204/404 404/404 404/404 404/404 404/404 404/404"}, // one's own only
	"POST /v1/setup":                     {`{"setupToken":"{setup}"}`, "201/201 201/201 201/201 201/201 201/201 201/201 201/201 201/201"},

	"POST /v1/artifacts":         {"", "401/401 403/403 201/201 403/403 403/403 403/403 403/403 201/201"},
	"PUT /v1/artifacts/:digest":  {"{content}", "401/401 403/403 201/201 403/403 403/403 403/403 403/403 201/201"},
	"GET /v1/artifacts/:digest":  {"", "401/401 200/404 200/404 403/403 403/403 403/403 403/403 200/200"},
	"HEAD /v1/artifacts/:digest": {"", "401/401 200/404 200/404 403/403 403/403 403/403 403/403 200/200"},
	"HEAD /v1/uploads/:digest":   {"", "401/401 403/403 204/204 403/403 403/403 403/403 403/403 204/204"},
	"PATCH /v1/uploads/:digest":  {"{content}", "401/401 403/403 400/400 403/403 403/403 403/403 403/403 400/400"}, // it says not from where on

	"GET /v1/admin/audit":           {"", "401/401 403/403 403/403 403/403 403/403 403/403 403/403 200/200"},
	"GET /v1/admin/audit/isolation": {"", "401/401 403/403 403/403 403/403 403/403 403/403 403/403 200/200"},
	"GET /v1/admin/audit/verify":    {"", "401/401 403/403 403/403 403/403 403/403 403/403 403/403 200/200"},
	"GET /v1/channel":               {"", "426/426 426/426 426/426 426/426 426/426 426/426 426/426 426/426"}, // its own door
	"GET /v1/openapi.json":          {"", "200/200 200/200 200/200 200/200 200/200 200/200 200/200 200/200"},
	"GET /v1/version":               {"", "200/200 200/200 200/200 200/200 200/200 200/200 200/200 200/200"},
	"GET /livez":                    {"", "200/200 200/200 200/200 200/200 200/200 200/200 200/200 200/200"},
	"GET /readyz":                   {"", "200/200 200/200 200/200 200/200 200/200 200/200 200/200 200/200"},
}

// fill puts an owner's objects into a path or a body.
func (w *world) fill(r *Route, text string, owner int64) string {
	id := map[string]string{
		"job": jobIDOf(owner).String(), "placement": jobIDOf(owner).String(), "node": "node-" + userText(owner), "pool": "pool-" + userText(owner),
		"node-pool": "pool-" + userText(owner), "binding": "app-" + userText(owner), "alarm": userText(owner),
		"app": "app-" + userText(owner), "license": "license-" + userText(owner), "token": "token-" + userText(owner),
	}[r.Object]
	if id == "" {
		id = userText(owner)
	}
	return strings.NewReplacer(
		":id", id, ":digest", string(digestOf(owner)), "{owner}", userText(owner), "{job}", jobIDOf(owner).String(), "{setup}", w.setup.Text, "{content}", contentOf(owner),
	).Replace(text)
}

// TestAttack_A61_EveryRouteEveryRoleEveryOwnerEveryPool also holds every answer against
// the OpenAPI document.
func TestAttack_A61_EveryRouteEveryRoleEveryOwnerEveryPool(t *testing.T) {
	w := newWorld(t)
	contract := newContract(t, w.openAPI)
	for _, r := range Routes() {
		name := r.Method + " " + r.Path
		row, ok := rights[name]
		if !ok {
			t.Errorf("%s has no row: who may do what?", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			for i, pair := range strings.Fields(row.want) {
				for j, want := range strings.Split(pair, "/") {
					w.reset()
					owner := []int64{ann, bob}[j]
					req := request{as: askers[i], method: r.Method, path: w.fill(&r, r.Path, owner), body: strings.ReplaceAll(w.fill(&r, row.body, owner), "{self}", askers[i])}
					rec := w.do(&req)
					if got := fmt.Sprint(rec.Code); got != want {
						t.Errorf("asked by %q for %d's: %s, want %s: %s", askers[i], owner, got, want, rec.Body)
					}
					contract.check(t, &req, rec)
				}
			}
		})
	}
	if len(rights) != len(Routes()) {
		t.Errorf("%d rows for %d routes: a row is for no route", len(rights), len(Routes()))
	}
}

func TestPolicy_EveryRouteHasARule(t *testing.T) {
	policy, err := access.NewPolicy(nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []access.Grant
	for _, subject := range []string{access.SubjectAnonymous, access.SubjectNode, "role:user", "role:viewer", "role:operator", "role:superadmin"} {
		all = append(all, access.Grant{Subject: subject, Pool: access.EveryPool})
	}
	for _, r := range Routes() {
		if policy.Decide(all, r.Object, r.Action).None() {
			t.Errorf("%s %s: no rule lets anybody %s a %s", r.Method, r.Path, r.Action, r.Object)
		}
	}
}

type request struct{ as, method, path, body string }

func (w *world) do(r *request) *httptest.ResponseRecorder {
	return w.ask(r.as, r.method, r.path, r.body)
}

// contract checks answers against the document that is served.
type contract struct{ router routers.Router }

func newContract(t testing.TB, document func() ([]byte, error)) *contract {
	t.Helper()
	content, err := document()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(content)
	if err != nil {
		t.Fatal(err)
	}
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return &contract{router: router}
}

func (c *contract) check(t testing.TB, asked *request, rec *httptest.ResponseRecorder) {
	t.Helper()
	r := httptest.NewRequest(asked.method, asked.path, strings.NewReader(asked.body))
	if asked.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	route, params, err := c.router.FindRoute(r)
	if err != nil {
		t.Errorf("%s %s is not in the document: %v", asked.method, asked.path, err)
		return
	}
	in := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, Route: route,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}
	if asked.method != http.MethodHead && !strings.Contains(asked.path, "artifacts") && !strings.Contains(asked.path, "uploads") {
		if err := openapi3filter.ValidateRequest(r.Context(), in); err != nil {
			t.Errorf("%s %s: the document does not know this request: %v", asked.method, asked.path, err)
		}
	}
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: rec.Code, Header: rec.Header(), Options: in.Options}
	out.Body = io.NopCloser(bytes.NewReader(rec.Body.Bytes()))
	if asked.method == http.MethodHead {
		return // no body to check
	}
	if err := openapi3filter.ValidateResponse(r.Context(), out); err != nil {
		t.Errorf("%s %s answers %d, and the document says otherwise: %v\n%s", asked.method, asked.path, rec.Code, err, rec.Body)
	}
}
