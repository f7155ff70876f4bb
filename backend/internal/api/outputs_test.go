package api

import (
	"net/http"
	"testing"

	"rockpool/backend/internal/core/fleet"
)

func TestOutputs_ANodeUploadsThoseOfWhatItHoldsOnly(t *testing.T) {
	w := newWorld(t)
	digest, _ := sumOf("an output")
	other, _ := sumOf("something else")
	at := "/v1/artifacts/" + string(digest)
	mine, others := jobIDOf(ann).String(), jobIDOf(bob).String()
	for _, c := range []struct {
		name, as, method, target string
		status                   int
	}{
		{"without an attempt", "node", http.MethodPut, at, 403},
		{"without a number", "node", http.MethodPut, at + "?job=" + mine, 403},
		{"no job", "node", http.MethodPut, at + "?job=1&attempt=1", 400},
		{"no number", "node", http.MethodPut, at + "?job=" + mine + "&attempt=0", 400},
		{"another node's job", "node", http.MethodPut, at + "?job=" + others + "&attempt=1", 404},
		{"another attempt", "node", http.MethodPut, at + "?job=" + mine + "&attempt=2", 404},
		{"another digest", "node", http.MethodPut, "/v1/artifacts/" + string(other) + "?job=" + mine + "&attempt=1", 422},
		{"POST", "node", http.MethodPost, "/v1/artifacts", 403},
		{"as a user", "7", http.MethodPut, at + "?job=" + mine + "&attempt=1", 400},
		{"what it holds", "node", http.MethodPut, at + "?job=" + mine + "&attempt=1", 201},
		{"once more", "node", http.MethodPut, at + "?job=" + mine + "&attempt=1", 201},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := len(w.artifacts)
			rec := w.ask(c.as, c.method, c.target, "an output", "Content-Type", "application/octet-stream")
			if rec.Code != c.status {
				t.Errorf("%d %s", rec.Code, rec.Body)
			}
			if c.status != 201 && len(w.artifacts) != before {
				t.Error("it was noted")
			}
		})
	}
	if rec := w.asUser(ann, http.MethodGet, at, ""); rec.Code != 200 || rec.Body.String() != "an output" {
		t.Errorf("the app's owner reads %d %s", rec.Code, rec.Body)
	}
	if rec := w.asUser(bob, http.MethodGet, at, ""); rec.Code != 404 {
		t.Errorf("a stranger reads %d", rec.Code)
	}
	w.jobs[jobIDOf(ann)].State = fleet.JobSucceeded
	if rec := w.ask("node", http.MethodPut, at+"?job="+mine+"&attempt=1", "an output"); rec.Code != 404 {
		t.Errorf("after the job's end: %d", rec.Code)
	}
}
