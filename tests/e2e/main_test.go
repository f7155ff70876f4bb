// Package e2e shows what was promised on the real programs: the server with its
// private PostgreSQL, agents as processes, scripted nodes over real sockets, the
// command line. Most tests share one server and have their own user on it.
package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

func TestMain(m *testing.M) {
	// Most of a test's time is waiting, so more of them than cores run at once.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(rig.Main(m))
}

// patience is how long a condition may take on a busy machine.
const patience = time.Minute

// atOnce is the most that what is pushed may take there: a console's session, and
// whatever else is looked for again from time to time, is so every 30 s.
const atOnce = 20 * time.Second

// Times of the shared server: short, and long enough for a machine that is busy
// with other tests: a scripted node answers offers one after the other.
const (
	lostAfter    = 10 * time.Second
	offerTimeout = 6 * time.Second
)

var settings = []string{
	"ROCKPOOL_LEASE_HEARTBEAT=1s", "ROCKPOOL_LEASE_SUSPECT=4s", "ROCKPOOL_LEASE_LOST=" + lostAfter.String(),
	"ROCKPOOL_LEASE_REDIAL_WINDOW=500ms", "ROCKPOOL_LEASE_OFFER_TIMEOUT=" + offerTimeout.String(),
}

// enduring are the settings of a server that is restarted under nodes which come
// back: however long a busy machine takes for both, none is lost.
var enduring = append(slices.Clone(settings), "ROCKPOOL_LEASE_SUSPECT=20s", "ROCKPOOL_LEASE_LOST=2m")

// server is the one that most tests share. The pool default is empty on it but
// for tests that don't run in parallel.
func server(t testing.TB) *rig.Server { return rig.SharedServer(t, settings...) }

// tenant is a user of its own with an app and a license.
type tenant struct {
	t       *testing.T
	s       *rig.Server
	name    string // begins what belongs to it
	id      string
	app     string
	token   string
	client  *backendtest.Client
	license backendtest.NewLicense
}

var (
	tenants   atomic.Int64
	notOfName = regexp.MustCompile(`[^a-z0-9]+`)
)

// newTenant makes a user named after the test.
func newTenant(t *testing.T, s *rig.Server) *tenant {
	t.Helper()
	name := strings.Trim(notOfName.ReplaceAllString(strings.ToLower(strings.TrimPrefix(t.Name(), "Test")), "-"), "-")
	u := &tenant{t: t, s: s, name: fmt.Sprintf("%.30s-%d", name, tenants.Add(1))}
	u.app = u.name + "-app"
	u.id, _ = s.NewUser(t, u.name, u.app)
	token, err := s.Admin.CreateToken(t.Context(), u.id, backendtest.TokenRequest{Name: "e2e"})
	if err != nil {
		t.Fatal(err)
	}
	u.token, u.client = token.Secret, s.Client(t, token.Secret)
	seats := int64(12)
	u.license, err = s.Admin.CreateLicense(t.Context(), backendtest.LicenseRequest{User: u.id, Nodes: &seats})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func (u *tenant) pool() string { return "pool-" + u.id }

// node joins a scripted node of the tenant.
func (u *tenant) node(name string, o rig.RawOptions) *rig.RawNode {
	u.t.Helper()
	return rig.JoinRawNode(u.t, u.s, u.options(name, o))
}

func (u *tenant) options(name string, o rig.RawOptions) rig.RawOptions {
	o.Name, o.License = u.name+"-"+name, u.license.LicenseCode
	return o
}

// submit takes a job of the runner noop, changed as the test wants.
func (u *tenant) submit(change ...func(*backendtest.JobRequest)) backendtest.Job {
	u.t.Helper()
	request := backendtest.JobRequest{App: u.app, Runner: "noop"}
	for _, c := range change {
		c(&request)
	}
	job, err := u.client.SubmitJob(u.t.Context(), request, "")
	if err != nil {
		u.t.Fatalf("submit: %v", err)
	}
	return job
}

func runner(name string) func(*backendtest.JobRequest) {
	return func(r *backendtest.JobRequest) { r.Runner = name }
}

func (u *tenant) job(id string) backendtest.Job {
	u.t.Helper()
	job, err := u.client.Job(u.t.Context(), id)
	if err != nil {
		u.t.Fatal(err)
	}
	return job
}

// await waits until the job is in the state.
func (u *tenant) await(id, state string) backendtest.Job {
	u.t.Helper()
	var job backendtest.Job
	rig.Await(u.t, patience, func() (bool, string) {
		job = u.job(id)
		return job.State == state, "want " + state + ", is " + inWords(job)
	})
	return job
}

// mustBe fails unless the job is in the state, for the reason.
func (u *tenant) mustBe(job backendtest.Job, state, reason string) {
	u.t.Helper()
	if job.State != state || text(job.Reason) != reason {
		u.t.Errorf("job is %s, want %s (%s)", inWords(job), state, reason)
	}
}

func (u *tenant) move(node, pool string) backendtest.Moved {
	u.t.Helper()
	moved, err := u.s.Admin.MoveNode(context.Background(), node, backendtest.MoveRequest{Pool: pool, Reason: "test"}, 0)
	if err != nil {
		u.t.Fatalf("move %s to %s: %v", node, pool, err)
	}
	return moved
}

func inWords(j backendtest.Job) string {
	return fmt.Sprintf("%s (%s) attempt %d on %q of %q: %s", j.State, text(j.Reason), j.Attempt, j.Node, j.Pool, j.Detail)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// query reads one value as the database's owner.
func query[T any](t testing.TB, s *rig.Server, sql string, args ...any) T {
	t.Helper()
	db := connect(t, s.DatabaseURL())
	defer db.Close(context.Background())
	var value T
	if err := db.QueryRow(context.Background(), sql, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

// execute changes something as the database's owner.
func execute(t testing.TB, s *rig.Server, statements ...string) {
	t.Helper()
	db := connect(t, s.DatabaseURL())
	defer db.Close(context.Background())
	for _, sql := range statements {
		if _, err := db.Exec(context.Background(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	db, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// audited counts the audit entries of an action by subject or object.
func audited(t testing.TB, s *rig.Server, action, whose string) int {
	t.Helper()
	return query[int](t, s, `SELECT count(*) FROM audit_entries WHERE action = $1 AND $2 IN (subject, object)`, action, whose)
}

// awaitAudited waits for the entries of an event that nobody was answered.
func awaitAudited(t testing.TB, s *rig.Server, action, whose string, want int) {
	t.Helper()
	rig.Await(t, patience, func() (bool, string) {
		n := audited(t, s, action, whose)
		return n == want, fmt.Sprintf("%d entries %s of %s, want %d", n, action, whose, want)
	})
}
