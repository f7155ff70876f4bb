package api

import (
	"strings"
	"testing"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/rest"
)

func TestPromote_MovesWhenTheChecksHold(t *testing.T) {
	w := newWorld(t)
	const path = "/v1/admin/node-pools/canary-1/promote"
	w.nodes["node-7"].Pool, w.nodes["node-8"].Pool = "canary-1", "canary-1"
	w.canaryJobs = 2
	rec := w.asUser(root, "POST", path, `{"to":"pool-7","checks":{"jobs":3}}`)
	if rec.Code != 409 || !strings.Contains(rec.Body.String(), "2 of 3 canary jobs have succeeded") || w.nodes["node-7"].Pool != "canary-1" {
		t.Errorf("checks that don't hold: %d %s", rec.Code, rec.Body)
	}
	tried := read[rest.Promoted](t, w.asUser(root, "POST", path+"?dryRun=true", `{"to":"pool-7","checks":{"jobs":3}}`))
	if tried.Applied || len(tried.Nodes) != 2 || len(tried.Reasons) != 1 || tried.Impact == nil || w.proposals[0].Kind != core.ProposeMove || w.proposals[0].Pool != "pool-7" {
		t.Errorf("a dry run: %+v, asked about %+v", tried, w.proposals)
	}
	w.canaryJobs = 3
	done := read[rest.Promoted](t, w.asUser(root, "POST", path, `{"to":"pool-7","checks":{"jobs":3},"reason":"fit"}`))
	if !done.Applied || len(done.Nodes) != 2 || len(done.Reasons) != 0 || w.nodes["node-7"].Pool != "pool-7" || w.nodes["node-8"].Pool != "pool-7" {
		t.Errorf("%+v", done)
	}
	for _, c := range []struct {
		path, body string
		want       int
	}{
		{path, `{"to":"pool-7","checks":{}}`, 409}, // it has no nodes any more
		{path, `{"to":"canary-1","checks":{}}`, 422},
		{path, `{"to":"unassigned","checks":{}}`, 422},
		{path, `{"to":"nowhere","checks":{}}`, 422},
		{path, `{"to":"","checks":{}}`, 400},
		{path, `{"to":"pool-7","checks":{"jobs":-1}}`, 400},
		{path, `{"to":"pool-7","checks":{"readyFor":"-1s"}}`, 400},
		{"/v1/admin/node-pools/nowhere/promote", `{"to":"pool-7","checks":{}}`, 404},
		{"/v1/admin/node-pools/default/promote", `{"to":"pool-7","checks":{}}`, 422},
	} {
		if rec := w.asUser(root, "POST", c.path, c.body); rec.Code != c.want {
			t.Errorf("%s %s: %d, want %d: %s", c.path, c.body, rec.Code, c.want, rec.Body)
		}
	}
}
