// Package page serves the console: the files that were built into the server,
// under a content policy that lets nothing else run. The console is one page
// with many addresses; REST and the channel stand beside it.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// policy lets the console's own files work and nothing else. The hash is of the
// one style element that React Aria's usePress makes (touch-action); the browser
// test fails on any violation, so that an upgrade shows.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-38RhXrc7EdReTKsOm23ZPOCUgniTUUcjky8QOOrQx6o='; " +
	"img-src 'self' data:; font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

var headers = map[string]string{
	"Content-Security-Policy":    policy,
	"X-Content-Type-Options":     "nosniff",
	"X-Frame-Options":            "DENY",
	"Referrer-Policy":            "no-referrer",
	"Cross-Origin-Opener-Policy": "same-origin",
}

// Names of files with a part of their own.
const (
	index       = "index.html"
	placeholder = "placeholder.html" // stands in for a console that was not built
	assets      = "assets/"          // names with a hash: they never change
)

// file is one file, ready to be sent.
type file struct {
	plain, zipped []byte // zipped is nil where that saves nothing
	media, tag    string
	forever       bool
}

// Page serves the console's files. It is an http.Handler.
type Page struct {
	files map[string]file
}

// New reads the files. The console may be missing (the placeholder is served
// then), the placeholder may not.
func New(from fs.FS) (*Page, error) {
	p := &Page{files: map[string]file{}}
	err := fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		p.files[name], err = ready(name, content)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the console's files: %w", err)
	}
	if _, ok := p.files[placeholder]; !ok {
		return nil, fmt.Errorf("the console's files have no %s", placeholder)
	}
	if _, ok := p.files[index]; !ok {
		p.files[index] = p.files[placeholder]
	}
	return p, nil
}

// media types by extension: the machine's own table may lack some and change others,
// and would be held in memory.
var media = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".json": "application/json", ".webmanifest": "application/manifest+json", ".txt": "text/plain; charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png", ".ico": "image/x-icon", ".woff2": "font/woff2",
}

func ready(name string, content []byte) (file, error) {
	sum := sha256.Sum256(content)
	f := file{
		plain: content, media: media[path.Ext(name)],
		tag: `"` + hex.EncodeToString(sum[:16]) + `"`, forever: strings.HasPrefix(name, assets),
	}
	switch {
	case f.media == "":
		return file{}, fmt.Errorf("%s: no media type is known for it: add one", name)
	case f.media == media[".woff2"]:
		return f, nil // is compressed
	}
	var zipped bytes.Buffer
	w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		return file{}, err
	}
	if _, err := w.Write(content); err != nil {
		return file{}, err
	}
	if err := w.Close(); err != nil {
		return file{}, err
	}
	if zipped.Len() < len(content) {
		f.zipped = zipped.Bytes()
	}
	return f, nil
}

// ServeHTTP sends a file, or the page for every address that is none.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	for name, value := range headers {
		h.Set(name, value)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	f, ok := p.find(r.URL.Path)
	if !ok {
		h.Set("Cache-Control", "no-store")
		http.Error(w, "no such file", http.StatusNotFound)
		return
	}
	send(w, r, f)
}

// find gives the file of a path. What looks like a file and is none stays
// missing: a page in the place of a script would only confuse.
func (p *Page) find(at string) (file, bool) {
	name := strings.TrimPrefix(path.Clean("/"+at), "/")
	if f, ok := p.files[name]; ok {
		return f, true
	}
	if strings.HasPrefix(name, assets) {
		return file{}, false
	}
	return p.files[index], true // an id in an address may hold dots
}

func send(w http.ResponseWriter, r *http.Request, f file) {
	h := w.Header()
	h.Set("Content-Type", f.media)
	h.Set("ETag", f.tag)
	h.Set("Vary", "Accept-Encoding")
	if f.forever {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-cache")
	}
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := f.plain
	if f.zipped != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = f.zipped
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // the peer may be gone: nothing to do
	}
}

// Beside gives a handler that leaves to api what is its own and serves the page
// at every other address.
func (p *Page) Beside(api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ofAPI(r.URL.Path) {
			api.ServeHTTP(w, r)
			return
		}
		p.ServeHTTP(w, r)
	})
}

func ofAPI(at string) bool {
	return at == "/v1" || strings.HasPrefix(at, "/v1/") || at == "/livez" || at == "/readyz"
}
