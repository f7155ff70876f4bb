package rig

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"rockpool/backend/backendtest"
)

// Server is a server's data and address, and its process while it runs.
type Server struct {
	*Process
	URL        string
	MetricsURL string
	Dir        string              // its data
	Admin      *backendtest.Client // as the first superadmin
	AdminToken string
	SetupToken string // that made the first superadmin
	env        []string
}

// Fast scales leases down so that a lost node is seen in seconds.
var Fast = []string{
	"ROCKPOOL_LEASE_HEARTBEAT=1s", "ROCKPOOL_LEASE_SUSPECT=2500ms", "ROCKPOOL_LEASE_LOST=6s", "ROCKPOOL_LEASE_REDIAL_WINDOW=500ms",
}

// Host is the address that servers listen on; a test process whose agents are
// elsewhere sets another one before it starts any.
var Host = "127.0.0.1"

// NewServer starts a server on fresh data, with its private PostgreSQL, and
// redeems its setup token. env are settings of this server. It is stopped, and
// must stop cleanly, at the test's end.
func NewServer(t testing.TB, env ...string) *Server {
	t.Helper()
	s := NewUnclaimed(t, env...)
	s.Claim(t)
	return s
}

// NewUnclaimed starts a server on fresh data that has no superadmin yet.
func NewUnclaimed(t testing.TB, env ...string) *Server {
	t.Helper()
	s := newServer(t, publicDir(t), env)
	t.Cleanup(func() { s.finish(t) })
	s.Start(t)
	return s
}

// LaunchServer runs a server on fresh data and does not wait for it: one that
// shall not become ready.
func LaunchServer(t testing.TB, env ...string) *Server {
	t.Helper()
	return LaunchServerOn(t, publicDir(t), env...)
}

// LaunchServerOn runs a server on data of choice and does not wait for it.
func LaunchServerOn(t testing.TB, dir string, env ...string) *Server {
	t.Helper()
	s := newServer(t, dir, env)
	t.Cleanup(func() { s.finish(t) })
	s.Launch(t)
	return s
}

func newServer(t testing.TB, dir string, env []string) *Server {
	t.Helper()
	return &Server{URL: "http://" + freeAddress(t, Host), MetricsURL: "http://" + FreeAddress(t) + "/metrics", Dir: dir, env: env}
}

// finish stops the server at its test's end.
func (s *Server) finish(t testing.TB) {
	if s.Process == nil {
		return
	}
	if s.running() {
		s.Signal(syscall.SIGTERM)
		if !s.endsWithin(stopLimit) {
			t.Errorf("the server did not stop within %v", stopLimit)
		} else if code := s.ExitCode(); code != 0 {
			t.Errorf("the server stopped with %d", code)
		}
	}
	if race := s.races(); race != "" {
		t.Errorf("the server has a data race:%s", race)
	}
	if t.Failed() {
		t.Logf("the server printed:\n%s", tail(s.Output(), 200))
	}
}

// startLimit is how long the making of a database may take on a busy machine.
const startLimit = 3 * time.Minute

// Start runs the program and waits until it takes work.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.Launch(t)
	s.AwaitReady(t, startLimit)
}

// Launch runs the program and does not wait.
func (s *Server) Launch(t testing.TB) {
	t.Helper()
	metrics := strings.TrimSuffix(strings.TrimPrefix(s.MetricsURL, "http://"), "/metrics")
	args := []string{"serve", "--listen", strings.TrimPrefix(s.URL, "http://"), "--data-dir", s.Dir}
	env := append([]string{"ROCKPOOL_METRICS_LISTEN=" + metrics}, s.env...) // the last one counts
	s.Process = start(t, "rockpool serve", Binary(t, "rockpool"), args, env)
}

// AwaitReady waits until the server takes work.
func (s *Server) AwaitReady(t testing.TB, limit time.Duration) {
	t.Helper()
	anonymous, err := backendtest.NewClient(backendtest.ClientOptions{Server: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	last := "nobody answered"
	Await(t, limit, func() (bool, string) {
		if !s.running() {
			t.Fatalf("the server ended; it printed:\n%s", s.Output())
		}
		health, err := anonymous.Ready(context.Background())
		if err != nil {
			return false, fmt.Sprintf("%s: %v", last, err)
		}
		last = fmt.Sprintf("%+v", health)
		return health.Status == "ok", last
	})
}

var setupToken = regexp.MustCompile(`rps_[A-Za-z0-9_-]{43}`)

// Offered is the setup token that the newest start printed, or empty.
func (s *Server) Offered() string { return setupToken.FindString(s.out.String()) }

// Claim redeems the setup token and makes Admin.
func (s *Server) Claim(t testing.TB) {
	t.Helper()
	Await(t, patience, func() (bool, string) { // it may be ready a moment before it has printed that
		s.SetupToken = s.Offered()
		return s.SetupToken != "", "the first start has printed no setup token"
	})
	done, err := s.Client(t, "").Setup(context.Background(), backendtest.SetupRequest{SetupToken: s.SetupToken})
	if err != nil {
		t.Fatalf("redeem the setup token: %v", err)
	}
	s.AdminToken = done.Token.Secret
	s.Admin = s.Client(t, s.AdminToken)
}

// Client asks the server with a token; empty: as nobody.
func (s *Server) Client(t testing.TB, token string) *backendtest.Client {
	t.Helper()
	c, err := backendtest.NewClient(backendtest.ClientOptions{Server: s.URL, Token: token, AllowPlainHTTP: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// NewUser makes a user with an app (none when empty) and gives its id and a
// client with a token of its own.
func (s *Server) NewUser(t testing.TB, name string, apps ...string) (string, *backendtest.Client) {
	t.Helper()
	ctx := context.Background()
	user, err := s.Admin.CreateUser(ctx, backendtest.UserRequest{Name: name})
	if err != nil {
		t.Fatalf("create user %s: %v", name, err)
	}
	for _, app := range apps {
		if _, err := s.Admin.CreateApp(ctx, backendtest.AppRequest{ID: app, Owner: &user.ID}); err != nil {
			t.Fatalf("create app %s: %v", app, err)
		}
	}
	token, err := s.Admin.CreateToken(ctx, user.ID, backendtest.TokenRequest{Name: "test"})
	if err != nil {
		t.Fatalf("create a token of %s: %v", name, err)
	}
	return user.ID, s.Client(t, token.Secret)
}

// NewLicense gives the code of a license of a user for so many nodes.
func (s *Server) NewLicense(t testing.TB, user string, nodes int64) string {
	t.Helper()
	license, err := s.Admin.CreateLicense(context.Background(), backendtest.LicenseRequest{User: user, Nodes: &nodes})
	if err != nil {
		t.Fatalf("create a license: %v", err)
	}
	return license.LicenseCode
}

// Metric is the value of a metric without labels.
func (s *Server) Metric(t testing.TB, name string) float64 {
	t.Helper()
	return MetricAt(t, s.MetricsURL, name)
}

// DebugURL is the base of metrics and profiles.
func (s *Server) DebugURL() string { return strings.TrimSuffix(s.MetricsURL, "/metrics") }

// MetricAt is the value of a metric without labels that stands at a URL.
func MetricAt(t testing.TB, url, name string) float64 {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if text, found := strings.CutPrefix(lines.Text(), name+" "); found {
			value, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			return value
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// DatabaseURL reaches the private PostgreSQL as its owner.
func (s *Server) DatabaseURL() string {
	return fmt.Sprintf("host=%s user=rockpool_admin dbname=rockpool sslmode=disable", filepath.Join(s.Dir, "postgres", "run"))
}

// PostmasterPID is the process id of the private PostgreSQL; 0: it is down.
func (s *Server) PostmasterPID() int {
	content, err := os.ReadFile(filepath.Join(s.Dir, "postgres", "cluster", "postmaster.pid"))
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(content), "\n")
	pid, _ := strconv.Atoi(first)
	return pid
}

// Postgres are the processes of the private PostgreSQL, the first of them first.
func (s *Server) Postgres(t testing.TB) []int {
	t.Helper()
	postmaster := s.PostmasterPID()
	children, err := backendtest.Children(postmaster)
	if err != nil {
		t.Fatal(err)
	}
	return append([]int{postmaster}, children...)
}

// publicDir is a test's folder that PostgreSQL's unprivileged user can reach.
func publicDir(t testing.TB) string {
	t.Helper()
	dir := makePublicDir(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func makePublicDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rockpool-test-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// FreeAddress is a loopback address that nobody listens on.
func FreeAddress(t testing.TB) string {
	t.Helper()
	return freeAddress(t, "127.0.0.1")
}

func freeAddress(t testing.TB, host string) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func tail(text string, lines int) string {
	all := strings.Split(text, "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
