package api

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
)

// A dry run says what a change would do, and does nothing.
func TestDryRun_ChangesNothing(t *testing.T) {
	w := newWorld(t)
	contract := newContract(t, w.openAPI)
	for _, c := range []struct {
		name   string
		asked  request
		wanted core.Proposal
	}{
		{"move", request{"1", "PUT", "/v1/admin/nodes/node-7/pool?dryRun=true", `{"pool":"unassigned"}`},
			core.Proposal{Kind: core.ProposeMove, Nodes: []string{"node-7"}, Pool: "unassigned"}},
		{"drain", request{"1", "POST", "/v1/admin/nodes/node-7/drain?dryRun=true", `{"deadline":"1m"}`},
			core.Proposal{Kind: core.ProposeHold, Nodes: []string{"node-7"}}},
		{"pool state", request{"1", "PUT", "/v1/admin/node-pools/pool-7?dryRun=true", `{"state":"disabled"}`},
			core.Proposal{Kind: core.ProposePoolState, Pool: "pool-7", State: fleet.PoolIsClosed}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.reset()
			rec := w.do(&c.asked)
			contract.check(t, &c.asked, rec)
			if rec.Code != 200 || !strings.Contains(rec.Body.String(), `"applied":false`) || !strings.Contains(rec.Body.String(), `"impact":{`) {
				t.Fatalf("%d %s", rec.Code, rec.Body)
			}
			if len(w.proposals) != 1 || w.proposals[0].Kind != c.wanted.Kind || !slices.Equal(w.proposals[0].Nodes, c.wanted.Nodes) ||
				w.proposals[0].Pool != c.wanted.Pool || w.proposals[0].State != c.wanted.State {
				t.Errorf("asked about %+v, want %+v", w.proposals, c.wanted)
			}
			if len(w.actors) != 0 {
				t.Errorf("the store was changed by %v", w.actors)
			}
		})
	}
	for _, target := range []string{"/v1/admin/nodes/node-7/pool?dryRun=yes", "/v1/admin/nodes/node-7/pool?dryrun=true"} {
		if rec := w.asUser(root, "PUT", target, `{"pool":"unassigned"}`); rec.Code != 400 {
			t.Errorf("%s: %d %s", target, rec.Code, rec.Body)
		}
	}
}

func TestDryRun_RefusesWhatTheChangeWould(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		asked   request
		ifMatch string
		want    int
	}{
		{request{"1", "PUT", "/v1/admin/nodes/node-7/pool?dryRun=true", `{"pool":"unassigned"}`}, `"17"`, 200},
		{request{"1", "PUT", "/v1/admin/nodes/node-7/pool?dryRun=true", `{"pool":"unassigned"}`}, `"16"`, 412},
		{request{"1", "PUT", "/v1/admin/nodes/node-7/pool?dryRun=true", `{"pool":"nowhere"}`}, "*", 422},
		{request{"1", "PUT", "/v1/admin/nodes/node-99/pool?dryRun=true", `{"pool":"unassigned"}`}, "*", 404},
		{request{"5", "POST", "/v1/admin/nodes/node-8/drain?dryRun=true", ""}, "*", 404},
		{request{"1", "POST", "/v1/admin/nodes/node-7/drain?dryRun=true", `{"deadline":"-1s"}`}, "*", 400},
		{request{"1", "PUT", "/v1/admin/node-pools/default?dryRun=true", `{"state":"disabled"}`}, "*", 409},
		{request{"1", "PUT", "/v1/admin/node-pools/pool-7?dryRun=true", `{"state":"closed"}`}, "*", 400},
		{request{"1", "PUT", "/v1/admin/node-pools/pool-7?dryRun=true", `{"name":"b"}`}, `"2"`, 412},
		{request{"1", "PUT", "/v1/admin/node-pools/pool-99?dryRun=true", `{"name":"b"}`}, "*", 404},
	} {
		if rec := w.ask(c.asked.as, c.asked.method, c.asked.path, c.asked.body, "If-Match", c.ifMatch); rec.Code != c.want {
			t.Errorf("%+v: %d, want %d: %s", c.asked, rec.Code, c.want, rec.Body)
		}
	}
}

// Who operates one pool hears of that pool and its apps, in a dry run too.
func TestDryRun_ShowsAnOperatorTheirPoolsOnly(t *testing.T) {
	w := newWorld(t)
	got := read[rest.Drained](t, w.asUser(otto, "POST", "/v1/admin/nodes/node-7/drain?dryRun=true", ""))
	if got.Impact == nil || len(got.Impact.Pools) != 1 || got.Impact.Pools[0].Pool != "pool-7" || len(got.Impact.Apps) != 1 || got.Impact.Apps[0].App != "app-7" {
		t.Errorf("impact %+v", got.Impact)
	}
	all := read[rest.Moved](t, w.asUser(root, "PUT", "/v1/admin/nodes/node-7/pool?dryRun=true", `{"pool":"unassigned"}`))
	if len(all.Impact.Apps) != 2 || !slices.Equal(all.AppsExhausted, []string{"app-7", "app-8"}) || all.Running != 1 {
		t.Errorf("a superadmin's: %+v", all)
	}
}

func TestPools_AreChangedAtTheVersionSeen(t *testing.T) {
	w := newWorld(t)
	const path, body = "/v1/admin/node-pools/pool-7", `{"thresholds":{"queueWait":"90s","freeSlots":2,"notReadyPct":100}}`
	if rec := w.asUser(root, "GET", path, ""); rec.Header().Get("ETag") != `"3"` {
		t.Errorf("ETag %q", rec.Header().Get("ETag"))
	}
	if rec := w.asUser(root, "PUT", path, body, "If-Match", `"2"`); rec.Code != 412 {
		t.Errorf("an old version: %d", rec.Code)
	}
	rec := w.asUser(root, "PUT", path, body, "If-Match", `"3"`)
	changed := read[rest.PoolChanged](t, rec)
	if rec.Code != 200 || !changed.Applied || changed.Pool.Thresholds.FreeSlots != 2 || changed.Pool.Name != "pool-7" || rec.Header().Get("ETag") != `"4"` {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	for _, bad := range []string{
		`{"thresholds":{"queueWait":"-1s","freeSlots":0,"notReadyPct":0}}`, `{"thresholds":{"queueWait":"1s","freeSlots":-1,"notReadyPct":0}}`,
		`{"thresholds":{"queueWait":"1s","freeSlots":0,"notReadyPct":101}}`, `{"name":""}`, `{"state":"gone"}`, `{"kind":"named"}`,
	} {
		if rec := w.asUser(root, "PUT", path, bad); rec.Code != 400 {
			t.Errorf("%s: %d %s", bad, rec.Code, rec.Body)
		}
	}
	if rec := w.asUser(root, "DELETE", "/v1/admin/node-pools/canary-1", "", "If-Match", `"3"`); rec.Code != 204 {
		t.Errorf("delete a named pool: %d %s", rec.Code, rec.Body)
	}
}

func TestPool_SaysWhoSharesIt(t *testing.T) {
	app := func(id string, owner int64, fallback bool) core.Resolver {
		return core.Resolver{App: id, Owner: owner, Fallback: fallback}
	}
	for _, c := range []struct {
		resolvers    []core.Resolver
		apps, owners int
		text         string
	}{
		{nil, 0, 0, "no app resolves here"},
		{[]core.Resolver{app("a", 1, false), app("a", 1, false)}, 1, 1, "one app only"},
		{[]core.Resolver{app("a", 1, false), app("b", 1, false)}, 2, 1, "shared by 2 apps of 1 owner"},
		{[]core.Resolver{app("a", 1, false), app("b", 2, false), app("c", 2, true)}, 2, 2, "shared by 2 apps of 2 owners; 1 app more by fallback"},
		{[]core.Resolver{app("a", 1, false), app("a", 1, true)}, 1, 1, "one app only"},
		{[]core.Resolver{app("a", 1, true), app("b", 1, true)}, 0, 0, "no app resolves here; 2 apps more by fallback"},
	} {
		if got := sharingOf(c.resolvers); got.Apps != c.apps || got.Owners != c.owners || got.Text != c.text {
			t.Errorf("%+v: %+v", c.resolvers, got)
		}
	}
}

func TestBindings_AreSetAndTakenAway(t *testing.T) {
	w := newWorld(t)
	const path = "/v1/admin/app-pool-bindings/app-7"
	rec := w.asUser(root, "PUT", path, `{"role":"edge","pools":["canary-1","pool-7"],"allowFallbackToDefault":true}`, "If-Match", `"1"`)
	doc := read[rest.AppBindings](t, rec)
	if rec.Code != 200 || len(doc.Bindings) != 1 || len(doc.Resolutions) != 2 || doc.Version != 2 || rec.Header().Get("ETag") != `"2"` {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	for i, want := range []string{
		"work goes to pool-7, the pool of user 7; nowhere else: 1 node may take it",
		"work of role edge is bound to canary-1, then pool-7; to default when no node there can take it: 1 node may take it",
	} {
		if doc.Resolutions[i].Text != want {
			t.Errorf("resolution %d: %q, want %q", i, doc.Resolutions[i].Text, want)
		}
	}
	if rec := w.asUser(root, "PUT", path, `{"role":"edge","pools":[],"allowFallbackToDefault":false}`); rec.Code != 200 || len(read[rest.AppBindings](t, rec).Bindings) != 0 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	for _, bad := range []string{`{"role":"","allowFallbackToDefault":false}`, `{"role":"A","pools":["pool-7"]}`, `{"role":"","pools":["Pool 7"]}`} {
		if rec := w.asUser(root, "PUT", path, bad); rec.Code != 400 {
			t.Errorf("%s: %d %s", bad, rec.Code, rec.Body)
		}
	}
}

// An app's user gets counts and the one root cause; a superadmin the nodes too.
func TestCase_B2_NodesAreNamedToSuperadminsOnly(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/v1/apps/app-7/candidates?role=worker&runner=checksum&slots=2", "/v1/jobs/" + jobIDOf(ann).String() + "/explain"} {
		for _, who := range []int64{ann, vega, vera, olga} {
			rec := w.asUser(who, "GET", path, "")
			if rec.Code != 200 || strings.Contains(rec.Body.String(), "node-a") || strings.Contains(rec.Body.String(), "node-b") || !strings.Contains(rec.Body.String(), `"nodes":2`) {
				t.Errorf("%s as %d: %d %s", path, who, rec.Code, rec.Body)
			}
		}
		if rec := w.asUser(root, "GET", path, ""); !strings.Contains(rec.Body.String(), "node-a") || !strings.Contains(rec.Body.String(), "node-b") {
			t.Errorf("%s as superadmin: %s", path, rec.Body)
		}
	}
}

func TestCandidates_TakesWhatASubmitTakes(t *testing.T) {
	w := newWorld(t)
	for query, want := range map[string]int{
		"": 200, "?backend=cpu&region=eu": 200, "?role=painter": 422, "?role=Painter": 400, "?backend=auto": 422, "?backend=abacus": 422,
		"?slots=x": 400, "?slots=0": 400, "?slots=65": 400, "?runner=any": 400, "?pool=pool-8": 400,
	} {
		if rec := w.asUser(ann, "GET", "/v1/apps/app-7/candidates"+query, ""); rec.Code != want {
			t.Errorf("%q: %d, want %d: %s", query, rec.Code, want, rec.Body)
		}
	}
	if len(w.submits)+len(w.actors) != 0 {
		t.Error("a preview left a trace")
	}
}

// The root cause comes first: nodes that exist, but in other pools.
func TestCase_B4_OneRootCauseFirst(t *testing.T) {
	w := newWorld(t)
	w.exhausted = true
	w.nodes["node-7"].Pool = "pool-8"
	doc := read[rest.Candidates](t, w.asUser(ann, "GET", "/v1/apps/app-7/candidates?runner=checksum", ""))
	want := "nodes exist but in other pools: 1 node of user 7 could take it, and pool-7 has none that can: move a node there, or bind app-7 to their pool"
	if doc.Hint != want {
		t.Errorf("%q, want %q", doc.Hint, want)
	}
}

func TestHint(t *testing.T) {
	node := func(id, pool, role string, owner int64, reasons ...fleet.Reason) *core.NodeView {
		return &core.NodeView{Record: fleet.NodeRecord{ID: id, Pool: pool, Role: role, Owner: owner, Runners: []string{"checksum"}}, Reasons: reasons}
	}
	tally := func(pool string, rejected map[fleet.Reason]int32) fleet.Tally {
		t := fleet.Tally{Pool: pool}
		for r, n := range rejected {
			t.Nodes += n
			t.Rejected[r] = n
		}
		return t
	}
	spec := &fleet.JobSpec{App: "cam", Owner: 1, Role: "worker", Runner: "checksum"}
	for _, c := range []struct {
		name  string
		pools []fleet.Tally
		nodes []*core.NodeView
		want  string
	}{
		{"no pool", nil, nil, "cam resolves to no pool: give it a binding"},
		{"no node anywhere", []fleet.Tally{tally("pool-1", nil)}, nil, "pool-1 has no node: add one"},
		{"somebody else's nodes are no help", []fleet.Tally{tally("pool-1", nil)}, []*core.NodeView{node("n", "pool-2", "worker", 2)}, "pool-1 has no node: add one"},
		{"unassigned is no pool", []fleet.Tally{tally("pool-1", nil)}, []*core.NodeView{node("n", "unassigned", "worker", 1)}, "pool-1 has no node: add one"},
		{"busy is no reason to look elsewhere", []fleet.Tally{tally("pool-1", map[fleet.Reason]int32{fleet.NoSlots: 3})},
			[]*core.NodeView{node("n", "pool-2", "worker", 1)}, "3 of 3 nodes in pool-1 are without a free slot"},
		{"the most common reason", []fleet.Tally{tally("pool-1", map[fleet.Reason]int32{fleet.NoSlots: 1, fleet.Draining: 9, fleet.WrongRole: 4})}, nil,
			"9 of 14 nodes in pool-1 are draining"},
		{"all away, others elsewhere", []fleet.Tally{tally("pool-1", map[fleet.Reason]int32{fleet.LeaseNotReady: 2}), tally("default", nil)},
			[]*core.NodeView{node("a", "pool-9", "worker", 1), node("b", "pool-9", "edge", 1), node("c", "pool-9", "worker", 1, fleet.Cordoned)},
			"nodes exist but in other pools: 1 node of user 1 could take it, and pool-1 and default have none that can: move a node there, or bind cam to their pool"},
	} {
		if got := hintOf(spec, &fleet.Decision{Pools: c.pools}, &core.FleetView{Nodes: c.nodes}); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := hintOf(spec, &fleet.Decision{Node: "n"}, &core.FleetView{}); got != "" {
		t.Errorf("work that a node can take: %q", got)
	}
}

func TestNode_MadeByHand(t *testing.T) {
	w := newWorld(t)
	rec := w.asUser(root, "POST", "/v1/admin/nodes", `{"id":"ams-1","owner":"7","role":"edge","maxSlots":8}`)
	made := read[rest.NewNode](t, rec)
	if rec.Code != 201 || made.Pool != "pool-7" || len(made.Secret) != 43 || rec.Header().Get("Location") != "/v1/nodes/ams-1" {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if again := w.asUser(root, "GET", "/v1/nodes/ams-1", ""); again.Code != 200 || strings.Contains(again.Body.String(), made.Secret) {
		t.Errorf("%d %s", again.Code, again.Body)
	}
	for body, want := range map[string]int{
		`{"id":"ams-1","role":"edge"}`: http.StatusConflict, `{"id":"free-1","role":"edge"}`: 201, `{"id":"A","role":"edge"}`: 400, `{"id":"b","role":"E"}`: 400,
		`{"id":"b","role":"edge","owner":"99"}`: 422, `{"id":"b","role":"edge","owner":"x"}`: 400, `{"id":"b","role":"edge","maxSlots":-1}`: 400,
	} {
		if rec := w.asUser(root, "POST", "/v1/admin/nodes", body); rec.Code != want {
			t.Errorf("%s: %d, want %d: %s", body, rec.Code, want, rec.Body)
		}
	}
	if w.nodes["free-1"].Pool != "default" {
		t.Errorf("a node without an owner is in %s", w.nodes["free-1"].Pool)
	}
}

func TestRoles_AreData(t *testing.T) {
	w := newWorld(t)
	job := `{"app":"app-7","runner":"checksum","role":"caption"}`
	if rec := w.asUser(ann, "POST", "/v1/jobs", job); rec.Code != 422 {
		t.Errorf("an unknown role: %d %s", rec.Code, rec.Body)
	}
	if rec := w.asUser(root, "POST", "/v1/admin/roles", `{"name":"caption"}`); rec.Code != 201 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if rec := w.asUser(ann, "POST", "/v1/jobs", job); rec.Code != 201 {
		t.Errorf("a role just added: %d %s", rec.Code, rec.Body)
	}
	for body, want := range map[string]int{`{"name":"caption"}`: 409, `{"name":"Caption"}`: 400, `{}`: 400} {
		if rec := w.asUser(root, "POST", "/v1/admin/roles", body); rec.Code != want {
			t.Errorf("%s: %d %s", body, rec.Code, rec.Body)
		}
	}
}

func TestAlignment_ShowsAViewerTheirPoolsOnly(t *testing.T) {
	w := newWorld(t)
	all := read[rest.Alignment](t, w.asUser(root, "GET", "/v1/admin/alignment", ""))
	some := read[rest.Alignment](t, w.asUser(vega, "GET", "/v1/admin/alignment", ""))
	if len(all.Apps) != 2 || len(all.Pools) != 2 || len(some.Apps) != 1 || some.Apps[0].App != "app-7" || len(some.Pools) != 1 || some.Pools[0].Pool != "pool-7" {
		t.Errorf("all %+v, some %+v", all, some)
	}
	if want := "work of app-7 finds no usable node: pool-7 has no node; nodes exist but in other pools: 2 usable nodes of user 7"; some.Apps[0].Text != want {
		t.Errorf("%q", some.Apps[0].Text)
	}
}

// What is stored of a pool is told in that order: a change that is still being told
// keeps the pool from being deleted, or the loop would know it for good.
func TestPoolChanges_AreToldInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		tell := make(chan struct{})
		w.beforePutPool = func() { <-tell }
		var changes sync.WaitGroup
		const path = "/v1/admin/node-pools/canary-1"
		changes.Go(func() {
			if rec := w.asUser(root, http.MethodPut, path, `{"state":"draining"}`); rec.Code != 200 {
				t.Errorf("the change: %d %s", rec.Code, rec.Body)
			}
		})
		synctest.Wait()
		changes.Go(func() {
			if rec := w.asUser(root, http.MethodDelete, path, ""); rec.Code != 204 {
				t.Errorf("the deletion: %d %s", rec.Code, rec.Body)
			}
		})
		synctest.Wait()
		if _, there := w.pools["canary-1"]; !there {
			t.Error("it is gone before its change was told")
		}
		close(tell)
		changes.Wait()
		if _, there := w.pools["canary-1"]; there {
			t.Error("it is still there")
		}
	})
}

// Who changed a pool's thresholds is told to those who have a role for it.
func TestPool_TellsWhoChangedItsThresholds(t *testing.T) {
	w := newWorld(t)
	pool := fleet.OwnerPool(ann)
	for user, told := range map[int64]bool{root: true, vera: true, ann: false} {
		doc := read[rest.Pool](t, w.asUser(user, http.MethodGet, "/v1/pools/"+pool, ""))
		if told != (doc.ThresholdsChanged != nil && doc.ThresholdsChanged.By == "admin") {
			t.Errorf("user %d is told %+v", user, doc.ThresholdsChanged)
		}
	}
}
