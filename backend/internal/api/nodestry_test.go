package api

import (
	"net/http"
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
)

func TestImpact_OfSeveralNodesIsTriedByThoseWhoMayDoIt(t *testing.T) {
	w := newWorld(t)
	const path = "/v1/admin/nodes/impact"
	for name, c := range map[string]struct {
		who  int64
		body string
		want int
		code fleet.Code
	}{
		"both":               {root, `{"action":"move","nodes":["node-7","node-8"],"pool":"default"}`, 200, ""},
		"twice the same":     {root, `{"action":"cordon","nodes":["node-7","node-7"]}`, 200, ""},
		"operators drain":    {olga, `{"action":"drain","nodes":["node-7","node-8"]}`, 200, ""},
		"operators move not": {olga, `{"action":"move","nodes":["node-7"],"pool":"default"}`, 403, fleet.CodeForbidden},
		"one of two is not":  {otto, `{"action":"drain","nodes":["node-7","node-8"]}`, 404, fleet.CodeNotFound},
		"no such node":       {root, `{"action":"drain","nodes":["nobody"]}`, 404, fleet.CodeNotFound},
		"no such pool":       {root, `{"action":"move","nodes":["node-7"],"pool":"nowhere"}`, 422, fleet.CodeUnprocessable},
		"no pool":            {root, `{"action":"move","nodes":["node-7"]}`, 400, fleet.CodeBadRequest},
		"a pool too much":    {root, `{"action":"cordon","nodes":["node-7"],"pool":"default"}`, 400, fleet.CodeBadRequest},
		"no nodes":           {root, `{"action":"cordon","nodes":[]}`, 400, fleet.CodeBadRequest},
		"another action":     {root, `{"action":"delete","nodes":["node-7"]}`, 400, fleet.CodeBadRequest},
	} {
		rec := w.asUser(c.who, http.MethodPost, path, c.body)
		if rec.Code != c.want || c.code != "" && read[rest.Problem](t, rec).Code != string(c.code) {
			t.Errorf("%s: %d %s", name, rec.Code, rec.Body)
		}
	}
	if len(w.actors) != 0 {
		t.Errorf("a dry run left %d audit entries", len(w.actors))
	}
}

func TestPoolHistory_IsAListOfPoints(t *testing.T) {
	w := newWorld(t)
	list := read[rest.List[rest.PoolPoint]](t, w.asUser(ann, http.MethodGet, "/v1/pools/pool-7/history", "")).Items
	if len(list) != 2 || list[0].Used != 3 || list[0].OutOfUse != 1 || list[0].Total != 8 || list[0].Queued != 2 || !list[1].At.Equal(worldNow) {
		t.Errorf("the history is %+v", list)
	}
	if rec := w.asUser(root, http.MethodGet, "/v1/pools/nowhere/history", ""); rec.Code != 404 {
		t.Errorf("of a pool that there is not: %d", rec.Code)
	}
}
