package store_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/store/storetest"
	"rockpool/shared/ids"
)

// model is what the database must hold, in a few lines of Go: it takes a batch
// job by job, without sets, arrays or SQL.
type model struct {
	nodes map[string]*modelNode
	jobs  map[ids.JobID]*modelJob
	keys  map[string]bool
}

type modelNode struct {
	pool            string
	held            bool
	slots, reserved int64
}

type modelJob struct {
	spec    *fleet.JobSpec
	state   fleet.JobState
	attempt int32
	node    string
}

// refusals predicts which jobs of a batch are refused, and applies the others.
// A node's assignments are refused together: they were decided on one picture.
func (m *model) refusals(e *core.Effects) map[ids.JobID]core.RefusedWhy {
	refused := m.conflicts(e)
	keys := maps.Clone(m.keys)
	for _, in := range e.Inserts {
		if _, out := refused[in.Spec.ID]; out {
			continue
		}
		if in.IdempotencyKey != "" && keys[in.IdempotencyKey] {
			refused[in.Spec.ID] = core.RefusedIdempotency
			continue
		}
		if in.IdempotencyKey != "" {
			keys[in.IdempotencyKey] = true
		}
	}
	for _, u := range e.Updates {
		job := m.jobs[u.Job]
		if _, out := refused[u.Job]; out {
			continue
		}
		if job == nil || job.state != stored(u.FromState) || job.attempt != u.FromAttempt {
			refused[u.Job] = core.RefusedStale
		}
	}
	for m.refuseNodes(e, refused) {
	}
	m.apply(e, refused)
	return refused
}

// conflicts refuses assignments to a node that name another pool than the newest.
func (m *model) conflicts(e *core.Effects) map[ids.JobID]core.RefusedWhy {
	newest, refused := map[string]string{}, map[ids.JobID]core.RefusedWhy{}
	for _, r := range slices.Backward(e.Reservations) {
		switch {
		case r.Release:
		case newest[r.Node] == "":
			newest[r.Node] = r.Pool
		case newest[r.Node] != r.Pool:
			refused[r.Job] = core.RefusedAssignment
		}
	}
	return refused
}

// refuseNodes refuses the assignments of each node that doesn't take them all;
// it reports whether there was one.
func (m *model) refuseNodes(e *core.Effects, refused map[ids.JobID]core.RefusedWhy) bool {
	bad := map[string]bool{}
	for name, node := range m.nodes {
		sum, takes := int64(0), false
		for _, r := range e.Reservations {
			if _, out := refused[r.Job]; out || r.Node != name {
				continue
			}
			if r.Release {
				sum -= r.Demand.Slots
				continue
			}
			sum += r.Demand.Slots
			takes = true
			bad[name] = bad[name] || node.held || node.pool != r.Pool
		}
		bad[name] = takes && (bad[name] || node.reserved+sum > node.slots)
	}
	again := false
	for _, r := range e.Reservations {
		if _, out := refused[r.Job]; !out && !r.Release && bad[r.Node] {
			refused[r.Job] = core.RefusedAssignment
			again = true
		}
	}
	return again
}

func (m *model) apply(e *core.Effects, refused map[ids.JobID]core.RefusedWhy) {
	kept := func(id ids.JobID) bool { _, out := refused[id]; return !out }
	for _, in := range e.Inserts {
		if kept(in.Spec.ID) {
			m.jobs[in.Spec.ID] = &modelJob{in.Spec, stored(in.Row.State), in.Row.Attempt, in.Row.Node}
			if in.IdempotencyKey != "" {
				m.keys[in.IdempotencyKey] = true
			}
		}
	}
	for _, u := range e.Updates {
		if kept(u.Job) {
			job := m.jobs[u.Job]
			job.state, job.attempt, job.node = stored(u.Row.State), u.Row.Attempt, u.Row.Node
		}
	}
	for _, r := range e.Reservations {
		switch {
		case !kept(r.Job):
		case r.Release:
			m.nodes[r.Node].reserved -= r.Demand.Slots
		default:
			m.nodes[r.Node].reserved += r.Demand.Slots
		}
	}
}

func stored(s fleet.JobState) fleet.JobState {
	if s == fleet.JobRunning {
		return fleet.JobOffered
	}
	return s
}

// history draws batches as a loop with a partly wrong picture would make them.
type history struct {
	*rapid.T
	h     *house
	m     *model
	names []string
	taken map[ids.JobID]bool // jobs of the current batch
}

func (r *history) assign(e *core.Effects, spec *fleet.JobSpec, attempt int32) core.JobRow {
	name := rapid.SampledFrom(r.names).Draw(r.T, "node")
	pool := r.m.nodes[name].pool
	if rapid.IntRange(0, 9).Draw(r.T, "wrong pool") == 0 {
		pool = fleet.PoolDefault
	}
	e.Reservations = append(e.Reservations, core.Reservation{Job: spec.ID, Node: name, Pool: pool, Demand: &spec.Demands})
	return core.JobRow{State: fleet.JobOffered, Attempt: attempt, Counted: attempt, Node: name, Pool: pool, AssignedAt: now(),
		Decision: &fleet.Decision{Outcome: fleet.OutcomePlaced, Node: name, At: now()}}
}

func (r *history) insert(e *core.Effects) {
	spec := storetest.Spec(r.h.app, time.Now())
	spec.Demands.Slots = rapid.Int64Range(1, 2).Draw(r.T, "slots")
	in := core.JobInsert{Spec: spec, At: now(), Row: core.JobRow{State: fleet.JobQueued}}
	if rapid.Bool().Draw(r.T, "assigned") {
		in.Row = r.assign(e, spec, 1)
	}
	if rapid.IntRange(0, 3).Draw(r.T, "with key") == 0 {
		in.IdempotencyKey = fmt.Sprint("key ", rapid.IntRange(0, 20).Draw(r.T, "key"))
	}
	e.Inserts = append(e.Inserts, in)
	r.taken[spec.ID] = true
}

// update moves a random job on; sometimes from a state that it is not in.
func (r *history) update(e *core.Effects) {
	all := slices.SortedFunc(maps.Keys(r.m.jobs), ids.JobID.Compare)
	if len(all) == 0 {
		return
	}
	id := rapid.SampledFrom(all).Draw(r.T, "job")
	job := r.m.jobs[id]
	if r.taken[id] || job.state.Terminal() && rapid.IntRange(0, 4).Draw(r.T, "terminal") > 0 {
		return
	}
	r.taken[id] = true
	u := core.JobUpdate{Job: id, FromState: job.state, FromAttempt: job.attempt}
	if rapid.IntRange(0, 9).Draw(r.T, "stale") == 0 {
		u.FromAttempt--
	}
	if job.node != "" && job.state == fleet.JobOffered {
		e.Reservations = append(e.Reservations, core.Reservation{Job: id, Node: job.node, Demand: &job.spec.Demands, Release: true})
	}
	if job.state == fleet.JobQueued || rapid.IntRange(0, 3).Draw(r.T, "next attempt") == 0 {
		u.Row = r.assign(e, job.spec, job.attempt+1)
		if job.attempt > 0 {
			e.Attempts = append(e.Attempts, core.AttemptRow{Job: id, Attempt: job.attempt, Node: job.node, Outcome: fleet.AttemptDeclined, EndedAt: now()})
		}
	} else {
		u.Row = core.JobRow{State: fleet.JobSucceeded, Attempt: job.attempt, Node: job.node, Outcome: fleet.AttemptEnded, EndedAt: now()}
		u.Result = &fleet.Result{Output: []byte("{}"), Digest: [32]byte{1}}
	}
	e.Updates = append(e.Updates, u)
}

// disturb does what an administrator does between two batches.
func (r *history) disturb() {
	name := rapid.SampledFrom(r.names).Draw(r.T, "disturbed")
	node := r.m.nodes[name]
	switch rapid.IntRange(0, 5).Draw(r.T, "how") {
	case 0:
		node.pool = rapid.SampledFrom([]string{fleet.OwnerPool(r.h.user.ID), fleet.PoolUnassigned}).Draw(r.T, "pool")
		_, _, err := r.h.db.MoveNode(ctx, storetest.Actor, name, node.pool, "test", nil)
		r.h.must(err)
	case 1:
		if node.held = !node.held; node.held {
			storetest.InsertHold(r.h.t, r.h.urls, name, fleet.HoldCordon)
		} else {
			r.h.urls.Exec(r.h.t, "DELETE FROM node_holds WHERE node_id = $1", name)
		}
	}
}

// check compares the database with the model.
func (r *history) check() {
	snapshot, err := r.h.db.LoadSnapshot(ctx)
	r.h.must(err)
	open := map[ids.JobID]core.OpenJob{}
	for _, job := range snapshot.Jobs {
		open[job.Spec.ID] = job
	}
	for id, want := range r.m.jobs {
		got, isOpen := open[id]
		if isOpen == want.state.Terminal() {
			r.Fatalf("job %s is open: %v, the model says %s", id, isOpen, want.state)
		}
		if isOpen && (got.Row.State != want.state || got.Row.Attempt != want.attempt || got.Row.Node != want.node) {
			r.Fatalf("job %s is %+v, the model says %+v", id, got.Row, want)
		}
		delete(open, id)
	}
	if len(open) > 0 {
		r.Fatalf("%d jobs that the model does not know", len(open))
	}
	for name, want := range r.m.nodes {
		got := storetest.Query[int64](r.h.t, r.h.urls, "SELECT reserved_slots FROM nodes WHERE id = $1", name)
		if got != want.reserved {
			r.Fatalf("node %s has %d reserved, the model says %d", name, got, want.reserved)
		}
	}
}

// Random histories of batches, with administrators in between, against the model:
// the same jobs are refused for the same reasons, and the rows are the same.
func TestWriterAgainstModel(t *testing.T) {
	h := newHouse(t)
	var nodes []storetest.Node
	for range 3 {
		nodes = append(nodes, storetest.InsertNode(t, h.db, h.user.ID))
	}
	rapid.Check(t, func(rt *rapid.T) {
		h.urls.Exec(t, "TRUNCATE jobs, attempts, results, idempotency, node_holds; UPDATE nodes SET reserved_slots = 0, total_slots = slots, held = false, pool_id = 'pool-' || owner_id")
		r := &history{T: rt, h: h, m: &model{map[string]*modelNode{}, map[ids.JobID]*modelJob{}, map[string]bool{}}}
		for _, n := range nodes {
			r.names = append(r.names, n.ID)
			r.m.nodes[n.ID] = &modelNode{pool: n.Pool, slots: 4}
		}
		for range rapid.IntRange(1, 8).Draw(rt, "batches") {
			r.disturb()
			r.batch()
		}
		r.check()
	})
}

func (r *history) batch() {
	e := &core.Effects{}
	r.taken = map[ids.JobID]bool{}
	for range rapid.IntRange(1, 8).Draw(r.T, "jobs") {
		if rapid.Bool().Draw(r.T, "new") {
			r.insert(e)
		} else {
			r.update(e)
		}
	}
	out, err := r.h.w.Commit(ctx, e)
	if err != nil {
		r.Fatalf("commit: %v", err)
	}
	got := map[ids.JobID]core.RefusedWhy{}
	for _, refusal := range out {
		got[refusal.Job] = refusal.Why
	}
	if want := r.m.refusals(e); !maps.Equal(got, want) {
		r.Fatalf("refused %v\nthe model says %v\nof %+v", got, want, e)
	}
}
