package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// A queue that is full refuses, keeps nothing of what it refused, its key neither,
// and counts what is put off, also after the server was killed.
func TestWork_AFullQueueRefusesAndKeepsNothing(t *testing.T) {
	t.Parallel()
	s := rig.NewServer(t, append(slices.Clone(enduring), "ROCKPOOL_QUEUE_LIMIT=3")...)
	u := newTenant(t, s)
	n := u.node("1", rig.RawOptions{})
	u.submit()
	offer := n.Take(t)
	u.submit()
	later := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	u.submitAs(fmt.Sprintf(`"notBefore": %q`, later))
	u.submitAs(fmt.Sprintf(`"notBefore": %q`, later))
	body := fmt.Sprintf(`{"app": %q, "runner": "noop"}`, u.app)
	full := func(what, body string) {
		t.Helper()
		a := ask(t, u.s, u.token, "POST", "/v1/jobs", body, "Idempotency-Key", "late")
		a.refused(t, what, http.StatusTooManyRequests, "queue_full")
		if wait, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || wait < 1 || wait > 60 {
			t.Errorf("%s may come again after %q", what, a.Header.Get("Retry-After"))
		}
	}
	full("the fourth", body)
	s.Kill(t)
	s.Start(t)
	n.Join(t)
	full("the fourth after a restart", body)
	batch, err := u.client.SubmitJobs(t.Context(), []backendtest.JobRequest{{App: u.app, Runner: "noop"}}, "")
	if err != nil || batch.Items[0].Problem == nil || batch.Items[0].Problem.Code != "queue_full" || batch.Items[0].Problem.RetryAfter < 1 {
		t.Errorf("in a batch: %+v, %v", batch, err)
	}
	if kept := query[int](t, s, `SELECT count(*) FROM jobs WHERE app_id = $1`, u.app); kept != 4 {
		t.Errorf("%d jobs are stored", kept)
	}

	n.Report(t, rig.Succeed(offer))
	n.Take(t)
	a := ask(t, u.s, u.token, "POST", "/v1/jobs", body, "Idempotency-Key", "late")
	var job backendtest.Job
	if err := json.Unmarshal([]byte(a.Body), &job); a.Status != http.StatusCreated || err != nil {
		t.Errorf("with room again, under the key that was refused: %d %s", a.Status, a.Body)
	}
}

// Whatever is posted to the routes of work, the answer is a problem and nothing is
// left of it.
func TestWork_WildBodiesAreProblems(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	const nobody = "01900000-0000-7000-8000-000000000000"
	bodies := []string{
		``, `null`, `[]`, `"x"`, `{`, `{}{}`, `{"a":1,"a":2}`, `{"\u0000":1}`, `{"action":"REQUEUE"}`, `{"action":null}`, `{"jobs":null}`,
		`{"jobs":[null]}`, `{"jobs":["x"]}`, `{"jobs":[{}]}`, `{"ttl":"-1s"}`, `{"ttl":"9999999h"}`, `{"ttl":1e400}`,
		`{"app":"` + u.app + `","role":"origin","key":"` + strings.Repeat("k", 5000) + `"}`,
		`{"app":"` + u.app + `","role":"origin","key":"k","count":17}`, `{"app":"` + u.app + `","role":"origin","key":"k","count":-1}`,
		`{"app":"` + u.app + `","role":"origin","key":"k\u0000"}`, `{"app":"` + u.app + `","role":"origin","key":"k","slots":-1}`,
		`{"app":"` + u.app + `","role":"origin","key":"k","slots":9223372036854775807,"count":16}`,
		`{"app":"` + u.app + `","runner":"noop","notBefore":"9999-12-31T23:59:59Z"}`, `{"app":"` + u.app + `","runner":"noop","queueTimeout":"-1s"}`,
		`{"app":"` + u.app + `","runner":"noop","retryBackoff":"1e9h"}`, `{"app":"` + u.app + `","runner":"noop","onNodeLost":"HOLD"}`,
		`{"app":"` + u.app + `","runner":"noop","retryOf":"` + nobody + `"}`, `{"app":"` + u.app + `","runner":"noop","maxAttempts":4294967297}`,
	}
	for _, path := range []string{
		"/v1/jobs", "/v1/jobs?dryRun=true", "/v1/jobs/batch", "/v1/jobs/cancel", "/v1/jobs/cancel?dryRun=maybe", "/v1/placements",
		"/v1/jobs/" + nobody + "/retry", "/v1/jobs/" + nobody + "/resolve", "/v1/jobs/" + nobody + "/cancel", "/v1/jobs/..%2f/retry",
		"/v1/placements/" + nobody + "/renew", "/v1/placements/" + nobody + "/release",
	} {
		for i, body := range bodies {
			a := ask(t, u.s, u.token, "POST", path, body, "Idempotency-Key", fmt.Sprintf("wild-%d", i))
			if a.Status < 400 || a.Status >= 500 || a.Header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("POST %s %.120s: %d %s %.300s", path, body, a.Status, a.Header.Get("Content-Type"), a.Body)
			}
		}
	}
	for _, sql := range []string{
		`SELECT count(*) FROM jobs WHERE app_id = $1`, `SELECT count(*) FROM placements WHERE app_id = $1`,
	} {
		if kept := query[int](t, u.s, sql, u.app); kept != 0 {
			t.Errorf("%s: %d", sql, kept)
		}
	}
}
