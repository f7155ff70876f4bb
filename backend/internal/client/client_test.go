package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inMemory answers requests without a socket, so that a test's clock can be virtual.
type inMemory http.HandlerFunc

func (h inMemory) RoundTrip(req *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	h(recorder, req)
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	return recorder.Result(), nil
}

// against makes a client of a real server with this handler.
func against(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := New(Options{Server: server.URL, Token: "rp_secret", Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func answer(w http.ResponseWriter, status int, contentType, body string) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}

func TestNew_TakesBaseURLsOnly(t *testing.T) {
	for server, want := range map[string]string{
		"http://127.0.0.1:8700":          "http://127.0.0.1:8700",
		"http://127.0.0.1:8700/":         "http://127.0.0.1:8700",
		"HTTPS://Fleet.Example":          "https://fleet.example",
		"https://fleet.example/Rock/":    "https://fleet.example/Rock",
		"":                               "",
		"fleet.example":                  "",
		"127.0.0.1:8700":                 "",
		"ftp://fleet.example":            "",
		"https://":                       "",
		"https://user:pw@fleet.example":  "",
		"https://fleet.example/?x=1":     "",
		"https://fleet.example/#there":   "",
		"https://fleet.example:port/abc": "",
	} {
		c, err := New(Options{Server: server})
		switch {
		case want == "" && err == nil:
			t.Errorf("%q was taken", server)
		case want != "" && err != nil:
			t.Errorf("%q: %v", server, err)
		case want != "" && c.Server() != want:
			t.Errorf("%q reads %q, want %q", server, c.Server(), want)
		case err != nil && strings.Contains(err.Error(), "pw"):
			t.Errorf("%q: the error shows the password: %v", server, err)
		}
	}
}

func TestNew_RefusesSecretsOverPlainHTTP(t *testing.T) {
	for _, c := range []struct {
		server, token string
		allow, ok     bool
	}{
		{"http://10.0.0.7:8700", "rp_x", false, false},
		{"http://fleet.example", "rp_x", false, false},
		{"http://localhost.example", "rp_x", false, false},
		{"http://fleet.example", "rp_x", true, true},
		{"http://fleet.example", "", false, true},
		{"https://fleet.example", "rp_x", false, true},
		{"http://127.0.0.1:8700", "rp_x", false, true},
		{"http://127.8.9.1", "rp_x", false, true},
		{"http://localhost:8700", "rp_x", false, true},
		{"http://[::1]:8700", "rp_x", false, true},
		{"http://[::ffff:127.0.0.1]:8700", "rp_x", false, true},
	} {
		_, err := New(Options{Server: c.server, Token: c.token, AllowPlainHTTP: c.allow})
		if ok := err == nil; ok != c.ok || !ok && !errors.Is(err, ErrPlainHTTP) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the client went where it was sent")
	}))
	defer elsewhere.Close()
	c := against(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	})
	_, err := c.Pools(t.Context(), Page{})
	if status := (*StatusError)(nil); !errors.As(err, &status) || status.Status != http.StatusTemporaryRedirect {
		t.Errorf("got %v", err)
	}
}

func TestRequestCarriesTokenInItsHeaderOnly(t *testing.T) {
	c := against(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer rp_secret" {
			t.Errorf("Authorization is %q", got)
		}
		if strings.Contains(r.URL.String(), "rp_secret") {
			t.Errorf("the token stands in %s", r.URL)
		}
		answer(w, 200, "application/json", `{"items": [], "nextPageToken": ""}`)
	})
	if _, err := c.Nodes(t.Context(), NodeFilter{Pool: "default"}, Page{}); err != nil {
		t.Fatal(err)
	}
}

func TestUnreachableServerIsNamed(t *testing.T) {
	server := httptest.NewServer(nil)
	address := server.URL
	server.Close()
	c, err := New(Options{Server: address, Transport: &http.Transport{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = c.Version(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "ask "+address+": ") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = c.Version(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: got %v", err)
	}
}

// Whatever an id is, it stays one segment of the path, and comes out as it was.
func TestRoute_KeepsIDsInTheirPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{".", "..", "../admin/users", "a/b", "?x=1", "#", "%2e%2e", "a b"})).Draw(t, "id")
		u, err := url.Parse("http://server" + route("v1", "jobs", id, "log"))
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(u.EscapedPath(), "/")
		if len(parts) != 5 || parts[1] != "v1" || parts[4] != "log" || u.RawQuery != "" || u.Fragment != "" {
			t.Fatalf("%q became %s", id, u)
		}
		if back, err := url.PathUnescape(parts[3]); err != nil || back != id {
			t.Fatalf("%q came out as %q (%v)", id, back, err)
		}
		if parts[3] == "." || parts[3] == ".." {
			t.Fatalf("%q is a step in the path", id)
		}
	})
}
