package api

import (
	"net/http"
	"strings"
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
)

func TestPlacement_IsCreatedOnceForItsKey(t *testing.T) {
	w := newWorld(t)
	const body = `{"app":"app-7","role":"edge","key":"stream-42","purpose":"publish","slots":1,"memoryMib":256,"ttl":"10m","count":1,"backend":"cpu","region":"eu"}`
	rec := w.asUser(ann, http.MethodPost, "/v1/placements", body)
	first := read[rest.Placement](t, rec)
	if rec.Code != 201 || rec.Header().Get("Location") != "/v1/placements/"+first.ID || first.Nodes[0].Endpoints["publish"] != "https://node-7" || first.Nodes[0].Pool != "pool-7" {
		t.Fatalf("%d %v %s", rec.Code, rec.Header(), rec.Body)
	}
	spec := w.asks[0].Spec
	if spec.Demands.Slots != 1 || spec.Demands.Memory[0].Amount != 256 || spec.TTLMs != 600_000 || spec.Owner != ann || spec.Submitter != ann || spec.Region != "eu" {
		t.Errorf("asked for %+v", spec)
	}
	again := w.asUser(ann, http.MethodPost, "/v1/placements", body)
	if got := read[rest.Placement](t, again); again.Code != 200 || got.ID != first.ID || again.Header().Get("Location") == "" {
		t.Errorf("%d %s", again.Code, again.Body)
	}
}

func TestPlacement_Defaults(t *testing.T) {
	w := newWorld(t)
	if rec := w.asUser(ann, http.MethodPost, "/v1/placements", `{"app":"app-7","role":"edge"}`); rec.Code != 201 {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	if s := w.asks[0].Spec; s.Count != 1 || s.TTLMs != fleet.DefaultTTLMs || s.Demands.Slots != 0 || s.Key != "" {
		t.Errorf("%+v", s)
	}
}

func TestPlacement_IsRefused(t *testing.T) {
	w := newWorld(t)
	for rest, want := range map[string]string{
		`"role":""`:                    "role is missing",
		`"role":"Edge"`:                "role:",
		`"role":"weaver"`:              "there is no role weaver",
		`"role":"edge","slots":65`:     "slots must be 0 to 64",
		`"role":"edge","slots":-1`:     "slots must be 0 to 64",
		`"role":"edge","memoryMib":-1`: "memoryMib must be",
		`"role":"edge","count":0`:      "count must be 1 to 16",
		`"role":"edge","count":17`:     "count must be 1 to 16",
		`"role":"edge","ttl":"9s"`:     "ttl must be 10s to 24h",
		`"role":"edge","ttl":"25h"`:    "ttl must be 10s to 24h",
		`"role":"edge","key":"a b"`:    "key must be 1 to 200 visible characters",
		`"role":"edge","key":"` + strings.Repeat("k", 201) + `"`: "key must be",
		`"role":"edge","purpose":"a\nb"`:                         "control character",
		`"role":"edge","backend":"auto"`:                         `backend "auto"`,
		`"role":"edge","region":"eu west"`:                       "region:",
		`"role":"edge","pool":"pool-8"`:                          "pool",
	} {
		rec := w.asUser(ann, http.MethodPost, "/v1/placements", `{"app":"app-7",`+rest+`}`)
		if rec.Code/100 != 4 || !strings.Contains(rec.Body.String(), jsonText(want)) {
			t.Errorf("%s: %d %s", rest, rec.Code, rec.Body)
		}
	}
	if len(w.asks) != 0 {
		t.Errorf("%d asks reached the loop", len(w.asks))
	}
}

func jsonText(s string) string { return strings.ReplaceAll(s, `"`, `\"`) }

func TestPlacement_ExhaustedSaysWhyOfEveryPool(t *testing.T) {
	w := newWorld(t)
	w.exhausted = true
	rec := w.asUser(ann, http.MethodPost, "/v1/placements", `{"app":"app-7","role":"edge"}`)
	p := read[rest.Problem](t, rec)
	want := []rest.Reason{{Pool: "pool-7", Reason: "draining", Nodes: 1}, {Pool: "pool-7", Reason: "slots", Nodes: 2}}
	if rec.Code != 503 || p.Code != "pool_exhausted" || len(p.Reasons) != 2 || p.Reasons[0] != want[0] || p.Reasons[1] != want[1] || !strings.Contains(p.Detail, "Fallback to default is off") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if rec.Header().Get("Retry-After") != "" {
		t.Error("it asks for a repetition")
	}
}

func TestPlacement_PastTheQuotaSaysWhenToAskAgain(t *testing.T) {
	w := newWorld(t)
	w.over = "placements"
	rec := w.asUser(ann, http.MethodPost, "/v1/placements", `{"app":"app-7","role":"edge"}`)
	if p := read[rest.Problem](t, rec); rec.Code != 429 || p.Code != "rate_limited" || rec.Header().Get("Retry-After") == "" {
		t.Errorf("%d %v %s", rec.Code, rec.Header(), rec.Body)
	}
}

func TestPlacement_AKeyOfAPostIsRepeatable(t *testing.T) {
	w := newWorld(t)
	post := func(as int64, body string) (int, string, string) {
		rec := w.asUser(as, http.MethodPost, "/v1/placements", body, "Idempotency-Key", "k")
		if rec.Code >= 300 {
			return rec.Code, read[rest.Problem](t, rec).Code, ""
		}
		return rec.Code, read[rest.Placement](t, rec).ID, rec.Header().Get("Idempotency-Replayed")
	}
	code, id, _ := post(ann, `{"app":"app-7","role":"edge"}`)
	again, same, replayed := post(ann, `{"role":"edge","app":"app-7"}`)
	if code != 201 || again != 200 || same != id || replayed != "true" {
		t.Errorf("%d %s, then %d %s %q", code, id, again, same, replayed)
	}
	if code, why, _ := post(ann, `{"app":"app-7","role":"edge","slots":1}`); code != 422 || why != "idempotency_key_reused" {
		t.Errorf("another body: %d %s", code, why)
	}
	if code, other, _ := post(bob, `{"app":"app-8","role":"edge"}`); code != 201 || other == id {
		t.Errorf("another user's: %d %s", code, other)
	}
	if rec := w.asUser(ann, http.MethodPost, "/v1/jobs", smallJob, "Idempotency-Key", "k"); rec.Code != 422 {
		t.Errorf("a job under a placement's key: %d %s", rec.Code, rec.Body)
	}
}

func TestPlacement_EndsOnce(t *testing.T) {
	w := newWorld(t)
	path := "/v1/placements/" + jobIDOf(ann).String()
	for range 2 {
		rec := w.asUser(ann, http.MethodDelete, path, "")
		if got := read[rest.Placement](t, rec); rec.Code != 200 || got.State != "released" {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
	}
	rec := w.asUser(ann, http.MethodPost, path+"/renew", "")
	if p := read[rest.Problem](t, rec); rec.Code != 409 || p.Code != "conflict" || !strings.Contains(p.Detail, "released") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	for _, body := range []string{`{"ttl":"1s"}`, `{"ttl":"48h"}`} {
		if rec := w.asUser(bob, http.MethodPost, "/v1/placements/"+jobIDOf(bob).String()+"/renew", body); rec.Code != 400 {
			t.Errorf("%s: %d %s", body, rec.Code, rec.Body)
		}
	}
}

func TestPlacements_AreFiltered(t *testing.T) {
	w := newWorld(t)
	for query, want := range map[string]int{
		"": 2, "?app=app-7": 1, "?key=stream-8": 1, "?node=node-7": 1, "?state=active": 2, "?state=lost": 0, "?app=app-7&node=node-8": 0,
	} {
		list := read[rest.List[rest.Placement]](t, w.asUser(root, http.MethodGet, "/v1/placements"+query, ""))
		if len(list.Items) != want {
			t.Errorf("%q: %d items", query, len(list.Items))
		}
	}
	for _, query := range []string{"?app=A", "?state=gone", "?node=x/y", "?key=a%20b", "?lasting=true"} {
		if rec := w.asUser(root, http.MethodGet, "/v1/placements"+query, ""); rec.Code != 400 {
			t.Errorf("%q: %d", query, rec.Code)
		}
	}
	if doc := read[rest.Placement](t, w.asUser(ann, http.MethodGet, "/v1/placements/"+jobIDOf(ann).String(), "")); doc.Decision == nil || doc.Decision.Text == "" {
		t.Errorf("%+v", doc)
	}
}
