package api

import (
	"context"
	"net/http"
	"testing"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
	"rockpool/shared/ids"
)

// While it is known that the database is away nobody waits for it to find that out,
// and who waits already is told.
func TestDatabaseAway_IsToldAtOnce(t *testing.T) {
	w := newWorld(t)
	up, away := context.WithCancelCause(t.Context())
	w.database = up
	w.jobs[jobIDOf(ann)].State = fleet.JobOffered
	w.live[jobIDOf(ann)] = core.JobView{ID: jobIDOf(ann), State: fleet.JobRunning, Attempt: 1}
	begun, waits := make(chan struct{}), make(chan int, 1)
	w.onWait = func(ctx context.Context, _ ids.JobID) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	}
	go func() {
		waits <- w.asUser(ann, http.MethodGet, jobPath(jobIDOf(ann).String())+"?wait=30s", "").Code
	}()
	<-begun
	why := fleet.Errorf(fleet.CodeUnavailable, "the database does not answer; fleet frozen since noon")
	away(why)
	if code := <-waits; code != http.StatusServiceUnavailable {
		t.Errorf("a wait that was under way: %d", code)
	}
	for _, path := range []string{"/v1/jobs", "/v1/session", "/v1/channel", "/v1/artifacts/sha256:00"} {
		rec := w.asUser(ann, http.MethodGet, path, "")
		p := read[rest.Problem](t, rec)
		if rec.Code != http.StatusServiceUnavailable || p.Detail != why.Detail || rec.Header().Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
	for _, path := range []string{"/livez", "/readyz", "/v1/version"} {
		if rec := w.ask("", http.MethodGet, path, ""); rec.Code != http.StatusOK {
			t.Errorf("%s needs no database: %d %s", path, rec.Code, rec.Body)
		}
	}
}
