package fault

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

func TestMain(m *testing.M) { os.Exit(rig.Main(m)) }

const (
	jobsPerRound = 200
	submitters   = 4
	agents       = 3
)

// rounds of a test: twenty in the long runs.
func rounds() int {
	if os.Getenv("ROCKPOOL_TEST_SOAK") != "" {
		return 20
	}
	return 3
}

// TestKill9Server kills the server (and with it its PostgreSQL stops) at random
// moments while jobs are queued and running, and starts it again at once.
func TestKill9Server(t *testing.T) {
	f := newFleet(t)
	f.strike(func() {
		f.server.Kill(t)
		f.server.Start(t)
	})
	f.check()
}

// TestKill9Postgres kills PostgreSQL under a server that lives on.
func TestKill9Postgres(t *testing.T) {
	f := newFleet(t)
	f.strike(func() {
		pid := f.server.PostmasterPID()
		if pid == 0 {
			return // it is coming up from the strike before: killed early enough
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	})
	f.check()
}

type fleet struct {
	t      *testing.T
	server *rig.Server
	user   *backendtest.Client
	ledger string
	random *rand.Rand

	mu       sync.Mutex
	answered map[string]bool
}

func newFleet(t *testing.T) *fleet {
	t.Parallel()
	if testing.Short() {
		t.Skip("kills processes for minutes")
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	f := &fleet{t: t, answered: map[string]bool{}, random: rand.New(rand.NewPCG(seed, 0)), ledger: filepath.Join(t.TempDir(), "ledger")}
	f.server = rig.NewServer(t, rig.Fast...)
	owner, user := f.server.NewUser(t, "fault", "fault")
	f.user = user
	license := f.server.NewLicense(t, owner, agents)
	for i := range agents {
		rig.NewAgent(t, f.server, rig.AgentOptions{
			Name: fmt.Sprintf("fault-%d", i), License: license, Slots: 4, More: runnerTable(f.ledger),
		})
	}
	return f
}

// strike does it once a round, at a random moment of the round's work.
func (f *fleet) strike(kill func()) {
	for round := range rounds() {
		var work sync.WaitGroup
		for i := range submitters {
			work.Go(func() { f.submit(fmt.Sprintf("round-%d-%d", round, i), jobsPerRound/submitters) })
		}
		moment := time.Duration(f.random.IntN(1500)) * time.Millisecond
		<-time.After(moment)
		f.t.Logf("round %d: struck after %v", round, moment)
		kill()
		work.Wait()
	}
}

// submit posts jobs one by one until each is answered; a request whose outcome
// is unknown is repeated under its key.
func (f *fleet) submit(name string, jobs int) {
	for i := range jobs {
		key := fmt.Sprintf("%s-%d", name, i)
		rig.Await(f.t, 2*time.Minute, func() (bool, string) {
			job, err := f.user.SubmitJob(context.Background(), backendtest.JobRequest{App: "fault", Runner: "ledger"}, key)
			if err != nil {
				return false, err.Error()
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			f.answered[job.ID] = true
			return true, ""
		})
	}
}

// check waits until nothing is open and reads the truth from the database, the
// API and the ledger.
func (f *fleet) check() {
	t, ctx := f.t, context.Background()
	t.Helper()
	if want := rounds() * jobsPerRound; len(f.answered) != want {
		t.Errorf("%d jobs were answered, want %d", len(f.answered), want)
	}
	f.server.AwaitReady(t, 2*time.Minute)
	f.awaitQuiet()
	db, err := pgx.Connect(ctx, f.server.DatabaseURL())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(ctx)
	f.checkJobs(ctx, db)
	f.checkStarts()
	f.checkReservations(ctx, db)
}

// awaitQuiet waits until no job is open. How long the work takes is the machine's;
// two minutes without an end to any of it are the product's.
func (f *fleet) awaitQuiet() {
	for open := math.MaxInt; open > 0; {
		rig.Await(f.t, 2*time.Minute, func() (bool, string) {
			left, state, err := f.open()
			if err != nil {
				return false, err.Error() // the last strike may have been a moment ago
			}
			progress := left < open
			open = min(open, left)
			return progress, state
		})
	}
}

// open counts the jobs that have not ended and describes some. One look sees all
// states: between two, a job may go back to the one that was looked at before.
func (f *fleet) open() (jobs int, some string, err error) {
	ctx := context.Background()
	db, err := pgx.Connect(ctx, f.server.DatabaseURL())
	if err != nil {
		return 0, "", err
	}
	defer db.Close(ctx)
	err = db.QueryRow(ctx, `SELECT count(*), coalesce(string_agg(concat_ws(' ', id, state, cause, node_id), '; '), '')
		FROM jobs WHERE ended_at IS NULL`).Scan(&jobs, &some)
	return jobs, fmt.Sprintf("open: %.2000s", some), err
}

func (f *fleet) checkJobs(ctx context.Context, db *pgx.Conn) {
	rows, err := db.Query(ctx, `SELECT id::text, state, result_digest IS NOT NULL FROM jobs`)
	if err != nil {
		f.t.Fatal(err)
	}
	defer rows.Close()
	stored := map[string]bool{}
	for rows.Next() {
		var id, state string
		var hasResult bool
		if err := rows.Scan(&id, &state, &hasResult); err != nil {
			f.t.Fatal(err)
		}
		stored[id] = true
		if state != "succeeded" || !hasResult {
			f.t.Errorf("job %s ended %s, with a result: %v", id, state, hasResult)
		}
		if !f.answered[id] {
			f.t.Errorf("job %s is stored twice over: its key was answered with another one", id)
		}
	}
	if err := rows.Err(); err != nil {
		f.t.Fatal(err)
	}
	for id := range f.answered {
		if !stored[id] {
			f.t.Errorf("job %s was answered and is lost", id)
		}
	}
}

func (f *fleet) checkStarts() {
	starts, err := readLedger(f.ledger)
	if err != nil {
		f.t.Fatal(err)
	}
	again := 0
	for job, attempts := range starts {
		if len(attempts) > 1 {
			again++
		}
		for attempt, times := range attempts {
			if times != 1 {
				f.t.Errorf("attempt %s of job %s started %d times", attempt, job, times)
			}
		}
	}
	for id := range f.answered {
		if len(starts[id]) == 0 {
			f.t.Errorf("job %s has a result and never started", id)
		}
	}
	f.t.Logf("%d jobs, %d of them in more than one attempt", len(starts), again)
}

// checkReservations waits for memory: it may be loaded anew after the last strike.
func (f *fleet) checkReservations(ctx context.Context, db *pgx.Conn) {
	var inSQL int64
	if err := db.QueryRow(ctx, `SELECT coalesce(sum(reserved_slots), 0) FROM nodes`).Scan(&inSQL); err != nil {
		f.t.Fatal(err)
	}
	if inSQL != 0 {
		f.t.Errorf("reserved at the end: %d slots in SQL", inSQL)
	}
	rig.Await(f.t, time.Minute, func() (bool, string) {
		nodes, err := f.server.Admin.Nodes(ctx, backendtest.NodeFilter{}, backendtest.Page{})
		var inMemory int64
		for _, n := range nodes.Items {
			inMemory += n.Reserved.Slots
		}
		return err == nil && inMemory == 0, fmt.Sprintf("reserved at the end: %d slots in memory, %v", inMemory, err)
	})
}
