package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// What has ended is repeated, what is held is decided, what waits is canceled by a list.
func TestCLI_HandlesJobs(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	u.node("bad", rig.RawOptions{Runners: []string{"bad"}, Answer: failing})
	failed := u.await(u.submit(runner("bad")).ID, "failed")
	ran := u.s.Run(t, u.token, "job", "retry", failed.ID, "--wait", "-o", "json")
	var again backendtest.Job
	if err := json.Unmarshal([]byte(ran.Out), &again); err != nil || ran.Code != 3 || again.RetryOf != failed.ID || again.ID == failed.ID {
		t.Errorf("retry: %v, ended %d: %s%s", err, ran.Code, ran.Out, ran.Err)
	}

	gone := u.node("gone", rig.RawOptions{Runners: []string{"held"}})
	held := u.submit(runner("held"), func(r *backendtest.JobRequest) { r.OnNodeLost = "hold" })
	gone.Take(t)
	at := func(args string) string {
		return fill(args, "APP", u.app, "FAILED", failed.ID, "HELD", held.ID, "GONE", gone.Name)
	}
	u.walk(u.s.AdminToken, step{at("node leave GONE"), 0, "left"})
	u.awaitReason(held.ID, "held")
	u.walk(u.token,
		step{at("job retry HELD"), 1, "has not ended"},
		step{at("job resolve HELD fail"), 0, "failed"},
		step{at("job resolve HELD requeue"), 1, "conflict"},
		step{at("job list --app APP --state failed --reason node_lost"), 0, held.ID},
		step{at("job submit --app APP --runner nobodys --label batch=7"), 0, "queued"},
		step{at("job submit --app APP --runner nobodys --label batch=7 --not-before 2099-01-01T00:00:00Z"), 1, "notBefore"},
		step{at("job submit --app APP --runner nobodys --label batch=8 --dry-run"), 0, "without the runner"},
		step{at("job submit --app APP --runner nobodys --label batch=8"), 0, "queued"},
		step{at("job list --app APP --label batch=7 --state queued"), 0, "nobodys"},
		step{at("job cancel --app APP --label batch=7 --dry-run"), 0, "queued"},
		step{at("job cancel --app APP --label batch=7"), 1, "nothing was canceled"},
		step{at("job cancel --app APP --label batch=7 --yes"), 0, "canceled"},
		step{at("job list --app APP --state dead"), 0, "ID"},
		step{at("app share APP --weight 300"), 1, "forbidden"},
	)
	left := u.s.Run(t, u.token, "job", "list", "--app", u.app, "--state", "queued", "-o", "json")
	var list struct{ Items []backendtest.Job }
	if err := json.Unmarshal([]byte(left.Out), &list); err != nil || len(list.Items) != 1 || len(list.Items[0].Labels) != 1 || list.Items[0].Labels[0] != (backendtest.Pair{"batch", "8"}) {
		t.Errorf("what was not selected: %v, %s", err, left.Out)
	}
	u.walk(u.s.AdminToken,
		step{at("app share APP --weight 300 --max-open-jobs 1 --reason test"), 0, "300"},
		step{at("app share APP --max-open-jobs 2"), 0, "weight             300"},
		step{at("app share APP --weight 0"), 1, "weight"},
		step{at("app share APP --max-open-jobs 1 --version 1"), 1, "precondition_failed"},
	)
	full := u.s.Run(t, u.token, strings.Fields(at("job submit --app APP --runner nobodys"))...)
	second := u.s.Run(t, u.token, strings.Fields(at("job submit --app APP --runner nobodys"))...)
	if full.Code != 0 || second.Code != 1 {
		t.Errorf("one more than the bound of 2: ended %d, then %d: %s", full.Code, second.Code, second.Err)
	}
}
