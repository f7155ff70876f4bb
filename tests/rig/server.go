package rig

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"rockpool/backend/backendtest"
)

// Server is a server's data and address, and its process while it runs.
type Server struct {
	*Process
	URL   string
	Dir   string              // its data
	Admin *backendtest.Client // as the first superadmin
	env   []string
}

// Fast scales leases down so that a lost node is seen in seconds.
var Fast = []string{
	"ROCKPOOL_LEASE_HEARTBEAT=1s", "ROCKPOOL_LEASE_SUSPECT=2500ms", "ROCKPOOL_LEASE_LOST=6s", "ROCKPOOL_LEASE_REDIAL_WINDOW=500ms",
}

// NewServer starts a server on fresh data, with its private PostgreSQL, and
// redeems its setup token. env are settings of this server. It is stopped, and must stop cleanly, at the test's end.
func NewServer(t testing.TB, env ...string) *Server {
	t.Helper()
	s := &Server{URL: "http://" + freeAddress(t), Dir: publicDir(t), env: env}
	s.Start(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server printed:\n%s", tail(s.Output(), 200))
		}
		if s.running() {
			s.Stop(t)
		}
	})
	s.redeem(t)
	return s
}

// Start runs the program and waits until it takes work.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.Launch(t)
	s.AwaitReady(t, 60*time.Second)
}

// Launch runs the program and does not wait.
func (s *Server) Launch(t testing.TB) {
	t.Helper()
	args := []string{"serve", "--listen", strings.TrimPrefix(s.URL, "http://"), "--data-dir", s.Dir}
	s.Process = start(t, "rockpool serve", Binary(t, "rockpool"), args, s.env)
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

func (s *Server) redeem(t testing.TB) {
	t.Helper()
	anonymous := s.Client(t, "")
	token := setupToken.FindString(s.Output())
	if token == "" {
		t.Fatalf("the first start printed no setup token:\n%s", s.Output())
	}
	done, err := anonymous.Setup(context.Background(), backendtest.SetupRequest{SetupToken: token})
	if err != nil {
		t.Fatalf("redeem the setup token: %v", err)
	}
	s.Admin = s.Client(t, done.Token.Secret)
}

// Client asks the server with a token; empty: as nobody.
func (s *Server) Client(t testing.TB, token string) *backendtest.Client {
	t.Helper()
	c, err := backendtest.NewClient(backendtest.ClientOptions{Server: s.URL, Token: token})
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

// publicDir is a test's folder that PostgreSQL's unprivileged user can reach.
func publicDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rockpool-test-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
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
