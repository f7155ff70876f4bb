package page_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"rockpool/backend/internal/page"
	"rockpool/web"
)

var built = fstest.MapFS{
	"index.html":            {Data: []byte("<!doctype html>" + strings.Repeat("<p>console</p>", 50))},
	"placeholder.html":      {Data: []byte("<p>not built</p>")},
	"assets/index-abc.js":   {Data: []byte(strings.Repeat("work();", 100))},
	"assets/font-abc.woff2": {Data: []byte("wOF2")},
	"icon.svg":              {Data: []byte("<svg/>")},
}

func serve(t *testing.T, files fstest.MapFS) http.Handler {
	t.Helper()
	p, err := page.New(files)
	if err != nil {
		t.Fatal(err)
	}
	return p.Beside(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "api "+r.URL.Path)
	}))
}

func ask(h http.Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestPage_WhatStandsWhere(t *testing.T) {
	h := serve(t, built)
	for _, c := range []struct {
		path, body, media, cache string
		status                   int
	}{
		{"/", "console", "text/html; charset=utf-8", "no-cache", 200},
		{"/nodes/ams-edge-03.example", "console", "text/html; charset=utf-8", "no-cache", 200},
		{"/setup", "console", "text/html; charset=utf-8", "no-cache", 200},
		{"/v1x", "console", "text/html; charset=utf-8", "no-cache", 200},
		{"/assets/index-abc.js", "work();", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable", 200},
		{"/assets/font-abc.woff2", "wOF2", "font/woff2", "public, max-age=31536000, immutable", 200},
		{"/assets/gone.js", "no such file", "text/plain; charset=utf-8", "no-store", 404},
		{"/assets/../../etc/passwd", "console", "text/html; charset=utf-8", "no-cache", 200},
		{"/icon.svg", "<svg/>", "image/svg+xml", "no-cache", 200},
	} {
		w := ask(h, http.MethodGet, c.path)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.body) {
			t.Errorf("%s: %d %.60q", c.path, w.Code, w.Body.String())
		}
		if got := w.Header(); got.Get("Content-Type") != c.media || got.Get("Cache-Control") != c.cache {
			t.Errorf("%s: %q, %q", c.path, got.Get("Content-Type"), got.Get("Cache-Control"))
		}
	}
	for _, path := range []string{"/v1", "/v1/nodes", "/livez", "/readyz"} {
		if w := ask(h, http.MethodPost, path); w.Body.String() != "api "+path {
			t.Errorf("%s: %q", path, w.Body.String())
		}
	}
}

func TestPage_HeadersStandOnEveryAnswer(t *testing.T) {
	h := serve(t, built)
	for _, w := range []*httptest.ResponseRecorder{
		ask(h, "GET", "/"), ask(h, "GET", "/assets/index-abc.js"), ask(h, "GET", "/assets/gone.js"), ask(h, "POST", "/nodes"),
	} {
		csp := w.Header().Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self';", "require-trusted-types-for 'script'", "trusted-types 'none'", "frame-ancestors 'none'"} {
			if !strings.Contains(csp, part) {
				t.Errorf("%d: no %q in %q", w.Code, part, csp)
			}
		}
		if strings.Contains(csp, "unsafe") || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%d: %v", w.Code, w.Header())
		}
	}
	if w := ask(h, "POST", "/nodes"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

func TestPage_CompressesAndRevalidates(t *testing.T) {
	h := serve(t, built)
	w := ask(h, "GET", "/", "Accept-Encoding", "gzip, br")
	if w.Header().Get("Content-Encoding") != "gzip" {
		t.Fatal("not compressed")
	}
	r, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r); err != nil || !strings.Contains(string(text), "console") {
		t.Fatalf("%q, %v", text, err)
	}
	if again := ask(h, "GET", "/", "If-None-Match", w.Header().Get("ETag")); again.Code != http.StatusNotModified {
		t.Fatalf("%d", again.Code)
	}
	if head := ask(h, "HEAD", "/"); head.Body.Len() != 0 || head.Code != 200 {
		t.Fatalf("%d, %d bytes", head.Code, head.Body.Len())
	}
}

func TestPage_PlaceholderUntilTheConsoleIsBuilt(t *testing.T) {
	h := serve(t, fstest.MapFS{"placeholder.html": built["placeholder.html"]})
	if w := ask(h, "GET", "/nodes"); w.Code != 200 || !strings.Contains(w.Body.String(), "not built") {
		t.Fatalf("%d %q", w.Code, w.Body.String())
	}
	if _, err := page.New(fstest.MapFS{}); err == nil {
		t.Fatal("files without a placeholder are taken")
	}
}

func TestPage_WhatIsEmbeddedCanBeServed(t *testing.T) {
	if _, err := page.New(web.Files()); err != nil {
		t.Fatal(err)
	}
}
