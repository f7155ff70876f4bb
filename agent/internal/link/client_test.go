package link

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"rockpool/shared/ids"
	"rockpool/shared/nodecore"
	"rockpool/shared/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ample is how long nothing may move where a test is not about that.
const ample = time.Minute

func artifacts(t *testing.T, wait time.Duration, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL + "/base/")
	if err != nil {
		t.Fatal(err)
	}
	a := NewClient(u, nil, func() string { return "s3cret" }, wait)
	t.Cleanup(a.Close)
	return a
}

func TestOpen_ShowsTheSecretAndReads(t *testing.T) {
	a := artifacts(t, ample, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/base/v1/artifacts/sha256:00" || r.Header.Get("Authorization") != "Bearer s3cret" {
			t.Errorf("asked for %s with %q", r.URL.Path, r.Header.Get("Authorization"))
		}
		_, _ = w.Write([]byte("content"))
	})
	body, _, err := a.Open(t.Context(), "sha256:00", 0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(body)
	if err := errors.Join(err, body.Close()); err != nil || string(got) != "content" {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestOpen_SecretDoesNotFollowARedirect(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("followed with %q", r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	a := artifacts(t, ample, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL, http.StatusFound) })
	_, _, err := a.Open(t.Context(), "sha256:00", 0)
	var status *StatusError
	if !errors.As(err, &status) || !status.Final() {
		t.Errorf("error %v, want a final one", err)
	}
}

func TestOpen_FollowsARedirectOnItsOwnServer(t *testing.T) {
	a := artifacts(t, ample, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		case r.URL.Path != "/moved":
			http.Redirect(w, r, map[bool]string{true: "/round", false: "/moved"}[strings.HasSuffix(r.URL.Path, "01")], http.StatusFound)
		default:
			_, _ = io.WriteString(w, r.Header.Get("Authorization"))
		}
	})
	body, _, err := a.Open(t.Context(), "sha256:00", 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(body); err != nil || string(got) != "Bearer s3cret" {
		t.Errorf("read %q, %v", got, err)
	}
	_ = body.Close()
	if _, _, err := a.Open(t.Context(), "sha256:01", 0); err == nil || !err.(interface{ Unwrap() error }).Unwrap().(*StatusError).Final() {
		t.Errorf("round and round: %v", err)
	}
}

func TestOpen_GoesOnWhereItBrokeOff(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request)
		at     int64
		read   string
		fails  bool
	}{
		"the rest": {answer: func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader("content"))
		}, at: 3, read: "tent"},
		"another file by now": {answer: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"sha256:11"`)
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader("another"))
		}, at: 0, read: "another"},
		"no ranges": {answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "content") }, at: 0, read: "content"},
		"another range": {answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 2-6/7")
			w.WriteHeader(http.StatusPartialContent)
		}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			a := artifacts(t, ample, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", `"sha256:00"`)
				c.answer(w, r)
			})
			body, at, err := a.Open(t.Context(), "sha256:00", 3)
			if c.fails {
				if err == nil {
					t.Error("it was taken")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(body)
			if err := errors.Join(err, body.Close()); err != nil || at != c.at || string(got) != c.read {
				t.Errorf("read %q from %d on, %v", got, at, err)
			}
		})
	}
}

func TestPut_GoesOnWhereTheServerSays(t *testing.T) {
	a := artifacts(t, ample, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.Header().Set("Upload-Offset", "3")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		got, err := io.ReadAll(r.Body)
		if err != nil || string(got) != "tent" || r.Header.Get("Upload-Offset") != "3" || r.Header.Get("Upload-Length") != "7" {
			t.Errorf("got %q from %s of %s, %v", got, r.Header.Get("Upload-Offset"), r.Header.Get("Upload-Length"), err)
		}
		w.WriteHeader(http.StatusCreated)
	})
	out, body := output("content")
	offset, err := a.Offset(t.Context(), held, out.Digest)
	if err != nil || offset != 3 {
		t.Fatalf("offset %d, %v", offset, err)
	}
	if err := a.Put(t.Context(), held, out, body, offset); err != nil {
		t.Error(err)
	}
}

func TestStatusError_TellsWhatAnotherTryCouldChange(t *testing.T) {
	for status, final := range map[int]bool{404: true, 401: true, 413: true, 302: true, 409: true, 507: true, 408: false, 429: false, 500: false, 503: false} {
		if got := (&StatusError{Status: status}).Final(); got != final {
			t.Errorf("%d: final = %v, want %v", status, got, final)
		}
	}
}

func TestOpen_ABodyThatStandsStillIsLeft(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	a := artifacts(t, time.Second, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("first"))
		w.(http.Flusher).Flush()
		<-release
	})
	body, _, err := a.Open(t.Context(), "sha256:00", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = body.Close() }()
	if got, err := io.ReadAll(body); err == nil || string(got) != "first" {
		t.Errorf("read %q, %v, want an error after the first piece", got, err)
	}
}

func output(content string) (wire.Output, io.ReaderAt) {
	return wire.Output{Name: "out", Digest: "sha256:00", Size: int64(len(content))}, strings.NewReader(content)
}

var held = nodecore.Ref{Job: ids.JobID{15: 1}, Attempt: 3}

func TestPut_UploadsTheWholeFileForItsAttempt(t *testing.T) {
	for _, content := range []string{"", "content", strings.Repeat("x", 1<<20)} {
		a := artifacts(t, ample, func(w http.ResponseWriter, r *http.Request) {
			got, err := io.ReadAll(r.Body)
			if err != nil || string(got) != content || r.ContentLength != int64(len(content)) {
				t.Errorf("got %d bytes (announced %d) instead of %d: %v", len(got), r.ContentLength, len(content), err)
			}
			want := "/base/v1/uploads/sha256:00?attempt=3&job=00000000-0000-0000-0000-000000000001"
			if r.Method != http.MethodPatch || r.Header.Get("Upload-Offset") != "0" || r.Header.Get("Upload-Length") != strconv.Itoa(len(content)) || r.RequestURI != want || r.Header.Get("Authorization") != "Bearer s3cret" {
				t.Errorf("%s %s with %q", r.Method, r.RequestURI, r.Header.Get("Authorization"))
			}
			w.WriteHeader(http.StatusCreated)
		})
		out, body := output(content)
		if err := a.Put(t.Context(), held, out, body, 0); err != nil {
			t.Error(err)
		}
	}
}

func TestPut_ARefusalComesBeforeTheBytesLeave(t *testing.T) {
	a := artifacts(t, ample, func(w http.ResponseWriter, r *http.Request) { http.Error(w, "not yours", http.StatusNotFound) })
	out, body := output(strings.Repeat("x", 8<<20))
	var status *StatusError
	if err := a.Put(t.Context(), held, out, body, 0); !errors.As(err, &status) || status.Status != http.StatusNotFound || !status.Final() {
		t.Errorf("error %v, want a final 404", err)
	}
}

// What the server says of a refusal is read by people, in a job's detail.
func TestRefusals_AreOneLineOfCodeAndDetail(t *testing.T) {
	for status, code := range map[int]string{401: "unauthenticated", 404: "not_found", 413: "too_large", 503: "unavailable", 507: "storage_full"} {
		a := artifacts(t, ample, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"type":"urn:x:%s","title":"T","status":%d,"code":"%s","detail":"that is why","requestId":"r-1"}`+"\n", code, status, code)
		})
		out, body := output("content")
		_, _, openErr := a.Open(t.Context(), out.Digest, 0)
		for call, err := range map[string]error{"open": openErr, "put": a.Put(t.Context(), held, out, body, 0), "secret": a.PutSecret(t.Context(), "r", "s")} {
			if err == nil || !strings.HasSuffix(err.Error(), fmt.Sprintf("%d %s: %s: that is why", status, http.StatusText(status), code)) {
				t.Errorf("%s: %v", call, err)
			}
		}
	}
}

func TestPut_AServerThatStandsStillIsLeft(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	a := artifacts(t, 100*time.Millisecond, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-release
	})
	out, body := output("content")
	if err := a.Put(t.Context(), held, out, body, 0); err == nil || !strings.Contains(err.Error(), "nothing moved for 100ms") {
		t.Errorf("error %v", err)
	}
}

func TestPut_AShorterFileIsNoUpload(t *testing.T) {
	a := artifacts(t, ample, func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err == nil {
			t.Error("the body came whole")
		}
		w.WriteHeader(http.StatusCreated)
	})
	out, body := output("content")
	out.Size++
	if err := a.Put(t.Context(), held, out, body, 0); err == nil {
		t.Error("it was taken for whole")
	}
}
