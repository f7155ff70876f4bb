package store_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/store/storetest"
	"rockpool/shared/ids"
)

// history draws batches as a loop with a partly wrong picture would make them.
type history struct {
	*rapid.T
	h     *house
	m     *model
	names []string
	taken map[ids.JobID]bool // jobs of the current batch
	hopes bool               // the current batch is decided before the one before is answered

	alarms map[int64]fleet.Alarm // as the loop believes them
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
	if !r.hopes && rapid.IntRange(0, 9).Draw(r.T, "stale") == 0 {
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

// hold puts an automatic hold on a node or lifts it, maybe both in one batch.
func (r *history) hold(e *core.Effects) {
	kind := rapid.SampledFrom([]fleet.HoldKind{fleet.HoldAuto, fleet.HoldQuarantine}).Draw(r.T, "hold")
	w := core.HoldWrite{Node: rapid.SampledFrom(r.names).Draw(r.T, "held"), Hold: fleet.Hold{Kind: kind, Owner: fleet.OwnerAuto}}
	if w.Lift = rapid.IntRange(0, 2).Draw(r.T, "lift") > 0; !w.Lift {
		w.Hold.Actor, w.Hold.Reason, w.Hold.Until = "system", rapid.StringN(0, 5, -1).Draw(r.T, "why"), now()+60_000
	}
	e.Holds = append(e.Holds, w)
}

// alarm raises one, sees one again or resolves one; of a fingerprint one lasts.
func (r *history) alarm(e *core.Effects) {
	f := fleet.Fingerprint{Kind: fleet.AlarmPoolExhausted, Pool: rapid.SampledFrom([]string{"a", "b"}).Draw(r.T, "fingerprint")}
	var a fleet.Alarm
	for _, known := range r.alarms {
		if known.Fingerprint == f && known.ResolvedAt == 0 {
			a = known
		}
	}
	if a.ID == 0 {
		a = fleet.Alarm{ID: int64(len(r.alarms) + 1), Fingerprint: f, RaisedAt: now()}
	}
	a.Count, a.LastAt, a.Detail = a.Count+1, now(), rapid.StringN(0, 5, -1).Draw(r.T, "detail")
	a.Waiting = nil
	for range rapid.IntRange(0, 2).Draw(r.T, "waiting") {
		a.Waiting = append(a.Waiting, storetest.JobID(time.Now()))
	}
	a.WaitingNow = int64(len(a.Waiting))
	if rapid.IntRange(0, 2).Draw(r.T, "resolve") == 0 {
		a.ResolvedAt, a.SilencedBy, a.SilencedUntil = now(), "u:1", now()+fleet.Time(rapid.SampledFrom([]int{-5000, 600_000}).Draw(r.T, "silence"))
	}
	r.alarms[a.ID] = a
	e.Alarms = append(e.Alarms, core.AlarmWrite{Alarm: a})
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
			r.h.urls.Exec(r.h.t, "DELETE FROM node_holds WHERE node_id = $1 AND owner = 'operator'", name)
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
	r.checkPlacements(snapshot)
	r.checkHolds(snapshot)
	r.checkAlarms(snapshot)
	for name, want := range r.m.nodes {
		got := storetest.Query[int64](r.h.t, r.h.urls, "SELECT reserved_slots FROM nodes WHERE id = $1", name)
		if got != want.reserved {
			r.Fatalf("node %s has %d reserved, the model says %d", name, got, want.reserved)
		}
	}
}

func (r *history) checkHolds(snapshot *core.Snapshot) {
	for i := range snapshot.Nodes {
		rec := &snapshot.Nodes[i]
		want := r.m.nodes[rec.ID]
		if want == nil {
			continue
		}
		auto := map[fleet.HoldKind]fleet.Hold{}
		for _, h := range rec.Holds {
			if h.Owner == fleet.OwnerAuto {
				auto[h.Kind] = h
			}
		}
		for kind, h := range want.auto {
			h.Reason = strings.ReplaceAll(h.Reason, "\x00", "\uFFFD")
			want.auto[kind] = h
		}
		held := storetest.Query[bool](r.h.t, r.h.urls, "SELECT held FROM nodes WHERE id = $1", rec.ID)
		if !maps.Equal(auto, want.auto) || held != (want.held || len(want.auto) > 0) {
			r.Fatalf("node %s is held %v by %+v, the model says %+v", rec.ID, held, rec.Holds, want)
		}
	}
}

func (r *history) checkAlarms(snapshot *core.Snapshot) {
	want := []fleet.Alarm{}
	for _, id := range slices.Sorted(maps.Keys(r.m.alarms)) {
		a := r.m.alarms[id]
		a.Detail = strings.ReplaceAll(a.Detail, "\x00", "\uFFFD")
		if a.ResolvedAt == 0 || a.SilencedUntil > now() {
			want = append(want, a)
		}
	}
	if !reflect.DeepEqual(snapshot.Alarms, want) {
		r.Fatalf("alarms %+v\nthe model says %+v", snapshot.Alarms, want)
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
		h.urls.Exec(t, "DELETE FROM placement_nodes; DELETE FROM placements; DELETE FROM jobs; DELETE FROM attempts; DELETE FROM results; DELETE FROM idempotency; DELETE FROM node_holds; DELETE FROM alarms; UPDATE nodes SET reserved_slots = 0, total_slots = slots, held = false, pool_id = 'pool-' || owner_id")
		r := &history{T: rt, h: h, m: &model{
			map[string]*modelNode{}, map[ids.JobID]*modelJob{}, map[string]bool{}, map[int64]fleet.Alarm{},
			map[ids.JobID]core.OpenPlacement{},
		}, alarms: map[int64]fleet.Alarm{}}
		for _, n := range nodes {
			r.names = append(r.names, n.ID)
			r.m.nodes[n.ID] = &modelNode{pool: n.Pool, slots: 4, auto: map[fleet.HoldKind]fleet.Hold{}}
		}
		for range rapid.IntRange(1, 5).Draw(rt, "batches") {
			r.disturb()
			r.batch()
		}
		r.check()
	})
}

// batch commits one batch, or two of which the second is decided as if nothing of the
// first were refused, and travels behind it.
func (r *history) batch() {
	batches := []*core.Effects{r.draw()}
	if rapid.Bool().Draw(r.T, "two at a time") {
		known := r.m
		r.m, r.hopes = known.clone(), true
		r.m.apply(batches[0], nil)
		batches = append(batches, r.draw())
		r.m, r.hopes = known, false
	}
	var under []<-chan committed
	for _, e := range batches {
		under = append(under, r.h.begin(e))
	}
	for i, e := range batches {
		c := <-under[i]
		if c.err != nil {
			r.Fatalf("commit: %v", c.err)
		}
		got := map[ids.JobID]core.RefusedWhy{}
		for _, refusal := range c.refused {
			got[refusal.Job] = refusal.Why
		}
		if want := r.m.refusals(e); !maps.Equal(got, want) {
			r.Fatalf("batch %d: refused %v\nthe model says %v\nof %+v", i+1, got, want, e)
		}
	}
}

func (r *history) draw() *core.Effects {
	e := &core.Effects{}
	r.taken = map[ids.JobID]bool{}
	for range rapid.IntRange(1, 8).Draw(r.T, "jobs") {
		if rapid.Bool().Draw(r.T, "new") {
			r.insert(e)
		} else {
			r.update(e)
		}
	}
	if rapid.Bool().Draw(r.T, "with placements") {
		for range rapid.IntRange(1, 3).Draw(r.T, "placements") {
			r.place(e)
		}
	}
	for range rapid.IntRange(0, 2).Draw(r.T, "holds") {
		r.hold(e)
	}
	for range rapid.IntRange(0, 3).Draw(r.T, "alarms") {
		r.alarm(e)
	}
	return e
}
