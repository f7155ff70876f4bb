package net

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// patience is how long a condition may take on a busy machine.
const patience = time.Minute

// house is a user with an app whose nodes stand in a site of their own.
type house struct {
	t      *testing.T
	s      *rig.Server
	site   *site
	shop   *rig.Workshop
	name   string
	pool   string
	client *backendtest.Client
	agents []*rig.Agent
	jobs   []string
}

var houses atomic.Int64

// newHouse furnishes one with so many nodes of four slots, each on its host.
func newHouse(t *testing.T, s *rig.Server, nodes int, more ...string) *house {
	t.Helper()
	h := &house{t: t, s: s, site: newSite(t, nodes), shop: rig.NewWorkshop(t), name: fmt.Sprintf("house-%d", houses.Add(1))}
	owner, client := s.NewUser(t, h.name, h.name)
	h.pool, h.client = "pool-"+owner, client
	license := s.NewLicense(t, owner, int64(nodes))
	for host := range nodes {
		h.agents = append(h.agents, rig.NewAgent(t, s, rig.AgentOptions{
			Name: fmt.Sprintf("%s-%d", h.name, host), License: license, Slots: 4,
			More: strings.Join(more, "\n") + h.shop.Runners(), Within: inside(h.site.host(host)),
		}))
	}
	return h
}

// submit takes a job of one of the workshop's runners.
func (h *house) submit(runner string) backendtest.Job {
	h.t.Helper()
	job, err := h.client.SubmitJob(h.t.Context(), backendtest.JobRequest{App: h.name, Runner: runner}, "")
	if err != nil {
		h.t.Fatalf("submit: %v", err)
	}
	h.jobs = append(h.jobs, job.ID)
	return job
}

// begin submits a job for each node and waits until all of them run there.
func (h *house) begin() (jobs []backendtest.Job) {
	h.t.Helper()
	for range h.agents {
		jobs = append(jobs, h.submit("wait"))
	}
	for _, job := range jobs {
		h.shop.AwaitStart(job.ID, 1)
		h.await(job.ID, "running")
	}
	return jobs
}

// await waits until the job is in the state.
func (h *house) await(id, state string) (job backendtest.Job) {
	h.t.Helper()
	rig.Await(h.t, patience, func() (bool, string) {
		var err error
		job, err = h.client.Job(h.t.Context(), id)
		return err == nil && job.State == state, fmt.Sprintf("job %s: want %s, is %s on %q attempt %d; %v", id, state, job.State, job.Node, job.Attempt, err)
	})
	return job
}

// node is one of the house's as the server sees it.
func (h *house) node(host int) backendtest.Node {
	h.t.Helper()
	node, err := h.s.Admin.Node(h.t.Context(), h.agents[host].Name)
	if err != nil {
		h.t.Fatal(err)
	}
	return node
}

// awaitReady waits until all nodes are ready, and gives how long that took.
func (h *house) awaitReady() time.Duration {
	h.t.Helper()
	began := time.Now()
	for _, a := range h.agents {
		a.AwaitLease(h.t, h.s, "ready")
	}
	return time.Since(began)
}

// finish lets everything end, runs one more job on each node to show that work goes
// on, and checks what was promised: no job lost, one accepted result each, no
// attempt started twice, so many jobs in more than one attempt, so many alarms.
func (h *house) finish(reruns, alarms int) {
	h.t.Helper()
	h.shop.Release()
	for range h.agents {
		h.submit("brief")
	}
	for _, id := range h.jobs {
		h.await(id, "succeeded")
	}
	h.checkJobs()
	h.checkStarts(reruns)
	h.checkAlarms(alarms)
}

// checkJobs reads the truth: each job once, ended well, with one result.
func (h *house) checkJobs() {
	h.t.Helper()
	db := h.connect()
	defer db.Close(context.Background())
	var rows, good, slots int
	err := db.QueryRow(h.t.Context(), `SELECT count(*), count(*) FILTER (WHERE state = 'succeeded' AND result_digest IS NOT NULL),
		(SELECT sum(reserved_slots) FROM nodes WHERE pool_id = $2) FROM jobs WHERE app_id = $1`, h.name, h.pool).Scan(&rows, &good, &slots)
	if err != nil {
		h.t.Fatal(err)
	}
	if rows != len(h.jobs) || good != rows || slots != 0 {
		h.t.Errorf("%d jobs were answered, %d are stored, %d of them with a result; %d slots stay reserved", len(h.jobs), rows, good, slots)
	}
}

// checkStarts reads what the jobs themselves wrote: a line JOB/ATTEMPT each.
func (h *house) checkStarts(reruns int) {
	h.t.Helper()
	starts, attempts := map[string]int{}, map[string]int{}
	for _, line := range h.shop.Lines("starts") {
		job, _, _ := strings.Cut(line, "/")
		starts[line]++
		attempts[job]++
		if starts[line] > 1 {
			h.t.Errorf("attempt %s started %d times", line, starts[line])
		}
	}
	again := 0
	for _, id := range h.jobs {
		if attempts[id] == 0 {
			h.t.Errorf("job %s has a result and never started", id)
		}
		if attempts[id] > 1 {
			again++
		}
	}
	if again != reruns || len(attempts) != len(h.jobs) {
		h.t.Errorf("%d jobs ran, %d of them again, want %d and %d: %v", len(attempts), again, len(h.jobs), reruns, starts)
	}
}

// checkAlarms counts them, but for the threshold of a pool whose nodes are all cut
// off: that one is no fault's.
func (h *house) checkAlarms(want int) {
	h.t.Helper()
	alarms := slices.DeleteFunc(h.alarms(), func(a string) bool { return strings.HasPrefix(a, "nodes_not_ready ") })
	if len(alarms) != want {
		h.t.Errorf("%d alarms, want %d: %v", len(alarms), want, alarms)
	}
}

// alarms are all that were ever raised about the house, in words.
func (h *house) alarms() []string {
	h.t.Helper()
	db := h.connect()
	defer db.Close(context.Background())
	rows, err := db.Query(h.t.Context(), `SELECT kind || ' of ' || node_id || ': ' || detail FROM alarms
		WHERE pool_id = $1 OR app_id = $2 OR node_id LIKE $2 || '-%'`, h.pool, h.name)
	if err != nil {
		h.t.Fatal(err)
	}
	alarms, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		h.t.Fatal(err)
	}
	return alarms
}

// connect reaches the server's database as its owner.
func (h *house) connect() *pgx.Conn {
	h.t.Helper()
	db, err := pgx.Connect(h.t.Context(), h.s.DatabaseURL())
	if err != nil {
		h.t.Fatal(err)
	}
	return db
}
