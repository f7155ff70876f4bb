package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"rockpool/backend/internal/access"
	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
	"rockpool/shared/ids"
)

func TestErrors_AreProblemsEverywhere(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		name, as, method, target, body, contentType string
		status                                      int
		code                                        fleet.Code
	}{
		{"no such path", "7", "GET", "/v1/nope", "", "", 404, fleet.CodeNotFound},
		{"no such path, nobody", "", "GET", "/", "", "", 404, fleet.CodeNotFound},
		{"method", "7", "PATCH", "/v1/jobs", "", "", 405, fleet.CodeMethodNotAllowed},
		{"trace", "", "TRACE", "/livez", "", "", 405, fleet.CodeMethodNotAllowed},
		{"form", "7", "POST", "/v1/jobs", "app=app-7", "application/x-www-form-urlencoded", 415, fleet.CodeUnsupportedMedia},
		{"Attack_A33_TextPlain", "7", "POST", "/v1/jobs", smallJob, "text/plain", 415, fleet.CodeUnsupportedMedia},
		{"no content type", "7", "POST", "/v1/jobs", smallJob, "", 415, fleet.CodeUnsupportedMedia},
		{"another charset", "7", "POST", "/v1/jobs", smallJob, "application/json; charset=utf-16", 415, fleet.CodeUnsupportedMedia},
		{"large", "7", "POST", "/v1/jobs", `{"app":"` + strings.Repeat("a", 1<<20) + `"}`, "application/json", 413, fleet.CodeTooLarge},
		{"empty", "7", "POST", "/v1/jobs", "", "application/json", 400, fleet.CodeBadRequest},
		{"unknown query", "1", "POST", "/v1/admin/nodes/node-7/cordon?dryRun=true", `{"reason":"r"}`, "application/json", 400, fleet.CodeBadRequest},
		{"forbidden", "7", "GET", "/v1/admin/users", "", "", 403, fleet.CodeForbidden},
		{"anonymous", "", "GET", "/v1/jobs", "", "", 401, fleet.CodeUnauthenticated},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := w.ask(c.as, c.method, c.target, c.body, "Content-Type", c.contentType)
			p := read[rest.Problem](t, rec)
			if rec.Code != c.status || p.Code != string(c.code) || p.Status != c.status || p.Title == "" || p.Type != "urn:rockpool:problem:"+p.Code {
				t.Errorf("%d %s", rec.Code, rec.Body)
			}
			h := rec.Header()
			if h.Get("Content-Type") != rest.ProblemType || h.Get("X-Request-Id") == "" || h.Get("X-Request-Id") != p.RequestID || h.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("headers %v", h)
			}
			if c.status == 401 && !strings.HasPrefix(h.Get("WWW-Authenticate"), "Bearer") || c.status == 405 && h.Get("Allow") == "" {
				t.Errorf("headers %v", h)
			}
		})
	}
	if len(w.submits) != 0 {
		t.Error("something was submitted")
	}
}

func TestJSON_WithACharsetIsTaken(t *testing.T) {
	rec := newWorld(t).asUser(ann, "POST", "/v1/jobs", smallJob, "Content-Type", "application/json; charset=utf-8")
	if rec.Code != 201 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestErrors_WhatIsInsideStaysInside(t *testing.T) {
	w := newWorld(t)
	var log bytes.Buffer
	w.log = slog.New(slog.NewTextHandler(&log, nil))
	w.down = errors.New("pq: relation secret_table does not exist")
	rec := w.asUser(root, "GET", "/v1/nodes", "")
	if p := read[rest.Problem](t, rec); rec.Code != 500 || p.Code != "internal" || strings.Contains(rec.Body.String(), "secret_table") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if !strings.Contains(log.String(), "secret_table") || !strings.Contains(log.String(), rec.Header().Get("X-Request-Id")) {
		t.Errorf("the log reads %s", log.String())
	}
}

func TestErrors_APanicIsOne(t *testing.T) {
	w := newWorld(t)
	w.onWait = func(context.Context, ids.JobID) error { panic("boom") }
	w.log = slog.New(slog.NewTextHandler(io.Discard, nil))
	rec := w.asUser(ann, "POST", "/v1/jobs?wait=1s", smallJob)
	if p := read[rest.Problem](t, rec); rec.Code != 500 || p.Code != "internal" || strings.Contains(rec.Body.String(), "boom") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestAttack_A44_NoHeaderNamesTheClient(t *testing.T) {
	w := newWorld(t)
	rec := w.asUser(root, "PUT", "/v1/admin/nodes/node-7/pool", `{"pool":"default"}`,
		"X-Forwarded-For", "203.0.113.9", "X-Real-Ip", "203.0.113.9", "Forwarded", "for=203.0.113.9", "X-Request-Id", "mine")
	if rec.Code != 200 || rec.Header().Get("X-Request-Id") == "mine" {
		t.Fatalf("%d %s %v", rec.Code, rec.Body, rec.Header())
	}
	actor := w.actors[0]
	if !strings.HasPrefix(actor.Address, "10.") || actor.Subject != "u:1" || actor.RequestID != rec.Header().Get("X-Request-Id") {
		t.Errorf("the audit entry says %+v", actor)
	}
}

func TestGuessing_IsHeldBack(t *testing.T) {
	w := newWorld(t)
	ask := func(secret string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "/v1/jobs", nil)
		r.RemoteAddr = "198.51.100.1:1"
		r.Header.Set("Authorization", "Bearer "+secret)
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, r)
		return rec
	}
	wrong := "rp_" + strings.Repeat("A", 43)
	for i := 0; ; i++ {
		rec := ask(wrong)
		if rec.Code == 429 {
			if rec.Header().Get("Retry-After") == "" || read[rest.Problem](t, rec).Code != "rate_limited" || i < 10 {
				t.Errorf("after %d: %v %s", i, rec.Header(), rec.Body)
			}
			break
		}
		if rec.Code != 401 || i > 100 {
			t.Fatalf("try %d answers %d", i, rec.Code)
		}
	}
}

func TestNodeSecret_IsForArtifactsAndTheNextSecretOnly(t *testing.T) {
	w := newWorld(t)
	for _, r := range Routes() {
		if r.Object == "artifact" && r.Action != "upload" || r.Object == "node-secret" || r.Delegated {
			continue
		}
		who := w.policy.Decide([]access.Grant{{Subject: access.SubjectNode, Pool: access.EveryPool}}, r.Object, r.Action)
		if !who.None() {
			t.Errorf("%s %s lets nodes in", r.Method, r.Path)
		}
	}
}

func TestHealth(t *testing.T) {
	w := newWorld(t)
	w.down = errors.New("away")
	w.notReady = fleet.Errorf(fleet.CodeStandby, "the shard is held by other-host")
	if rec := w.ask("", "GET", "/livez", ""); rec.Code != 200 || read[rest.Health](t, rec).Status != "ok" {
		t.Errorf("livez: %d %s", rec.Code, rec.Body)
	}
	rec := w.ask("", "GET", "/readyz", "")
	if h := read[rest.Health](t, rec); rec.Code != 503 || h.Status != "standby" || h.Detail == "" || rec.Header().Get("Retry-After") == "" {
		t.Errorf("readyz: %d %s", rec.Code, rec.Body)
	}
	w.notReady = errors.New("dial unix: refused")
	if h := read[rest.Health](t, w.ask("", "GET", "/readyz", "")); h.Status != "unavailable" || h.Detail != "" {
		t.Errorf("readyz shows %+v", h)
	}
	w.notReady = nil
	if rec := w.ask("", "GET", "/readyz", ""); rec.Code != 200 {
		t.Errorf("readyz: %d", rec.Code)
	}
	w.down, w.frozen = nil, core.Freeze{Since: 1000, Until: 91_000, Cause: core.FrozenByDatabase}
	if h := read[rest.Health](t, w.ask("", "GET", "/readyz", "")); h.Frozen == nil || h.Frozen.By != "database" || h.Frozen.Until == nil ||
		h.Frozen.Until.Sub(h.Frozen.Since.Time) != 90*time.Second {
		t.Errorf("readyz shows a freeze as %+v", h)
	}
	// A wrong credential does not make a health check fail.
	if rec := w.ask("", "GET", "/livez", "", "Authorization", "Bearer nonsense"); rec.Code != 200 {
		t.Errorf("livez with a wrong token: %d", rec.Code)
	}
}

func TestNew_NamesWhatIsMissing(t *testing.T) {
	if _, err := New(Config{}); err == nil || !strings.Contains(err.Error(), "Store is missing") {
		t.Errorf("%v", err)
	}
}

// Who hangs up ends their look, and not their change: what is stored is told to
// whoever decides.
func TestChange_OutlivesItsCaller(t *testing.T) {
	w := newWorld(t)
	for _, r := range Routes() {
		gone, hangUp := context.WithCancel(t.Context())
		hangUp()
		var ended error
		r.Delegated, r.handling = true, plain(func(_ *API, c *call) error {
			ended = c.ctx().Err()
			return nil
		})
		req := httptest.NewRequestWithContext(gone, r.Method, "/", nil)
		if err := w.guard(&r)(w.echo.NewContext(req, httptest.NewRecorder())); err != nil {
			t.Fatal(err)
		}
		if changes := r.Method != http.MethodGet && strings.HasPrefix(r.Path, "/v1/admin/"); changes && ended != nil {
			t.Errorf("%s %s ends with its caller: %v", r.Method, r.Path, ended)
		}
		if r.Method == http.MethodGet && ended == nil {
			t.Errorf("%s %s goes on for nobody", r.Method, r.Path)
		}
	}
}
