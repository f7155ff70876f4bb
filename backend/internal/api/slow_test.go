package api

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

// deadlines is an answer's writer that notes until when the body may be read.
type deadlines struct {
	*httptest.ResponseRecorder
	last time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.last = t
	return nil
}

// stalled is half a body, and then nothing until the deadline.
type stalled struct{ io.Reader }

func (s stalled) Read(p []byte) (int, error) {
	if n, err := s.Reader.Read(p); err == nil {
		return n, nil
	}
	return 0, os.ErrDeadlineExceeded
}

// Who sends half a body must not keep the connection: net/http reads on before the
// answer goes out, so the server's deadline has to stand until the body was read.
func TestSlowBody_IsBoundedWhoeverSendsIt(t *testing.T) {
	w := newWorld(t)
	admin := "Bearer " + w.secrets[userText(ann)].Text
	for name, tc := range map[string]struct {
		method, path, authorization string
		body                        io.Reader
		status                      int
		bounded                     bool
		announced                   int64
	}{
		"nobody":         {"POST", "/v1/jobs", "", stalled{strings.NewReader("{")}, http.StatusUnauthorized, true, -1},
		"no such route":  {"POST", "/v1/nope", "", stalled{strings.NewReader("{")}, http.StatusNotFound, true, -1},
		"a user":         {"POST", "/v1/jobs", admin, stalled{strings.NewReader("{")}, http.StatusBadRequest, true, -1},
		"an upload":      {"POST", "/v1/artifacts", admin, stalled{strings.NewReader("{")}, http.StatusBadRequest, true, 3},
		"a whole body":   {"POST", "/v1/jobs", admin, strings.NewReader("{}"), http.StatusBadRequest, false, 2},
		"a whole upload": {"POST", "/v1/artifacts", admin, strings.NewReader("abc"), http.StatusCreated, false, 3},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(tc.method, tc.path, tc.body)
			r.ContentLength = tc.announced
			r.Header.Set("Content-Type", "application/json")
			if tc.authorization != "" {
				r.Header.Set("Authorization", tc.authorization)
			}
			rec := &deadlines{ResponseRecorder: httptest.NewRecorder(), last: time.Now().Add(time.Minute)}
			w.ServeHTTP(rec, r)
			if tc.announced == 3 && tc.bounded && !strings.Contains(rec.Body.String(), "ended early") {
				t.Errorf("an upload that stands still is refused with %s", rec.Body)
			}
			if rec.Code != tc.status || rec.last.IsZero() == tc.bounded {
				t.Errorf("%d with the deadline %v: %s", rec.Code, rec.last, rec.Body)
			}
		})
	}
}
