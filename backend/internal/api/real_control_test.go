package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"rockpool/backend/internal/rest"
	"rockpool/backend/internal/store/storetest"
)

// audits counts the audit entries of an action.
func (s *server) audits(action string) int {
	s.t.Helper()
	return storetest.Query[int](s.t, s.urls, fmt.Sprintf("SELECT count(*)::int FROM audit_entries WHERE action = '%s'", action))
}

// etagOf is the ETag of a document.
func (s *server) etagOf(token, path string) string {
	s.t.Helper()
	_, header := s.ask(token, http.MethodGet, path, "", new(string))
	return header.Get("ETag")
}

func TestReal_APoolFromItsMakingToItsEnd(t *testing.T) {
	s := newServer(t)
	admin := s.setup()
	owner, ann := s.user(admin, "cam")
	const pool = "/v1/admin/node-pools/gpu-big"
	var made rest.Pool
	s.must(201, admin, "POST", "/v1/admin/node-pools", `{"id":"gpu-big","thresholds":{"queueWait":"5m","freeSlots":1,"notReadyPct":20}}`, &made)
	if made.Kind != "named" || !made.Canary || made.Thresholds.FreeSlots != 1 || made.Sharing == nil || made.Sharing.Text != "no app resolves here" {
		t.Errorf("made %+v", made)
	}
	s.must(409, admin, "POST", "/v1/admin/node-pools", `{"id":"gpu-big"}`, nil)
	s.must(422, admin, "POST", "/v1/admin/node-pools", `{"id":"pool-99"}`, nil)
	s.must(403, ann, "POST", "/v1/admin/node-pools", `{"id":"mine"}`, nil)
	s.must(412, admin, "PUT", pool, `{"name":"Big"}`, nil, "If-Match", `"99"`)
	s.must(200, admin, "PUT", pool, `{"name":"Big"}`, nil, "If-Match", s.etagOf(admin, pool))
	var node rest.NewNode
	s.must(201, admin, "POST", "/v1/admin/nodes", `{"id":"ams-1","owner":"`+owner+`","role":"worker","maxSlots":4}`, &node)
	if node.Pool != "pool-"+owner || node.Secret == "" {
		t.Errorf("node %+v", node)
	}
	s.must(200, admin, "PUT", "/v1/admin/nodes/ams-1/pool", `{"pool":"gpu-big"}`, nil)

	var bound rest.AppBindings
	s.must(200, admin, "PUT", "/v1/admin/app-pool-bindings/cam", `{"role":"","pools":["gpu-big","pool-`+owner+`"],"allowFallbackToDefault":false}`, &bound,
		"If-Match", s.etagOf(admin, "/v1/admin/app-pool-bindings/cam"))
	if len(bound.Bindings) != 1 || len(bound.Resolutions) != 1 || bound.Resolutions[0].Rule != "binding" || !strings.Contains(bound.Resolutions[0].Text, "gpu-big, then pool-"+owner) {
		t.Errorf("bound %+v", bound)
	}
	for _, bad := range []string{`["unassigned"]`, `["nowhere"]`, `["gpu-big","gpu-big"]`, `["a","b","c","d","e","f","g","h","i"]`} {
		s.must(422, admin, "PUT", "/v1/admin/app-pool-bindings/cam", `{"role":"","pools":`+bad+`,"allowFallbackToDefault":false}`, nil)
	}
	s.must(422, admin, "PUT", "/v1/admin/app-pool-bindings/cam", `{"role":"painter","pools":["gpu-big"],"allowFallbackToDefault":false}`, nil)
	var seen rest.Pool
	s.must(200, admin, "GET", pool, "", &seen)
	if seen.Canary || len(seen.Resolvers) != 1 || seen.Resolvers[0].App != "cam" || seen.Sharing.Text != "one app only" || seen.Nodes != 1 || seen.Name != "Big" {
		t.Errorf("seen %+v", seen)
	}

	var refused rest.Problem
	s.ask(admin, "DELETE", pool, "", &refused)
	if refused.Status != 409 || !strings.Contains(refused.Detail, "ams-1") || !strings.Contains(refused.Detail, "cam") {
		t.Errorf("refused %+v", refused)
	}
	s.must(200, admin, "PUT", "/v1/admin/app-pool-bindings/cam", `{"role":"","pools":[],"allowFallbackToDefault":false}`, nil)
	s.must(200, admin, "PUT", "/v1/admin/nodes/ams-1/pool", `{"pool":"unassigned"}`, nil)
	s.must(204, admin, "DELETE", pool, "", nil)
	s.must(404, admin, "GET", pool, "", nil)
	for action, want := range map[string]int{"pool_created": 1, "pool_changed": 1, "pool_deleted": 1, "binding_set": 1, "binding_deleted": 1, "node_created": 1} {
		if got := s.audits(action); got != want {
			t.Errorf("%d entries %s, want %d", got, action, want)
		}
	}
	s.must(200, admin, "GET", "/v1/admin/audit/verify", "", nil)
}

func TestReal_ADrainOfANodeAndItsEnd(t *testing.T) {
	s := newServer(t)
	admin := s.setup()
	owner, _ := s.user(admin, "cam")
	s.must(201, admin, "POST", "/v1/admin/nodes", `{"id":"ams-1","owner":"`+owner+`","role":"edge"}`, nil)
	const path = "/v1/admin/nodes/ams-1"
	var drained rest.Drained
	s.must(200, admin, "POST", path+"/drain?dryRun=true", `{"deadline":"10m"}`, &drained)
	if drained.Applied || drained.Impact == nil || len(drained.Node.Holds) != 0 || s.audits("node_drained") != 0 {
		t.Errorf("a dry run: %+v", drained)
	}
	s.must(200, admin, "POST", path+"/drain", `{"deadline":"10m","reason":"new disk"}`, &drained)
	if !drained.Applied || len(drained.Node.Holds) != 1 || drained.Node.Holds[0].Kind != "drain" || drained.Node.Holds[0].Reason != "new disk" || drained.Node.Holds[0].Deadline == nil {
		t.Errorf("drained %+v", drained)
	}
	s.must(409, admin, "POST", path+"/uncordon", `{"kind":"auto"}`, nil)
	var node rest.Node
	s.must(200, admin, "POST", path+"/uncordon", "", &node)
	if len(node.Holds) != 0 {
		t.Errorf("holds %+v", node.Holds)
	}
	s.must(200, admin, "POST", path+"/leave", `{"reason":"sold"}`, &node)
	if node.Lease != "left" {
		t.Errorf("lease %s", node.Lease)
	}
	if s.audits("node_drained") != 1 || s.audits("node_uncordoned") != 1 || s.audits("node_left") != 1 {
		t.Error("an entry is missing")
	}
}

// A pool exhausted a thousand times by one app is one alarm with a count, and what
// only looks raises none.
func TestReal_AnAlarmFromItsRaisingToItsSilence(t *testing.T) {
	s := newServer(t)
	admin := s.setup()
	owner, ann := s.user(admin, "cam")
	_, bob := s.user(admin, "mic")
	var none rest.List[rest.Alarm]
	s.must(200, ann, "GET", "/v1/apps/cam/candidates", "", nil)
	s.must(200, admin, "GET", "/v1/admin/alignment", "", nil)
	if s.must(200, admin, "GET", "/v1/admin/alarms", "", &none); len(none.Items) != 0 {
		t.Fatalf("a preview raised %+v", none.Items)
	}
	const times = 1000
	job := `{"app":"cam","runner":"checksum","whenExhausted":"fail"}`
	s.must(200, ann, "POST", "/v1/jobs/batch", `{"jobs":[`+strings.Repeat(job+",", times-1)+job+`]}`, nil)
	// Written within a second of its last count.
	alarm := s.alarmOf(admin, "cam", func(a *rest.Alarm) bool { return a.Count == times })
	if alarm.Kind != "pool_exhausted" || alarm.Pool != "pool-"+owner || alarm.Severity != "critical" || alarm.ResolvedAt != nil || alarm.Detail == "" {
		t.Errorf("%+v", alarm)
	}
	path := "/v1/admin/alarms/" + alarm.ID
	s.must(403, ann, "POST", path+"/ack", "", nil)
	var told rest.Alarm
	if s.must(200, admin, "POST", path+"/ack", "", &told); told.AcknowledgedBy != "admin" || told.AcknowledgedAt == nil {
		t.Errorf("acknowledged %+v", told)
	}
	if s.must(200, admin, "POST", path+"/silence", `{"for":"1h","reason":"known"}`, &told); told.SilencedBy != "admin" || told.SilencedUntil == nil {
		t.Errorf("silenced %+v", told)
	}
	if s.audits("alarm_acknowledged") != 1 || s.audits("alarm_silenced") != 1 {
		t.Error("an entry is missing")
	}
	// Who has a role for another pool hears of none of it.
	var user rest.User
	s.must(201, admin, "POST", "/v1/admin/users", `{"name":"vic"}`, &user)
	var token rest.NewToken
	s.must(201, admin, "POST", "/v1/admin/users/"+user.ID+"/tokens", `{"name":"first"}`, &token)
	for _, c := range []struct {
		pool string
		want int
	}{{"default", 404}, {"pool-" + owner, 200}} {
		s.must(200, admin, "PUT", "/v1/admin/users/"+user.ID+"/roles", `{"roles":[],"grants":[{"role":"operator","pool":"`+c.pool+`"}]}`, nil)
		s.must(c.want, token.Secret, "GET", path, "", nil)
		s.must(c.want, token.Secret, "POST", path+"/ack", "", nil)
	}
	s.must(403, bob, "GET", path, "", nil)
}

// alarmOf waits until the app's alarm is as wanted; there is one.
func (s *server) alarmOf(token, app string, wanted func(*rest.Alarm) bool) rest.Alarm {
	s.t.Helper()
	var last rest.List[rest.Alarm]
	for range 10_000 {
		s.must(200, token, "GET", "/v1/admin/alarms", "", &last)
		mine := slices.DeleteFunc(slices.Clone(last.Items), func(a rest.Alarm) bool { return a.App != app })
		if len(mine) > 1 {
			s.t.Fatalf("more than one alarm: %+v", mine)
		}
		if len(mine) == 1 && wanted(&mine[0]) {
			return mine[0]
		}
	}
	s.t.Fatalf("alarms %+v", last.Items)
	return rest.Alarm{}
}

// What a role for a pool shows is what the database holds of that pool.
func TestCase_A8_ARoleForAPoolOverTheDatabase(t *testing.T) {
	s := newServer(t)
	admin := s.setup()
	ann, annToken := s.user(admin, "cam")
	bob, bobToken := s.user(admin, "mic")
	for id, owner := range map[string]string{"ams-1": ann, "ber-1": bob} {
		s.must(201, admin, "POST", "/v1/admin/nodes", `{"id":"`+id+`","owner":"`+owner+`","role":"edge"}`, nil)
	}
	s.must(201, annToken, "POST", "/v1/jobs", `{"app":"cam","runner":"checksum"}`, nil)
	var others rest.Job
	s.must(201, bobToken, "POST", "/v1/jobs", `{"app":"mic","runner":"checksum"}`, &others)
	var user rest.User
	var token rest.NewToken
	s.must(201, admin, "POST", "/v1/admin/users", `{"name":"team"}`, &user)
	s.must(201, admin, "POST", "/v1/admin/users/"+user.ID+"/tokens", `{"name":"first"}`, &token)
	s.must(200, admin, "PUT", "/v1/admin/users/"+user.ID+"/roles", `{"roles":[],"grants":[{"role":"operator","pool":"pool-`+ann+`"}]}`, &user)
	if len(user.Grants) != 1 || len(user.Roles) != 0 {
		t.Errorf("user %+v", user)
	}
	team := token.Secret
	for path, want := range map[string]string{
		"/v1/nodes": "ams-1", "/v1/pools": "pool-" + ann, "/v1/admin/node-pools": "pool-" + ann, "/v1/apps": "cam", "/v1/admin/app-pool-bindings": "cam",
	} {
		var list rest.List[struct {
			ID  string `json:"id"`
			App string `json:"app"`
		}]
		s.must(200, team, "GET", path, "", &list)
		if len(list.Items) != 1 || list.Items[0].ID+list.Items[0].App != want {
			t.Errorf("%s: %+v, want %s alone", path, list.Items, want)
		}
	}
	var jobs rest.List[rest.Job]
	if s.must(200, team, "GET", "/v1/jobs", "", &jobs); len(jobs.Items) != 1 || jobs.Items[0].App != "cam" {
		t.Errorf("jobs %+v: want the one that waits for pool-%s", jobs.Items, ann)
	}
	for _, path := range []string{"/v1/nodes/ber-1", "/v1/pools/pool-" + bob, "/v1/apps/mic", "/v1/apps/mic/candidates", "/v1/jobs/" + others.ID, "/v1/jobs/" + others.ID + "/explain"} {
		s.must(404, team, "GET", path, "", nil)
	}
	s.must(200, team, "POST", "/v1/admin/nodes/ams-1/cordon", `{"reason":"fan"}`, nil)
	s.must(404, team, "POST", "/v1/admin/nodes/ber-1/cordon", `{"reason":"fan"}`, nil)
	s.must(404, team, "POST", "/v1/admin/nodes/no-such-node/cordon", "", nil)
	s.must(403, team, "PUT", "/v1/admin/nodes/ams-1/pool", `{"pool":"default"}`, nil)
	// A token of A that asks for B's pool is told nothing of it, and leaves nothing.
	before := storetest.Query[int](t, s.urls, "SELECT count(*)::int FROM jobs")
	for _, pool := range []string{"pool-" + bob, "no-such-pool"} {
		var p rest.Problem
		s.ask(annToken, "POST", "/v1/jobs", `{"app":"cam","runner":"checksum","pool":"`+pool+`"}`, &p)
		if p.Status != 403 || p.Code != "pool_not_allowed" || strings.Contains(p.Detail, pool) {
			t.Errorf("%s: %+v", pool, p)
		}
	}
	if after := storetest.Query[int](t, s.urls, "SELECT count(*)::int FROM jobs"); after != before {
		t.Errorf("%d rows more", after-before)
	}
}
