package api

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"rockpool/backend/internal/artifact"
	"rockpool/backend/internal/rest"
)

func sumOf(content string) (artifact.Digest, string) {
	sum := sha256.Sum256([]byte(content))
	return artifact.DigestOf(sum[:]), "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

func TestArtifact_WhatIsUploadedIsDownloaded(t *testing.T) {
	w := newWorld(t)
	const content = "<svg onload=alert(1)>"
	digest, header := sumOf(content)
	rec := w.asUser(ann, http.MethodPost, "/v1/artifacts?digest="+string(digest), content, "Content-Type", "image/svg+xml", "Content-Digest", header)
	doc := read[rest.Artifact](t, rec)
	if rec.Code != 201 || doc.Digest != string(digest) || doc.Size != int64(len(content)) || rec.Header().Get("Location") != "/v1/artifacts/"+string(digest) {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	rec = w.asUser(ann, http.MethodGet, "/v1/artifacts/"+string(digest), "")
	if rec.Code != 200 || rec.Body.String() != content {
		t.Errorf("%d %q", rec.Code, rec.Body)
	}
	part := w.asUser(ann, http.MethodGet, "/v1/artifacts/"+string(digest), "", "Range", "bytes=1-3")
	if part.Code != 206 || part.Body.String() != "svg" {
		t.Errorf("a range: %d %q", part.Code, part.Body)
	}
	if rec := w.asUser(ann, http.MethodHead, "/v1/artifacts/"+string(digest), ""); rec.Code != 200 || rec.Header().Get("Content-Length") != "21" {
		t.Errorf("HEAD: %d %v", rec.Code, rec.Header())
	}
}

func TestAttack_A48_AnArtifactIsNeverShownInPlace(t *testing.T) {
	h := newWorld(t).asUser(ann, http.MethodGet, "/v1/artifacts/"+string(digestOf(ann)), "").Header()
	for name, want := range map[string]string{
		"Content-Type": "application/octet-stream", "Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff",
	} {
		if h.Get(name) != want {
			t.Errorf("%s: %q", name, h.Get(name))
		}
	}
	if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, "sandbox") || !strings.Contains(csp, "default-src 'none'") {
		t.Errorf("policy %q", csp)
	}
}

func TestAttack_A54_WhatIsAnnouncedMustBeTrue(t *testing.T) {
	w := newWorld(t)
	digest, header := sumOf("one")
	other, otherHeader := sumOf("two")
	for _, c := range []struct {
		name, method, target, body, header string
		status                             int
	}{
		{"another digest in the path", http.MethodPut, "/v1/artifacts/" + string(other), "one", "", 422},
		{"another digest in the query", http.MethodPost, "/v1/artifacts?digest=" + string(other), "one", "", 422},
		{"another digest in the header", http.MethodPost, "/v1/artifacts", "one", otherHeader, 422},
		{"path and header differ", http.MethodPut, "/v1/artifacts/" + string(digest), "one", otherHeader, 400},
		{"a broken header", http.MethodPost, "/v1/artifacts", "one", "sha-256=one", 400},
		{"a weak header alone", http.MethodPost, "/v1/artifacts", "one", "md5=:AAAA:", 400},
		{"no digest in the path", http.MethodPut, "/v1/artifacts/one", "one", "", 400},
		{"too large", http.MethodPost, "/v1/artifacts", strings.Repeat("x", 1<<16+1), "", 413},
		{"all is true", http.MethodPut, "/v1/artifacts/" + string(digest), "one", "sha-512=:AAAA:, " + header, 201},
		{"at the bound", http.MethodPost, "/v1/artifacts", strings.Repeat("x", 1<<16), "", 201},
		{"empty", http.MethodPost, "/v1/artifacts", "", "", 201},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := len(w.artifacts)
			headers := []string{"Content-Type", "application/octet-stream"}
			if c.header != "" {
				headers = append(headers, "Content-Digest", c.header)
			}
			rec := w.asUser(bob, c.method, c.target, c.body, headers...)
			if rec.Code != c.status {
				t.Errorf("%d %s", rec.Code, rec.Body)
			}
			if (len(w.artifacts) > before) != (c.status == 201) {
				t.Errorf("%d artifacts, there were %d", len(w.artifacts), before)
			}
		})
	}
}

// A connection that breaks is no fault of the server's.
func TestArtifact_ABrokenConnectionIsTheClientsTrouble(t *testing.T) {
	w := newWorld(t)
	r := httptest.NewRequest(http.MethodPost, "/v1/artifacts", io.MultiReader(strings.NewReader("half"), iotest.ErrReader(syscall.ECONNRESET)))
	r.ContentLength = 8
	r.Header.Set("Authorization", "Bearer "+w.secrets[userText(bob)].Text)
	rec := httptest.NewRecorder()
	if w.ServeHTTP(rec, r); rec.Code != 400 || !strings.Contains(rec.Body.String(), "ended early") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// An upload says how long it is: what never ends would have to be counted to its end.
func TestAttack_A54_AnUploadWithoutALengthIsRefused(t *testing.T) {
	w := newWorld(t)
	for _, target := range []string{"POST /v1/artifacts", "PUT /v1/artifacts/" + string(digestOf(bob)), "PATCH /v1/uploads/" + string(digestOf(bob))} {
		method, path, _ := strings.Cut(target, " ")
		r := httptest.NewRequest(method, path, io.MultiReader(strings.NewReader("x"))) // chunked, over a socket
		r.Header.Set("Authorization", "Bearer "+w.secrets[userText(bob)].Text)
		r.Header.Set("Upload-Offset", "0")
		r.Header.Set("Upload-Length", "1")
		rec := httptest.NewRecorder()
		if w.ServeHTTP(rec, r); rec.Code != 400 || !strings.Contains(rec.Body.String(), "Content-Length") {
			t.Errorf("%s: %d %s", target, rec.Code, rec.Body)
		}
	}
}

func TestArtifact_ANodeGetsTheInputsOfItsOpenJobs(t *testing.T) {
	w := newWorld(t)
	if rec := w.ask("node", http.MethodGet, "/v1/artifacts/"+string(digestOf(ann)), ""); rec.Code != 200 || rec.Body.String() != contentOf(ann) {
		t.Errorf("its input: %d", rec.Code)
	}
	if rec := w.ask("node", http.MethodGet, "/v1/artifacts/"+string(digestOf(bob)), ""); rec.Code != 404 {
		t.Errorf("another's file: %d", rec.Code)
	}
	if rec := w.ask("node", http.MethodPost, "/v1/artifacts", "x"); rec.Code != 403 {
		t.Errorf("an upload: %d", rec.Code)
	}
}
