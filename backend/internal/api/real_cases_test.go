package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/enroll"
	"rockpool/backend/internal/rest"
	"rockpool/backend/internal/store/storetest"
)

func TestAttack_A81_TheSetupTokenWorksOnceAndExpires(t *testing.T) {
	s := newServer(t)
	if n := storetest.Query[int](t, s.urls, "SELECT count(*)::int FROM users"); n != 0 {
		t.Fatalf("a fresh server has %d users", n)
	}
	expired := enroll.NewSetupToken()
	if err := s.db.SetSetupToken(t.Context(), expired.Sum, time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	s.must(401, "", http.MethodPost, "/v1/setup", `{"setupToken":"`+expired.Text+`"}`, nil)
	fresh := enroll.NewSetupToken()
	if err := s.db.SetSetupToken(t.Context(), fresh.Sum, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	codes := make([]int, 5)
	for i := range codes {
		all.Go(func() {
			codes[i], _ = s.ask("", http.MethodPost, "/v1/setup", `{"setupToken":"`+fresh.Text+`","name":"admin `+fmt.Sprint(i)+`"}`, nil)
		})
	}
	all.Wait()
	made := 0
	for _, code := range codes {
		if code == 201 {
			made++
		} else if code != 401 {
			t.Errorf("a second redemption answers %d", code)
		}
	}
	if n := storetest.Query[int](t, s.urls, "SELECT count(*)::int FROM users"); made != 1 || n != 1 {
		t.Errorf("%d answers of 201, %d users", made, n)
	}
	if dump := storetest.Query[string](t, s.urls, "SELECT string_agg(t::text, '') FROM tokens t"); strings.Contains(dump, "rp_") {
		t.Error("a token stands in the database")
	}
}

func TestAttack_A64_TheLastSuperadminStays(t *testing.T) {
	s := newServer(t)
	admin := s.setup()
	var users rest.List[rest.User]
	s.must(200, admin, http.MethodGet, "/v1/admin/users", "", &users)
	first := users.Items[0].ID
	s.must(409, admin, http.MethodPut, "/v1/admin/users/"+first+"/roles", `{"roles":["user"]}`, nil)
	second, token := s.user(admin, "carol")
	s.must(403, token, http.MethodPut, "/v1/admin/users/"+second+"/roles", `{"roles":["superadmin"]}`, nil)
	s.must(200, admin, http.MethodPut, "/v1/admin/users/"+second+"/roles", `{"roles":["superadmin"],"reason":"holidays"}`, nil)
	s.must(200, token, http.MethodPut, "/v1/admin/users/"+first+"/roles", `{"roles":["user"]}`, nil)
	// Roles are read at every request: the old token is a user's now.
	s.must(403, admin, http.MethodGet, "/v1/admin/users", "", nil)
	s.must(409, token, http.MethodPut, "/v1/admin/users/"+second+"/roles", `{"roles":["viewer"]}`, nil)
}

func TestInv_I13_OneJobPerKeyAcrossProcesses(t *testing.T) {
	s := newServer(t)
	admin := s.setup()
	_, token := s.user(admin, "cam")
	another := httptest.NewServer(s.newAPI())
	defer another.Close()
	ids := make([]string, 16)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			side := *s
			if i%2 == 1 {
				side.http = another
			}
			var job rest.Job
			code, header := side.ask(token, http.MethodPost, "/v1/jobs", `{"app":"cam","runner":"checksum"}`, &job, "Idempotency-Key", "storm")
			if code != 201 && code != 200 || (code == 200) != (header.Get("Idempotency-Replayed") == "true") {
				t.Errorf("%d %v", code, header)
			}
			ids[i] = job.ID
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] || id == "" {
			t.Errorf("jobs %q", ids)
			break
		}
	}
	if n := storetest.Query[int](t, s.urls, "SELECT count(*)::int FROM jobs"); n != 1 {
		t.Errorf("%d rows", n)
	}
	s.must(422, token, http.MethodPost, "/v1/jobs", `{"app":"cam","runner":"another"}`, nil, "Idempotency-Key", "storm")
}

func TestAPI_AJobsWayThroughTheAPI(t *testing.T) {
	s := newServer(t)
	admin := s.setup()
	_, ann := s.user(admin, "cam")
	_, bob := s.user(admin, "mic")
	const content = "hello"
	digest, _ := sumOf(content)
	s.must(422, ann, http.MethodPost, "/v1/jobs", `{"app":"cam","runner":"checksum","inputs":{"f":"`+string(digest)+`"}}`, nil)
	s.must(201, ann, http.MethodPut, "/v1/artifacts/"+string(digest), content, nil)
	s.must(404, bob, http.MethodGet, "/v1/artifacts/"+string(digest), "", nil)

	var job rest.Job
	s.must(201, ann, http.MethodPost, "/v1/jobs", `{"app":"cam","runner":"checksum","inputs":{"f":"`+string(digest)+`"},"params":{"n":1},"labels":[["build","812"]]}`, &job)
	if job.State != "queued" || job.Reason == nil || *job.Reason != "pool_exhausted" {
		t.Errorf("%+v", job)
	}
	var decision rest.Decision
	s.must(200, ann, http.MethodGet, job.Links.Decision, "", &decision)
	if decision.Outcome != "waiting" || decision.Rule != "owner_pool" || !strings.Contains(decision.Text, "owner's pool of user") || time.Since(decision.At.Time) > time.Minute {
		t.Errorf("%+v", decision)
	}
	var explained rest.Explanation
	s.must(200, ann, http.MethodGet, "/v1/jobs/"+job.ID+"/explain", "", &explained)
	if explained.State != "queued" || len(explained.Pools) == 0 {
		t.Errorf("%+v", explained)
	}
	for _, path := range []string{"", "/decision", "/explain", "/attempts", "/log"} {
		s.must(404, bob, http.MethodGet, "/v1/jobs/"+job.ID+path, "", nil)
		s.must(200, ann, http.MethodGet, "/v1/jobs/"+job.ID+path, "", nil)
	}
	s.must(404, bob, http.MethodPost, "/v1/jobs/"+job.ID+"/cancel", "", nil)
	var canceled rest.Job
	s.must(200, ann, http.MethodPost, "/v1/jobs/"+job.ID+"/cancel", "", &canceled)
	if canceled.State != "canceled" || canceled.EndedAt == nil {
		t.Errorf("%+v", canceled)
	}
	s.must(200, ann, http.MethodGet, "/v1/jobs/"+job.ID+"?wait=10s", "", nil)

	var failed rest.Job
	s.must(201, ann, http.MethodPost, "/v1/jobs?wait=10s", `{"app":"cam","runner":"checksum","whenExhausted":"fail"}`, &failed)
	if failed.State != "failed" || failed.Reason == nil || *failed.Reason != "pool_exhausted" || failed.EndedAt == nil {
		t.Errorf("%+v", failed)
	}
	var list rest.List[rest.Job]
	s.must(200, ann, http.MethodGet, "/v1/jobs?pageSize=1", "", &list)
	if len(list.Items) != 1 || list.Items[0].ID != failed.ID || list.NextPageToken == "" {
		t.Errorf("%+v", list)
	}
	s.must(200, ann, http.MethodGet, "/v1/jobs?pageToken="+list.NextPageToken, "", &list)
	if len(list.Items) != 1 || list.Items[0].ID != job.ID || list.Items[0].Labels[0] != (rest.Pair{"build", "812"}) {
		t.Errorf("%+v", list)
	}
	odd := `{"app":"cam","runner":"checksum","params":{"k":"\u0001\u2028\ud83d\ude00 '; --"}}`
	s.must(201, ann, http.MethodPost, "/v1/jobs", odd, nil)
	for _, bad := range []string{`\u0000`, `\ud800`} { // Attack_A69 is a table of its own: here the database is behind it
		s.must(400, ann, http.MethodPost, "/v1/jobs", `{"app":"cam","runner":"checksum","params":{"k":"`+bad+`"}}`, nil)
		s.must(400, admin, http.MethodPost, "/v1/admin/users", `{"name":"`+bad+`"}`, nil)
	}
	var batch rest.Batch
	s.must(200, ann, http.MethodPost, "/v1/jobs/batch", `{"jobs":[{"app":"cam","runner":"a"},{"app":"cam","runner":"b"}]}`, &batch)
	if len(batch.Items) != 2 || batch.Items[1].Job == nil || batch.Items[1].Job.Runner != "b" {
		t.Errorf("%+v", batch)
	}
}

// Who waits is answered from memory, and what it says is what the row says.
func TestAPI_WhoWaitsReadsWhatIsStored(t *testing.T) {
	s := newServer(t)
	admin := s.setup()
	owner, ann := s.user(admin, "cam")
	s.must(201, admin, http.MethodPost, "/v1/admin/nodes", `{"id":"ams-1","owner":"`+owner+`","role":"worker","maxSlots":4}`, nil)
	hello := core.HelloEvent{Node: "ams-1", Report: &fleet.NodeReport{
		BootID: "b", Backend: "cpu", Capacity: fleet.Vector{Slots: 4}, Runners: []string{"checksum"},
	}}
	if err := s.loop.Hello(t.Context(), hello, func(core.Session) {}); err != nil {
		t.Fatal(err)
	}
	output, file := []byte(`{"z": [1,  2]}`), fleet.Output{Name: "clip", Digest: "sha256:" + strings.Repeat("0", 64), Size: 1}
	for name, result := range map[string]fleet.Result{
		"small":     {Status: fleet.ResultSucceeded, Output: output, LogBytes: 7},
		"empty":     {Status: fleet.ResultSucceeded, ExitCode: new(int64(0))},
		"no start":  {Status: fleet.ResultFailed, Cause: fleet.CauseStartFailed},
		"files":     {Status: fleet.ResultSucceeded, Output: output, Outputs: []fleet.Output{file}, Head: []byte("log")},
		"large":     {Status: fleet.ResultSucceeded, Output: []byte(`"` + strings.Repeat("x", 8<<10) + `"`)},
		"exit code": {Status: fleet.ResultFailed, Cause: fleet.CauseExitCode, Detail: "exit 3", ExitCode: new(int64(3))},
	} {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			offer := <-s.offers
			attempt := core.Attempt{Job: offer.Job, Attempt: offer.Attempt}
			s.loop.Accept(core.Session{Node: "ams-1", Epoch: offer.Epoch}, attempt)
			s.loop.Result(core.Session{Node: "ams-1", Epoch: offer.Epoch}, attempt, &result)
		}()
		var answered, stored json.RawMessage
		s.must(201, ann, http.MethodPost, "/v1/jobs?wait=60s", `{"app":"cam","runner":"checksum","maxAttempts":1,"labels":[["build","812"]]}`, &answered)
		<-ended
		var job rest.Job
		if err := json.Unmarshal(answered, &job); err != nil || job.EndedAt == nil || job.StartedAt == nil {
			t.Errorf("%s: %s, %v", name, answered, err)
		}
		if (job.ExitCode != nil) != (result.ExitCode != nil) { // 0 would say that a program ran, and well
			t.Errorf("%s: %s", name, answered)
		}
		s.must(200, ann, http.MethodGet, "/v1/jobs/"+job.ID, "", &stored)
		if !bytes.Equal(answered, stored) {
			t.Errorf("%s: who waited reads\n%s\nand the row says\n%s", name, answered, stored)
		}
	}
}

func TestAPI_AMoveIsAuditedAndSeenAtOnce(t *testing.T) {
	s := newServer(t)
	admin := s.setup()
	user, token := s.user(admin, "cam")
	owner, _ := parseUser(user)
	node := storetest.InsertNode(t, s.db, owner)
	row, err := s.db.Node(t.Context(), node.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.loop.PutNode(t.Context(), row.NodeRecord); err != nil {
		t.Fatal(err)
	}
	var before rest.Node
	_, header := s.ask(token, http.MethodGet, "/v1/nodes/"+node.ID, "", &before)
	if before.Pool != fleet.OwnerPool(owner) || header.Get("ETag") == "" {
		t.Fatalf("%+v %v", before, header)
	}
	path := "/v1/admin/nodes/" + node.ID + "/pool"
	s.must(403, token, http.MethodPut, path, `{"pool":"default"}`, nil)
	s.must(412, admin, http.MethodPut, path, `{"pool":"default"}`, nil, "If-Match", `"999"`)
	s.must(422, admin, http.MethodPut, path, `{"pool":"nowhere"}`, nil)
	var moved rest.Moved
	s.must(200, admin, http.MethodPut, path, `{"pool":"unassigned","reason":"disk replacement"}`, &moved, "If-Match", header.Get("ETag"))
	if moved.From != before.Pool || moved.To != "unassigned" || !moved.Applied {
		t.Errorf("%+v", moved)
	}
	s.must(412, admin, http.MethodPut, path, `{"pool":"default"}`, nil, "If-Match", header.Get("ETag"))
	view, err := s.loop.Fleet(t.Context())
	if err != nil || viewOf(view, node.ID).Record.Pool != "unassigned" {
		t.Errorf("the loop has %+v, %v", viewOf(view, node.ID), err)
	}
	var audit rest.List[rest.AuditEntry]
	s.must(200, admin, http.MethodGet, "/v1/admin/audit", "", &audit)
	newest := audit.Items[0]
	if newest.Object != "node:"+node.ID || newest.Reason != "disk replacement" || newest.Actor != "u:1" || newest.Address == "" || newest.RequestID == "" {
		t.Errorf("%+v", newest)
	}
	var verified rest.AuditVerified
	s.must(200, admin, http.MethodGet, "/v1/admin/audit/verify", "", &verified)
	if !verified.OK || verified.Seq != newest.Seq || verified.Sum != newest.Sum {
		t.Errorf("%+v", verified)
	}
	var gone rest.Node
	s.must(200, admin, http.MethodPost, "/v1/admin/nodes/"+node.ID+"/revoke", `{"reason":"stolen"}`, &gone)
	if gone.Lease != "left" {
		t.Errorf("%+v", gone)
	}
}

// Every administrative 2xx has one audit entry, and what is refused has none.
func TestInv_I14_EveryAdministrativeActionIsAudited(t *testing.T) {
	s := newServer(t)
	admin := s.setup()
	count := func() int { return storetest.Query[int](t, s.urls, "SELECT count(*)::int FROM audit_entries") }
	var license rest.NewLicense
	var token rest.NewToken
	for _, step := range []struct {
		method, path, body string
		status, entries    int
		out                any
	}{
		{http.MethodPost, "/v1/admin/users", `{"name":"ann"}`, 201, 1, nil},
		{http.MethodPost, "/v1/admin/users", `{"name":"ann"}`, 409, 0, nil},
		{http.MethodPut, "/v1/admin/users/2/roles", `{"roles":["viewer"]}`, 200, 1, nil},
		{http.MethodPut, "/v1/admin/users/99/roles", `{"roles":["viewer"]}`, 404, 0, nil},
		{http.MethodPost, "/v1/admin/apps", `{"id":"cam","owner":"2"}`, 201, 1, nil},
		{http.MethodPost, "/v1/admin/apps", `{"id":"cam","owner":"2"}`, 409, 0, nil},
		{http.MethodPost, "/v1/admin/licenses", `{"user":"2","nodes":2}`, 201, 1, &license},
		{http.MethodPost, "/v1/admin/users/2/tokens", `{"name":"t"}`, 201, 1, nil},
		{http.MethodPost, "/v1/tokens", `{"name":"t"}`, 201, 1, &token},
	} {
		before := count()
		s.must(step.status, admin, step.method, step.path, step.body, step.out)
		if got := count() - before; got != step.entries {
			t.Errorf("%s %s %s: %d entries", step.method, step.path, step.body, got)
		}
	}
	before := count()
	s.must(200, admin, http.MethodPost, "/v1/admin/licenses/"+license.ID+"/revoke", "", nil)
	s.must(204, admin, http.MethodDelete, "/v1/tokens/"+token.ID, "", nil)
	s.must(404, admin, http.MethodDelete, "/v1/tokens/"+token.ID, "", nil)
	if got := count() - before; got != 2 {
		t.Errorf("%d entries for a revocation and a deletion", got)
	}
	s.must(401, token.Secret, http.MethodGet, "/v1/tokens", "", nil) // a deleted token is out of use at once
}
