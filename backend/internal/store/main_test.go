package store_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store"
	"rockpool/backend/internal/store/storetest"
	"rockpool/shared/ids"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

var ctx = context.Background()

// house is a database with a user, an app of that user, a node of 4 slots in the
// user's pool, and a writer.
type house struct {
	t    testing.TB
	urls storetest.URLs
	db   *store.DB
	w    *store.Writer
	user record.User
	app  record.App
	node storetest.Node
}

func newHouse(t testing.TB, traits ...func(*storetest.Node)) *house {
	h := &house{t: t, urls: storetest.NewURLs(t)}
	h.db = storetest.Open(t, h.urls.Server)
	h.user = storetest.InsertUser(t, h.db)
	h.app = storetest.InsertApp(t, h.db, h.user.ID)
	h.node = storetest.InsertNode(t, h.db, h.user.ID, traits...)
	h.w = storetest.NewWriter(t, h.db)
	return h
}

// commit writes a batch of which nothing may be refused.
func (h *house) commit(e *core.Effects) {
	h.t.Helper()
	if refused := h.try(e); len(refused) > 0 {
		h.t.Fatalf("refused: %+v", refused)
	}
}

func (h *house) try(e *core.Effects) []core.Refusal {
	h.t.Helper()
	out, err := h.w.Commit(ctx, e)
	if err != nil {
		h.t.Fatalf("commit: %v", err)
	}
	return out
}

// now is the core time of tests: today, in ms.
func now() fleet.Time { return storetest.At(time.Now()) }

// assigned is the row of a job's first attempt on the house's node.
func (h *house) assigned() core.JobRow {
	d := &fleet.Decision{
		Outcome: fleet.OutcomePlaced, At: now(), Rule: fleet.RuleOwnerPool, Node: h.node.ID, RemainingSlots: 3,
		Pools: []fleet.Tally{{Pool: h.node.Pool, Nodes: 1, Candidates: 1}},
	}
	return core.JobRow{
		State: fleet.JobOffered, Attempt: 1, Counted: 1, Node: h.node.ID, Pool: h.node.Pool, Decision: d, AssignedAt: now(),
	}
}

// submit inserts jobs that are assigned to the house's node.
func (h *house) submit(e *core.Effects, n int) (jobs []*fleet.JobSpec) {
	for range n {
		spec := storetest.Spec(h.app, time.Now())
		jobs = append(jobs, spec)
		e.Inserts = append(e.Inserts, core.JobInsert{Spec: spec, Row: h.assigned(), At: now()})
		e.Reservations = append(e.Reservations, h.reserve(spec))
	}
	return jobs
}

func (h *house) reserve(spec *fleet.JobSpec) core.Reservation {
	return core.Reservation{Job: spec.ID, Node: h.node.ID, Pool: h.node.Pool, Demand: &spec.Demands}
}

// finish ends jobs of submit with a small result.
func (h *house) finish(e *core.Effects, jobs ...*fleet.JobSpec) {
	for _, spec := range jobs {
		row := h.assigned()
		row.State, row.Outcome, row.StartedAt, row.EndedAt = fleet.JobSucceeded, fleet.AttemptEnded, now(), now()
		e.Updates = append(e.Updates, core.JobUpdate{
			Job: spec.ID, FromState: fleet.JobOffered, FromAttempt: 1, Row: row,
			Result: &fleet.Result{ExitCode: new(int64(0)), Output: []byte(`{"vmaf": 92.5}`), LogBytes: 12, Digest: [32]byte{1}},
		})
		release := h.reserve(spec)
		release.Release = true
		e.Reservations = append(e.Reservations, release)
	}
}

func (h *house) job(id ids.JobID) record.Job {
	h.t.Helper()
	job, err := h.db.Job(ctx, id, record.Scope{})
	if err != nil {
		h.t.Fatalf("read job %s: %v", id, err)
	}
	return job
}

func (h *house) reserved() int64 {
	h.t.Helper()
	return storetest.Query[int64](h.t, h.urls, "SELECT reserved_slots FROM nodes WHERE id = $1", h.node.ID)
}

// wantCode checks that err is a *fleet.Error with that code.
func wantCode(t testing.TB, err error, code fleet.Code) {
	t.Helper()
	var known *fleet.Error
	if !errors.As(err, &known) || known.Code != code {
		t.Fatalf("got error %v, want code %s", err, code)
	}
}
