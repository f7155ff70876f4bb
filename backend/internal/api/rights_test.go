package api

import (
	"net/http"
	"strings"
	"testing"

	"rockpool/backend/internal/rest"
)

// Nobody but a superadmin names a pool for work, and the answer is the same
// whether that pool is there, is somebody else's or can't be a name at all.
func TestCase_A8_WorkNamesNoPool(t *testing.T) {
	w := newWorld(t)
	for _, pool := range []string{"pool-7", "pool-8", "canary-1", "no-such-pool", "default", "Not A Name"} {
		job := `{"app":"app-7","runner":"checksum","pool":"` + pool + `"}`
		for path, body := range map[string]string{"/v1/jobs": job, "/v1/jobs/batch": `{"jobs":[` + job + `]}`} {
			rec := w.asUser(ann, http.MethodPost, path, body)
			p := read[rest.Problem](t, rec)
			detail := p.Detail
			if len(p.Items) == 1 {
				detail = p.Items[0].Detail
			}
			if rec.Code != 403 || p.Code != "pool_not_allowed" || detail != "work does not name its pool: its app's binding or owner says it" {
				t.Errorf("pool %q at %s: %d %s", pool, path, rec.Code, rec.Body)
			}
		}
	}
	if len(w.submits) != 0 {
		t.Errorf("%d submits reached the loop", len(w.submits))
	}
}

func TestCanary_IsForANamedPool(t *testing.T) {
	w := newWorld(t)
	for pool, want := range map[string]int{"canary-1": 201, "pool-8": 422, "default": 422, "no-such-pool": 422, "Not A Name": 400} {
		rec := w.asUser(root, http.MethodPost, "/v1/jobs", `{"app":"app-7","runner":"checksum","pool":"`+pool+`"}`)
		if rec.Code != want {
			t.Errorf("pool %q: %d %s", pool, rec.Code, rec.Body)
		}
	}
	if len(w.submits) != 1 || w.submits[0][0].Spec.Pool != "canary-1" {
		t.Errorf("submitted: %+v", w.submits)
	}
}

// A role for a pool shows that pool, its nodes and its queue, and nothing else.
func TestCase_A8_ARoleForAPoolShowsThatPoolAlone(t *testing.T) {
	w := newWorld(t)
	for _, who := range []int64{vega, otto} {
		nodes := read[rest.List[rest.Node]](t, w.asUser(who, http.MethodGet, "/v1/nodes", "")).Items
		if len(nodes) != 1 || nodes[0].ID != "node-7" {
			t.Errorf("%d sees the nodes %+v", who, nodes)
		}
		pools := read[rest.List[rest.Pool]](t, w.asUser(who, http.MethodGet, "/v1/pools", "")).Items
		if len(pools) != 1 || pools[0].ID != "pool-7" {
			t.Errorf("%d sees the pools %+v", who, pools)
		}
		jobs := read[rest.List[rest.Job]](t, w.asUser(who, http.MethodGet, "/v1/jobs", "")).Items
		if len(jobs) != 1 || jobs[0].ID != jobIDOf(ann).String() {
			t.Errorf("%d sees the jobs %+v", who, jobs)
		}
	}
}

// The operator of a pool has power over a node only while it is there: a move away
// between the look and the change wins.
func TestOperatorOfAPool_LosesTheNodeThatMovesAway(t *testing.T) {
	w := newWorld(t)
	w.beforeCordon = func() {
		n := w.nodes["node-7"]
		n.Pool, n.Version = "pool-8", n.Version+1
	}
	rec := w.asUser(otto, http.MethodPost, "/v1/admin/nodes/node-7/cordon", "")
	if rec.Code != 404 || len(w.nodes["node-7"].Holds) != 0 {
		t.Errorf("%d %s; the node has %v", rec.Code, rec.Body, w.nodes["node-7"].Holds)
	}
}

func TestGrants(t *testing.T) {
	w := newWorld(t)
	const path = "/v1/admin/users/4/roles"
	set := func(body string) (int, rest.User, string) {
		rec := w.asUser(root, http.MethodPut, path, body)
		if rec.Code != 200 {
			return rec.Code, rest.User{}, rec.Body.String()
		}
		return rec.Code, read[rest.User](t, rec), ""
	}
	code, user, _ := set(`{"roles":["user"]}`)
	if code != 200 || len(user.Grants) != 1 || user.Grants[0] != (rest.Grant{Role: "viewer", Pool: "pool-7"}) {
		t.Errorf("a request without grants: %d %+v", code, user)
	}
	code, user, _ = set(`{"roles":[],"grants":[{"role":"operator","pool":"pool-8"},{"role":"viewer","pool":"pool-8"}]}`)
	if code != 200 || len(user.Grants) != 2 || len(user.Roles) != 0 {
		t.Errorf("grants alone: %d %+v", code, user)
	}
	if code, user, _ = set(`{"roles":["user"],"grants":[]}`); code != 200 || len(user.Grants) != 0 {
		t.Errorf("no grants any more: %d %+v", code, user)
	}
	for body, want := range map[string]string{
		`{"roles":[],"grants":[]}`: "roles is missing or empty",
		`{"roles":["user"],"grants":[{"role":"superadmin","pool":"pool-8"}]}`:                               "grants[0].role must be one of operator, viewer",
		`{"roles":["user"],"grants":[{"role":"viewer","pool":"pool-99"}]}`:                                  "there is no pool pool-99",
		`{"roles":["user"],"grants":[{"role":"viewer","pool":"*"}]}`:                                        "pool is missing or no name",
		`{"roles":["user"],"grants":[{"role":"viewer","pool":"pool-8"},{"role":"viewer","pool":"pool-8"}]}`: "grants[1] stands there twice",
	} {
		if code, _, text := set(body); code/100 != 4 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", body, code, text)
		}
	}
}
