package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/alecthomas/kong"
)

// fakeServer answers by "METHOD /path"; it keeps what it was asked.
type fakeServer struct {
	*httptest.Server
	mu      sync.Mutex
	answers map[string]http.HandlerFunc
	asked   []asked
}

type asked struct {
	call   string // METHOD /path?query
	header http.Header
	body   string
}

func newServer(t *testing.T, answers map[string]http.HandlerFunc) *fakeServer {
	t.Helper()
	s := &fakeServer{answers: answers}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	t.Setenv("ROCKPOOL_SERVER", s.URL)
	t.Setenv("ROCKPOOL_TOKEN", "rp_secret")
	t.Setenv("ROCKPOOL_CREDENTIALS", filepath.Join(t.TempDir(), "credentials"))
	return s
}

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.asked = append(s.asked, asked{r.Method + " " + r.URL.RequestURI(), r.Header.Clone(), string(body)})
	s.mu.Unlock()
	w.Header().Set("X-Request-Id", "req-1")
	if answer, ok := s.answers[r.Method+" "+r.URL.Path]; ok {
		answer(w, r)
		return
	}
	problem(404, "not_found", "there is no such thing")(w, r)
}

func (s *fakeServer) calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, a := range s.asked {
		list = append(list, a.call)
	}
	return list
}

// document answers with JSON.
func document(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

func problem(status int, code, detail string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"code": code, "detail": detail, "status": status, "requestId": "req-1"})
	}
}

// result is how the program ended.
type result struct {
	code      int
	out, errs string
}

func rockpool(t *testing.T, args ...string) result { return rockpoolWith(t, "", args...) }

func rockpoolWith(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), args, strings.NewReader(stdin), &out, &errs)
	return result{code, out.String(), errs.String()}
}

// job is a job's document in a state, for a reason unless that is empty.
func job(state, reason string) string {
	why := "null"
	if reason != "" {
		why = fmt.Sprintf("%q", reason)
	}
	return fmt.Sprintf(`{"id": "j1", "app": "cam-7", "role": "worker", "runner": "checksum", "state": %q, "reason": %s,
		"priority": 50, "attempt": 1, "node": "n1", "pool": "pool-7", "fallback": false, "createdAt": "2026-11-29T15:04:05.123Z",
		"asks": {"slots": 2, "memoryMib": 512, "backend": "cpu", "queueTimeout": "0s", "runTimeout": "10m", "onNodeLost": "requeue", "maxAttempts": 3, "counted": 1},
		"links": {"decision": "", "log": ""}}`, state, why)
}

func TestExitCodes(t *testing.T) {
	submit := []string{"job", "submit", "--app", "cam-7", "--runner", "checksum"}
	waiting := append(submit, "--wait=30ms")
	for name, c := range map[string]struct {
		args   []string
		state  string
		reason string
		want   int
		says   string // on standard error
	}{
		"submitted":            {submit, "queued", "", exitOK, ""},
		"succeeded":            {waiting, "succeeded", "", exitOK, ""},
		"failed":               {waiting, "failed", "exit_code", exitJobFailed, "job j1 ended failed (exit_code)"},
		"timed out on node":    {waiting, "timed_out", "run_timeout", exitJobFailed, "job j1 ended timed_out (run_timeout)"},
		"canceled":             {waiting, "canceled", "canceled", exitJobFailed, "job j1 ended canceled"},
		"dead":                 {waiting, "dead", "attempts_used_up", exitJobFailed, "job j1 ended dead"},
		"not placed":           {waiting, "queued", "pool_exhausted", exitNotPlaced, "job j1 is not placed"},
		"not placed, fails":    {waiting, "failed", "pool_exhausted", exitNotPlaced, "job j1 is not placed"},
		"still queued":         {waiting, "queued", "", exitTimedOut, "rockpool job wait j1"},
		"still running":        {waiting, "running", "", exitTimedOut, "job j1 is still running"},
		"wait: succeeded":      {[]string{"job", "wait", "j1"}, "succeeded", "", exitOK, ""},
		"wait: failed":         {[]string{"job", "wait", "j1"}, "failed", "", exitJobFailed, "job j1 ended failed"},
		"wait: times out":      {[]string{"job", "wait", "j1", "--timeout=30ms"}, "running", "", exitTimedOut, "still running"},
		"get of a failed one":  {[]string{"job", "get", "j1"}, "failed", "exit_code", exitOK, ""},
		"unknown job":          {[]string{"job", "get", "j2"}, "", "", exitError, "there is no such thing (not_found, request req-1)"},
		"no command":           {nil, "", "", exitUsage, "see rockpool --help"},
		"no verb":              {[]string{"job"}, "", "", exitUsage, "see rockpool --help"},
		"unknown command":      {[]string{"jib"}, "", "", exitUsage, "see rockpool --help"},
		"unknown flag":         {[]string{"job", "get", "j1", "--loud"}, "", "", exitUsage, "unknown flag"},
		"argument is missing":  {[]string{"job", "get"}, "", "", exitUsage, "<id>"},
		"no job":               {[]string{"job", "submit"}, "", "", exitUsage, "give the job with -f"},
		"unknown demand":       {append(submit, "--demand", "gpus=1"), "", "", exitUsage, "only slots and memoryMib"},
		"no number":            {append(submit, "--demand", "slots=two"), "", "", exitUsage, "--demand"},
		"senseless wait":       {append(submit, "--wait=soon"), "", "", exitUsage, "--wait"},
		"ends at once":         {[]string{"license", "create", "--user=2", "--expires=0s"}, "", "", exitUsage, "--expires must be above 0"},
		"wait of no time":      {[]string{"job", "wait", "j1", "--timeout=0s"}, "", "", exitUsage, "--timeout"},
		"unknown format":       {[]string{"-o", "xml", "version"}, "", "", exitUsage, "--output"},
		"help":                 {[]string{"--help"}, "", "", exitOK, ""},
		"help of a command":    {[]string{"job", "submit", "--help"}, "", "", exitOK, ""},
		"version":              {[]string{"version"}, "", "", exitOK, ""},
		"job's file is absent": {[]string{"job", "submit", "-f", "/nowhere/job.json"}, "", "", exitError, "read the job"},
	} {
		t.Run(name, func(t *testing.T) {
			newServer(t, map[string]http.HandlerFunc{
				"POST /v1/jobs":   document(201, job("queued", "")),
				"GET /v1/jobs/j1": document(200, job(c.state, c.reason)),
			})
			got := rockpool(t, c.args...)
			if got.code != c.want || !strings.Contains(got.errs, c.says) || (c.says == "") != (got.errs == "") {
				t.Errorf("exit %d, want %d; stderr %q, want %q in it", got.code, c.want, got.errs, c.says)
			}
			if n := strings.Count(got.errs, "\n"); got.errs != "" && (n != 1 || !strings.HasPrefix(got.errs, "rockpool: ")) {
				t.Errorf("not one line of rockpool's: %q", got.errs)
			}
		})
	}
}

func TestExitCode_OfAPlacementThatIsRefused(t *testing.T) {
	newServer(t, map[string]http.HandlerFunc{"POST /v1/placements": problem(503, "pool_exhausted", "pool-7 has 14 nodes and none can take it")})
	if got := rockpool(t, "placement", "create", "--app=a", "--role=edge"); got.code != exitNotPlaced || !strings.HasPrefix(got.errs, "rockpool: pool-7 has 14 nodes") {
		t.Errorf("got %+v", got)
	}
}

func TestErrors_NeedNoProblemDocument(t *testing.T) {
	newServer(t, map[string]http.HandlerFunc{"GET /v1/pools": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(502)
		_, _ = io.WriteString(w, "<h1>Bad gateway</h1>")
	}})
	want := result{code: exitError, errs: "rockpool: the server answered 502 Bad Gateway (request req-1)\n"}
	if got := rockpool(t, "pool", "list"); got != want {
		t.Errorf("got %+v", got)
	}
}

// Only the setup token, which works once, may stand on a command line.
func TestNoSecretOnTheCommandLine(t *testing.T) {
	var line commands
	parser, err := newParser(&line, io.Discard, io.Discard, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	err = kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		if n, ok := node.(*kong.Node); ok {
			for _, f := range n.Flags {
				secret := strings.Contains(f.Name, "token") || strings.Contains(f.Name, "secret") || strings.Contains(f.Name, "password")
				if secret && f.Name != "token-file" && n.Path() != "admin setup" {
					t.Errorf("rockpool %s takes --%s", n.Path(), f.Name)
				}
			}
		}
		return next(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestReferenceIsCurrent(t *testing.T) {
	written, err := os.ReadFile("../../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	if got := rockpool(t, "docs"); got.out != string(written) {
		t.Error("docs/cli.md is not what the program says of itself: go generate ./backend/cmd/rockpool")
	}
}
