package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
)

// Every POST of somebody who is known takes a key, and does what it does once.
func TestInv_I13_EveryPostTakesAKey(t *testing.T) {
	w := newWorld(t)
	contract := newContract(t, w.openAPI)
	tried := 0
	for _, r := range Routes() {
		name := r.Method + " " + r.Path
		row := rights[name]
		if r.Method != http.MethodPost || r.Streams || !strings.HasPrefix(row.want, "401") {
			continue
		}
		tried++
		t.Run(name, func(t *testing.T) {
			w.reset()
			if r.Action == "retry" {
				w.jobs[jobIDOf(ann)].State = fleet.JobDead
			}
			if r.Action == "resolve" {
				w.jobs[jobIDOf(ann)].Cause = fleet.CauseHeld
			}
			if r.Action == "repair" {
				w.nodes["node-7"].Identity.Claimants = []fleet.Claimant{{ID: "aaaa0001"}}
			}
			path, body := w.fill(&r, r.Path, ann), w.fill(&r, row.body, ann)
			if r.Action == "promote" {
				w.nodes["node-7"].Pool = "canary-1"
				path = "/v1/admin/node-pools/canary-1/promote"
			}
			first := w.asUser(root, r.Method, path, body, "Idempotency-Key", "k")
			done := len(w.actors) + len(w.submits) + len(w.asks)
			again := w.asUser(root, r.Method, path, body, "Idempotency-Key", "k")
			if first.Code >= 300 || again.Code >= 300 || again.Header().Get("Idempotency-Replayed") != "true" || first.Header().Get("Location") != again.Header().Get("Location") {
				if r.Path != "/v1/jobs/batch" { // tells it job by job
					t.Errorf("%d %s\nthen %d %v %s", first.Code, first.Body, again.Code, again.Header(), again.Body)
				}
			}
			if now := len(w.actors) + len(w.submits) + len(w.asks); now != done && r.Path != "/v1/jobs/batch" {
				t.Errorf("the second one did something: %d, then %d", done, now)
			}
			contract.check(t, &request{as: "1", method: r.Method, path: path, body: body}, again)
			other := w.asUser(root, r.Method, path+"?x", body, "Idempotency-Key", "k")
			if other.Code != 400 {
				t.Errorf("an unknown parameter: %d", other.Code)
			}
			other = w.asUser(root, http.MethodPost, "/v1/admin/roles", `{"name":"other"}`, "Idempotency-Key", "k")
			if p := read[rest.Problem](t, other); r.Path != "/v1/jobs/batch" && (other.Code != 422 || p.Code != "idempotency_key_reused") {
				t.Errorf("another request: %d %s", other.Code, other.Body)
			}
		})
	}
	if tried < 20 {
		t.Errorf("only %d routes were tried", tried)
	}
}

func TestOnce_SecretsAreNeverKept(t *testing.T) {
	w := newWorld(t)
	for path, body := range map[string]string{
		"/v1/admin/licenses":       `{"user":"7"}`,
		"/v1/tokens":               `{"name":"laptop"}`,
		"/v1/admin/users/7/tokens": `{"name":"first"}`,
		"/v1/admin/nodes":          `{"id":"new-7","owner":"7","role":"edge"}`,
	} {
		first := w.asUser(root, http.MethodPost, path, body, "Idempotency-Key", path)
		again := w.asUser(root, http.MethodPost, path, body, "Idempotency-Key", path)
		var shown, kept map[string]any
		if err := json.Unmarshal(first.Body.Bytes(), &shown); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(again.Body.Bytes(), &kept); err != nil {
			t.Fatal(err)
		}
		secrets := 0
		for _, key := range secretKeys {
			secret, has := shown[key].(string)
			if !has {
				continue
			}
			secrets++
			known := w.keys[idempotencyKey{root, path}]
			if secret == "" || kept[key] != "" || strings.Contains(string(known.Answer.Body), secret) {
				t.Errorf("%s: shown %q, kept %s", path, secret, known.Answer.Body)
			}
		}
		if secrets != 1 || first.Code != 201 || again.Code != 201 || kept["id"] != shown["id"] {
			t.Errorf("%s: %d %s\nthen %d %s", path, first.Code, first.Body, again.Code, again.Body)
		}
	}
}

// A password is guessed by its digest, so that the digest of a request has none.
func TestOnce_APasswordIsNoPartOfTheDigest(t *testing.T) {
	w := newWorld(t)
	digest := func(password string) [32]byte {
		w.reset()
		rec := w.asUser(root, http.MethodPost, "/v1/admin/users", `{"name":"carol","password":"`+password+`"}`, "Idempotency-Key", "k")
		if rec.Code != 201 {
			t.Fatalf("%d %s", rec.Code, rec.Body)
		}
		return w.keys[idempotencyKey{root, "k"}].RequestDigest
	}
	if digest("correct horse battery") != digest("another horse battery") {
		t.Error("the digest tells passwords apart")
	}
}

func TestOnce_WhatIsRefusedLeavesTheKeyFree(t *testing.T) {
	w := newWorld(t)
	ask := func(body string) int {
		return w.asUser(root, http.MethodPost, "/v1/admin/roles", body, "Idempotency-Key", "k").Code
	}
	if a, b, c := ask(`{"name":"edge"}`), ask(`{"name":"caption"}`), ask(`{"name":"other"}`); a != 409 || b != 201 || c != 422 {
		t.Errorf("%d, %d, %d", a, b, c)
	}
}

func TestOnce_TheClaimGoesAlongWithTheActor(t *testing.T) {
	w := newWorld(t)
	w.asUser(root, http.MethodPost, "/v1/admin/roles", `{"name":"caption"}`, "Idempotency-Key", "k")
	w.asUser(root, http.MethodPost, "/v1/admin/roles", `{"name":"scribe"}`)
	if want := (record.Claim{User: root, Key: "k", Number: 1}); len(w.actors) != 2 || w.actors[0].Claim != want || w.actors[1].Claim != (record.Claim{}) {
		t.Errorf("%+v", w.actors)
	}
}

// Whose server was stopped under way gets no second try in the dark.
func TestOnce_WhatIsKnownOfAnUnansweredOne(t *testing.T) {
	w := newWorld(t)
	const body = `{"name":"caption"}`
	w.asUser(root, http.MethodPost, "/v1/admin/roles", body, "Idempotency-Key", "k")
	key := idempotencyKey{root, "k"}
	known := w.keys[key]
	for _, c := range []struct {
		acted  bool
		answer *record.Answer
		status int
	}{
		{false, nil, 503}, {true, nil, 409}, {true, &record.Answer{Status: 201}, 409}, {true, &record.Answer{Status: 204}, 204},
	} {
		known.Acted, known.Answer = c.acted, c.answer
		w.keys[key] = known
		if rec := w.asUser(root, http.MethodPost, "/v1/admin/roles", body, "Idempotency-Key", "k"); rec.Code != c.status {
			t.Errorf("acted %v, answer %+v: %d %s", c.acted, c.answer, rec.Code, rec.Body)
		}
	}
}

func TestOnce_FiftyAtATimeAreOne(t *testing.T) {
	w := newWorld(t)
	codes := make([]string, 50)
	var posts sync.WaitGroup
	for i := range codes {
		posts.Go(func() {
			rec := w.asUser(root, http.MethodPost, "/v1/admin/roles", `{"name":"caption"}`, "Idempotency-Key", "k")
			codes[i] = fmt.Sprint(rec.Code, rec.Header().Get("Idempotency-Replayed"))
		})
	}
	posts.Wait()
	count := map[string]int{}
	for _, code := range codes {
		count[code]++
	}
	if count["201"] != 1 || count["201true"] != 49 && count["201 true"] != 49 {
		t.Errorf("%v", count)
	}
}
