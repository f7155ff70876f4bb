package backend

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
)

func TestGate_SaysWhatIsKnownUntilItIsOpen(t *testing.T) {
	g := newGate()
	ask := func(path string, document any) *httptest.ResponseRecorder {
		t.Helper()
		rec := httptest.NewRecorder()
		g.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
		if err := json.Unmarshal(rec.Body.Bytes(), document); err != nil {
			t.Fatalf("%s: %v: %s", path, err, rec.Body)
		}
		return rec
	}
	var health rest.Health
	if rec := ask("/readyz", &health); rec.Code != 503 || health.Status != "unavailable" || rec.Header().Get("Retry-After") == "" {
		t.Errorf("starting: %d %+v", rec.Code, health)
	}
	g.refuse(fleet.Errorf(fleet.CodeStandby, "a (pid 1) dispatches"))
	if rec := ask("/readyz", &health); rec.Code != 503 || health != (rest.Health{Status: "standby", Detail: "a (pid 1) dispatches"}) {
		t.Errorf("standby: %d %+v", rec.Code, health)
	}
	if rec := ask("/livez", &health); rec.Code != 200 || health.Status != "ok" {
		t.Errorf("alive: %d %+v", rec.Code, health)
	}
	var problem rest.Problem
	if rec := ask("/v1/jobs", &problem); rec.Code != 503 || problem.Code != "standby" || problem.Detail != "a (pid 1) dispatches" {
		t.Errorf("a route: %d %+v", rec.Code, problem)
	}
	g.pass(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, "application/json", rest.Health{Status: "open"})
	}))
	if ask("/v1/jobs", &health); health.Status != "open" {
		t.Errorf("open: %+v", health)
	}
	g.close(fleet.Errorf(fleet.CodeUnavailable, "the server is stopping"))
	if rec := ask("/readyz", &health); rec.Code != 503 || health.Detail != "the server is stopping" {
		t.Errorf("closed: %d %+v", rec.Code, health)
	}
}
