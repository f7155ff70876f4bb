package backend

import (
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
)

func TestGate_SaysWhatIsKnownUntilItIsOpen(t *testing.T) {
	g := newGate()
	ask := func(path string, document any) *httptest.ResponseRecorder {
		t.Helper()
		rec := httptest.NewRecorder()
		g.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
		if err := json.Unmarshal(rec.Body.Bytes(), document); err != nil {
			t.Fatalf("%s: %v: %s", path, err, rec.Body)
		}
		return rec
	}
	var health rest.Health
	if rec := ask("/readyz", &health); rec.Code != 503 || health.Status != "unavailable" || rec.Header().Get("Retry-After") == "" {
		t.Errorf("starting: %d %+v", rec.Code, health)
	}
	g.refuse(fleet.Errorf(fleet.CodeStandby, "a (pid 1) dispatches"))
	if rec := ask("/readyz", &health); rec.Code != 503 || health != (rest.Health{Status: "standby", Detail: "a (pid 1) dispatches"}) {
		t.Errorf("standby: %d %+v", rec.Code, health)
	}
	if rec := ask("/livez", &health); rec.Code != 200 || health.Status != "ok" {
		t.Errorf("alive: %d %+v", rec.Code, health)
	}
	var problem rest.Problem
	if rec := ask("/v1/jobs", &problem); rec.Code != 503 || problem.Code != "standby" || problem.Detail != "a (pid 1) dispatches" {
		t.Errorf("a route: %d %+v", rec.Code, problem)
	}
	g.pass(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, "application/json", rest.Health{Status: "open"})
	}))
	if ask("/v1/jobs", &health); health.Status != "open" {
		t.Errorf("open: %+v", health)
	}
	g.close(fleet.Errorf(fleet.CodeUnavailable, "the server is stopping"))
	if rec := ask("/readyz", &health); rec.Code != 503 || health.Detail != "the server is stopping" {
		t.Errorf("closed: %d %+v", rec.Code, health)
	}
}

// dial begins a request at a server that gives bodies a moment only.
func dial(t *testing.T, handler http.Handler, request string) net.Conn {
	t.Helper()
	server := newHTTPServer(handler, bodyMoment, slog.New(slog.DiscardHandler))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close(); <-ended })
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	return conn
}

const (
	bodyMoment = 50 * time.Millisecond
	halfBody   = "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nhalf"
)

// Whoever answers without the body (the pages, a server that starts, stops or stands
// by) is no way to hold a connection.
func TestServer_HalfABodyEndsWhoeverAnswers(t *testing.T) {
	open := newGate()
	open.pass(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a page") }))
	for name, c := range map[string]struct {
		gate *gate
		want string
	}{"starting": {newGate(), "the server is starting"}, "a page": {open, "a page"}} {
		t.Run(name, func(t *testing.T) {
			answer, err := io.ReadAll(dial(t, c.gate, halfBody))
			if err != nil || !strings.Contains(string(answer), c.want) {
				t.Errorf("%q, %v", answer, err)
			}
		})
	}
}

// The bound ends with the request: a socket that came of one lives on.
func TestServer_ASocketHasNoBodysBound(t *testing.T) {
	heard := make(chan error, 1)
	conn := dial(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		taken, source, err := http.NewResponseController(w).Hijack()
		if err != nil {
			heard <- err
			return
		}
		defer taken.Close()
		_, err = io.ReadFull(source, make([]byte, len("half, later")))
		heard <- err
	}), halfBody)
	<-time.After(2 * bodyMoment)
	if _, err := io.WriteString(conn, ", later"); err != nil {
		t.Fatal(err)
	}
	if err := <-heard; err != nil {
		t.Errorf("the socket was cut: %v", err)
	}
}
