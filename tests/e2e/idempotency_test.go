package e2e

import (
	"fmt"
	"sync"
	"testing"

	"rockpool/backend/backendtest"
)

func TestInv_I13_OneKeyIsOneJob(t *testing.T) {
	t.Parallel()
	u, other := newTenant(t, server(t)), newTenant(t, server(t))
	const key, times = "the-same-key", 50
	body := fmt.Sprintf(`{"app": %q, "runner": "noop"}`, u.app)
	answers := make([]answer, times)
	var posts sync.WaitGroup
	for i := range answers {
		posts.Go(func() { answers[i] = ask(t, u.s, u.token, "POST", "/v1/jobs", body, "Idempotency-Key", key) })
	}
	posts.Wait()
	statuses := map[int]int{}
	var first backendtest.Job
	for i, a := range answers {
		statuses[a.Status]++
		var job backendtest.Job
		a.read(t, &job)
		if i == 0 {
			first = job
		}
		if job.ID != first.ID || a.Header.Get("Location") != "/v1/jobs/"+first.ID {
			t.Errorf("answer %d is job %q at %q, another one is %q", i, job.ID, a.Header.Get("Location"), first.ID)
		}
		if replayed := a.Header.Get("Idempotency-Replayed") == "true"; replayed != (a.Status == 200) {
			t.Errorf("answer %d is %d, replayed: %v", i, a.Status, replayed)
		}
	}
	if statuses[201] != 1 || statuses[200] != times-1 {
		t.Errorf("answers by status: %v", statuses)
	}
	if jobs := query[int](t, u.s, `SELECT count(*) FROM jobs WHERE app_id = $1`, u.app); jobs != 1 {
		t.Errorf("%d jobs are stored", jobs)
	}

	spaced := fmt.Sprintf("{\n\t\"runner\": \"noop\", \"app\": %q }", u.app)
	if a := ask(t, u.s, u.token, "POST", "/v1/jobs", spaced, "Idempotency-Key", key); a.Status != 200 {
		t.Errorf("the same document written otherwise: %d %s", a.Status, a.Body)
	}
	changed := fmt.Sprintf(`{"app": %q, "runner": "noop", "priority": 51}`, u.app)
	ask(t, u.s, u.token, "POST", "/v1/jobs", changed, "Idempotency-Key", key).refused(t, "another document", 422, "idempotency_key_reused")

	a := ask(t, other.s, other.token, "POST", "/v1/jobs", fmt.Sprintf(`{"app": %q, "runner": "noop"}`, other.app), "Idempotency-Key", key)
	var theirs backendtest.Job
	a.read(t, &theirs)
	if a.Status != 201 || theirs.ID == first.ID || theirs.App != other.app {
		t.Errorf("the other user's same key: %d %+v", a.Status, theirs)
	}
}
