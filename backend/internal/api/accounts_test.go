package api

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"rockpool/backend/internal/enroll"
	"rockpool/backend/internal/rest"
)

func TestMove_TheVersionMustBeTheOneThatWasSeen(t *testing.T) {
	w := newWorld(t)
	seen := w.asUser(root, http.MethodGet, "/v1/nodes/node-7", "")
	if seen.Header().Get("ETag") != `"17"` {
		t.Fatalf("ETag %q", seen.Header().Get("ETag"))
	}
	const target = "/v1/admin/nodes/node-7/pool"
	for _, c := range []struct {
		name, match, body string
		status            int
	}{
		{"another version", `"16"`, `{"pool":"default"}`, 412},
		{"no ETag", `17`, `{"pool":"default"}`, 400},
		{"weak", `W/"17"`, `{"pool":"default"}`, 400},
		{"no such pool", `"17"`, `{"pool":"pool-77"}`, 422},
		{"no pool", `"17"`, `{}`, 400},
		{"no name", `"17"`, `{"pool":"../x"}`, 400},
		{"a reason of two lines", `"17"`, `{"pool":"default","reason":"a\nb"}`, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			if rec := w.asUser(root, http.MethodPut, target, c.body, "If-Match", c.match); rec.Code != c.status {
				t.Errorf("%d %s", rec.Code, rec.Body)
			}
		})
	}
	rec := w.asUser(root, http.MethodPut, target, `{"pool":"unassigned","reason":"disk replacement"}`, "If-Match", `"17"`)
	want := rest.Moved{Node: "node-7", From: "pool-7", To: "unassigned", Running: 1, Applied: true, Version: 18}
	if got := read[rest.Moved](t, rec); rec.Code != 200 || !reflect.DeepEqual(got, want) || rec.Header().Get("ETag") != `"18"` {
		t.Errorf("%d %+v %v", rec.Code, got, rec.Header())
	}
	if rec := w.asUser(root, http.MethodPut, "/v1/admin/nodes/node-404/pool", `{"pool":"default"}`); rec.Code != 404 {
		t.Errorf("no such node: %d", rec.Code)
	}
}

func TestLists_AUserSeesTheirOwn(t *testing.T) {
	w := newWorld(t)
	ids := func(user int64, path string) []string {
		type named struct {
			ID string `json:"id"`
		}
		list := []string{}
		for _, item := range read[rest.List[named]](t, w.asUser(user, http.MethodGet, path, "")).Items {
			list = append(list, item.ID)
		}
		return list
	}
	for _, c := range []struct {
		path          string
		ofAnn, ofRoot []string
	}{
		{"/v1/nodes", []string{"node-7"}, []string{"node-7", "node-8"}},
		{"/v1/nodes?pool=pool-8", []string{}, []string{"node-8"}},
		{"/v1/nodes?lease=lost", []string{}, []string{}},
		{"/v1/nodes?pageSize=1", []string{"node-7"}, []string{"node-7"}},
		{"/v1/pools", []string{"default", "pool-7"}, []string{"canary-1", "default", "pool-1", "pool-7", "pool-8", "pool-9", "unassigned"}},
		{"/v1/apps", []string{"app-7"}, []string{"app-7", "app-8"}},
		{"/v1/licenses", []string{"license-7"}, []string{"license-7", "license-8"}},
		{"/v1/tokens", []string{"token-7"}, []string{}},
		{"/v1/jobs", []string{jobIDOf(ann).String()}, []string{jobIDOf(bob).String(), jobIDOf(ann).String()}},
	} {
		if got := ids(ann, c.path); !slices.Equal(got, c.ofAnn) {
			t.Errorf("%s: ann sees %q", c.path, got)
		}
		if got := ids(root, c.path); !slices.Equal(got, c.ofRoot) {
			t.Errorf("%s: the superadmin sees %q", c.path, got)
		}
	}
}

func TestLicense_ItsCodeIsShownOnce(t *testing.T) {
	w := newWorld(t)
	rec := w.asUser(root, http.MethodPost, "/v1/admin/licenses", `{"user":"7","roles":["edge","worker"],"nodes":5}`)
	made := read[rest.NewLicense](t, rec)
	if _, ok := enroll.ParseLicenseCode(made.LicenseCode); rec.Code != 201 || !ok || made.User != "7" || made.Nodes != 5 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if again := w.asUser(root, http.MethodGet, "/v1/licenses/"+made.ID, ""); again.Code != 200 || strings.Contains(again.Body.String(), "RPL-") {
		t.Errorf("%d %s", again.Code, again.Body)
	}
	for body, status := range map[string]int{
		`{"user":"99"}`: 422, `{"user":"07"}`: 400, `{"user":"ann"}`: 400, `{}`: 400, `{"user":"7","nodes":0}`: 400, `{"user":"7","nodes":100001}`: 400,
		`{"user":"7","roles":["Edge"]}`: 400, `{"user":"7","roles":["edge","edge"]}`: 400, `{"user":"7","maxSlots":65}`: 400,
		`{"user":"7","maxSlots":0}`: 400, `{"user":"7","expiresAt":"2026-11-29T15:04:05Z"}`: 400, `{"user":7}`: 400,
	} {
		if rec := w.asUser(root, http.MethodPost, "/v1/admin/licenses", body); rec.Code != status {
			t.Errorf("%s: %d %s", body, rec.Code, rec.Body)
		}
	}
}

func TestToken_IsShownOnce(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		user   int64
		target string
		owner  string
	}{{ann, "/v1/tokens", "7"}, {root, "/v1/admin/users/8/tokens", "8"}} {
		rec := w.asUser(c.user, http.MethodPost, c.target, `{"name":"laptop","scopes":["read"],"expiresAt":"2027-01-01T00:00:00Z"}`)
		made := read[rest.NewToken](t, rec)
		if _, ok := enroll.ParseTokenSecret(made.Secret); rec.Code != 201 || !ok || made.User != c.owner || made.Scopes[0] != "read" {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
	}
	if list := w.asUser(ann, http.MethodGet, "/v1/tokens", ""); strings.Contains(list.Body.String(), "rp_") {
		t.Error("the list shows a secret")
	}
	for _, body := range []string{`{}`, `{"name":""}`, `{"name":"a","scopes":["all"]}`, `{"name":"a","scopes":["read","read"]}`, `{"name":"a","expiresAt":"2020-01-01T00:00:00Z"}`, `{"name":"\u0007"}`} {
		if rec := w.asUser(ann, http.MethodPost, "/v1/tokens", body); rec.Code != 400 {
			t.Errorf("%s: %d", body, rec.Code)
		}
	}
	if rec := w.asUser(root, http.MethodPost, "/v1/admin/users/99/tokens", `{"name":"a"}`); rec.Code != 404 {
		t.Errorf("no such user: %d", rec.Code)
	}
}

func TestAttack_A64_NobodyRaisesThemselves(t *testing.T) {
	w := newWorld(t)
	for _, user := range []int64{ann, vera, olga} {
		rec := w.asUser(user, http.MethodPut, fmt.Sprintf("/v1/admin/users/%d/roles", user), `{"roles":["superadmin"]}`)
		if rec.Code != 403 {
			t.Errorf("user %d: %d", user, rec.Code)
		}
		if rec := w.asUser(user, http.MethodPost, "/v1/admin/users/1/tokens", `{"name":"mine"}`); rec.Code != 403 {
			t.Errorf("user %d makes a superadmin's token: %d", user, rec.Code)
		}
	}
	if rec := w.asUser(root, http.MethodPut, "/v1/admin/users/1/roles", `{"roles":["user"]}`); rec.Code != 409 {
		t.Errorf("the last superadmin steps down: %d %s", rec.Code, rec.Body)
	}
	for _, body := range []string{`{"roles":[]}`, `{}`, `{"roles":["root"]}`, `{"roles":["node"]}`, `{"roles":["anonymous"]}`, `{"roles":["user","user"]}`} {
		if rec := w.asUser(root, http.MethodPut, "/v1/admin/users/7/roles", body); rec.Code != 400 {
			t.Errorf("%s: %d", body, rec.Code)
		}
	}
}

func TestAttack_A81_TheFirstSuperadminNeedsTheSetupToken(t *testing.T) {
	w := newWorld(t)
	for _, body := range []string{`{"setupToken":""}`, `{"setupToken":"admin"}`, `{}`, `{"setupToken":"` + enroll.NewSetupToken().Text + `"}`} {
		if rec := w.ask("", http.MethodPost, "/v1/setup", body); rec.Code != 401 {
			t.Errorf("%s: %d %s", body, rec.Code, rec.Body)
		}
	}
	right := `{"setupToken":"` + w.setup.Text + `","name":"ada"}`
	rec := w.ask("", http.MethodPost, "/v1/setup", right)
	done := read[rest.SetupDone](t, rec)
	if _, ok := enroll.ParseTokenSecret(done.Token.Secret); rec.Code != 201 || !ok || done.User.Name != "ada" || !slices.Equal(done.User.Roles, []string{"superadmin"}) {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if rec := w.ask("", http.MethodPost, "/v1/setup", right); rec.Code != 401 {
		t.Errorf("a second time: %d %s", rec.Code, rec.Body)
	}
}

func TestSetup_IsNotGuessed(t *testing.T) {
	w := newWorld(t)
	for i := range setupBurst + 1 {
		w.peers = 1 << 10 // the same address again and again
		want := 401
		if i == setupBurst {
			want = 429
		}
		if rec := w.ask("", http.MethodPost, "/v1/setup", `{"setupToken":"x"}`); rec.Code != want {
			t.Errorf("try %d: %d %s", i, rec.Code, rec.Body)
		}
	}
}

func TestCreateUserAndApp_CheckWhatTheyTake(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		target, body string
		status       int
	}{
		{"/v1/admin/users", `{"name":""}`, 400},
		{"/v1/admin/users", `{"name":" carol"}`, 400},
		{"/v1/admin/users", `{"name":"a\u0000"}`, 400},
		{"/v1/admin/users", `{"name":"carol","roles":["god"]}`, 400},
		{"/v1/admin/users", `{"name":"carol","id":"1"}`, 400},
		{"/v1/admin/users", `{"name":"Carol Ødegård","roles":["user","operator"]}`, 201},
		{"/v1/admin/apps", `{"id":"Cam"}`, 400},
		{"/v1/admin/apps", `{"id":"cam","owner":"99"}`, 422},
		{"/v1/admin/apps", `{"id":"cam","owner":"-7"}`, 400},
		{"/v1/admin/apps", `{"id":"cam"}`, 201},
		{"/v1/admin/apps", `{"id":"cam"}`, 409},
	} {
		if rec := w.asUser(root, http.MethodPost, c.target, c.body); rec.Code != c.status {
			t.Errorf("%s %s: %d %s", c.target, c.body, rec.Code, rec.Body)
		}
	}
}
