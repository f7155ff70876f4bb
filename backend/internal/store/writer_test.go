package store_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store/storetest"
)

// The happy path of a job is one insert and one update of its row, and the
// reservation goes with them.
func TestCommitHappyPath(t *testing.T) {
	h := newHouse(t)
	start, end := &core.Effects{}, &core.Effects{}
	jobs := h.submit(start, 3)
	h.commit(start)
	if got := h.reserved(); got != 3 {
		t.Fatalf("reserved %d slots after the assignments, want 3", got)
	}
	job := h.job(jobs[0].ID)
	if job.State != fleet.JobOffered || job.Node != h.node.ID || job.Pool != h.node.Pool || job.Attempt != 1 || job.Spec.App != h.app.ID {
		t.Fatalf("after the insert: %+v", job)
	}
	h.finish(end, jobs...)
	h.commit(end)
	job = h.job(jobs[0].ID)
	if job.State != fleet.JobSucceeded || string(job.Output) != `{"vmaf": 92.5}` || job.EndedAt == nil || *job.ExitCode != 0 || job.LogBytes != 12 {
		t.Fatalf("after the end: %+v", job)
	}
	if !strings.Contains(string(job.Decision), `"outcome":"placed"`) {
		t.Fatalf("the decision was lost: %s", job.Decision)
	}
	if got := h.reserved(); got != 0 {
		t.Fatalf("reserved %d slots after the ends, want 0", got)
	}
	for _, table := range []string{"attempts", "results", "pool_fallbacks", "idempotency"} {
		if n := storetest.Query[int64](t, h.urls, "SELECT count(*) FROM "+table); n != 0 {
			t.Errorf("the happy path wrote %d rows of %s", n, table)
		}
	}
}

func TestCommitOfNothing(t *testing.T) {
	h := newHouse(t)
	h.commit(&core.Effects{Sends: []core.Send{{}}})
}

// A guard per row: what was refused and why, and that the other jobs of the batch
// are written.
func TestCommitRefusals(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(h *house)
		why     core.RefusedWhy
	}{
		{"node moved", func(h *house) { h.move(fleet.PoolDefault) }, core.RefusedAssignment},
		{"node unassigned", func(h *house) { h.move(fleet.PoolUnassigned) }, core.RefusedAssignment},
		{"node held", func(h *house) { storetest.InsertHold(h.t, h.urls, h.node.ID, fleet.HoldCordon) }, core.RefusedAssignment},
		{"node left", func(h *house) {
			h.commit(&core.Effects{Sessions: []core.SessionWrite{{Node: h.node.ID, Epoch: 1, Left: true}}})
		}, core.RefusedAssignment},
		{"node revoked", func(h *house) {
			_, err := h.db.RevokeNode(ctx, storetest.Actor, h.node.ID, "stolen")
			h.must(err)
		}, core.RefusedAssignment},
		{"node full", func(h *house) {
			e := &core.Effects{}
			h.submit(e, 4)
			h.commit(e)
		}, core.RefusedAssignment},
		{"capacity shrank", func(h *house) {
			e := &core.Effects{Sessions: []core.SessionWrite{{Node: h.node.ID, Epoch: 2, Report: &fleet.NodeReport{}}}}
			h.commit(e)
		}, core.RefusedAssignment},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t)
			c.prepare(h)
			before := h.reserved()
			e := &core.Effects{}
			refused := h.submit(e, 2)
			waiting := h.submitQueued(e)
			got := h.try(e)
			want := []core.Refusal{{Job: refused[0].ID, Why: c.why}, {Job: refused[1].ID, Why: c.why}}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("refused %+v, want %+v", got, want)
			}
			if h.job(waiting.ID).State != fleet.JobQueued {
				t.Error("the job that asked for nothing was not written")
			}
			if _, err := h.db.Job(ctx, refused[0].ID, record.Scope{}); err == nil {
				t.Error("a refused job was written")
			}
			if after := h.reserved(); after != before {
				t.Errorf("reserved %d slots, want %d", after, before)
			}
		})
	}
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) move(pool string) {
	h.t.Helper()
	_, _, err := h.db.MoveNode(ctx, storetest.Actor, h.node.ID, pool, "test", nil)
	h.must(err)
}

// submitQueued inserts a job that waits.
func (h *house) submitQueued(e *core.Effects) *fleet.JobSpec {
	spec := storetest.Spec(h.app, time.Now())
	e.Inserts = append(e.Inserts, core.JobInsert{Spec: spec, At: now(), Row: core.JobRow{State: fleet.JobQueued, Cause: fleet.CausePoolExhausted}})
	return spec
}

// A held node keeps what it runs: releases and the return to running work pass.
func TestCommitHeldNodeReleasesAndAdopts(t *testing.T) {
	h := newHouse(t)
	e := &core.Effects{}
	jobs := h.submit(e, 2)
	h.commit(e)
	storetest.InsertHold(t, h.urls, h.node.ID, fleet.HoldDrain)
	h.move(fleet.PoolUnassigned)
	end := &core.Effects{}
	h.finish(end, jobs...)
	h.commit(end)
	adopted := storetest.Spec(h.app, time.Now())
	row := h.assigned()
	adopt := h.reserve(adopted)
	adopt.Adopt, adopt.Pool = true, ""
	h.commit(&core.Effects{
		Inserts:      []core.JobInsert{{Spec: adopted, At: now(), Row: row}},
		Reservations: []core.Reservation{adopt},
	})
	if got := h.reserved(); got != 1 {
		t.Fatalf("reserved %d, want 1", got)
	}
}

// Of a node that is full with new work, the new work is refused and not what it
// runs already.
func TestCommitPrefersAdopted(t *testing.T) {
	h := newHouse(t, storetest.Slots(1))
	e := &core.Effects{}
	fresh := h.submit(e, 1)[0]
	adopted := h.submit(e, 1)[0]
	e.Reservations[1].Adopt = true
	if got := h.try(e); !reflect.DeepEqual(got, []core.Refusal{{Job: fresh.ID, Why: core.RefusedAssignment}}) {
		t.Fatalf("refused %+v, want the new job", got)
	}
	h.job(adopted.ID)
}

// Two beliefs about a node's pool in one batch: the newer one is tried.
func TestCommitConflictingPools(t *testing.T) {
	h := newHouse(t)
	e := &core.Effects{}
	older := h.submit(e, 1)[0]
	h.node.Pool = fleet.PoolDefault
	newer := h.submit(e, 1)[0]
	h.move(fleet.PoolDefault)
	if got := h.try(e); !reflect.DeepEqual(got, []core.Refusal{{Job: older.ID, Why: core.RefusedAssignment}}) {
		t.Fatalf("refused %+v, want the older job", got)
	}
	h.job(newer.ID)
}

// A release in the same batch makes room for the next assignment.
func TestCommitNetDelta(t *testing.T) {
	h := newHouse(t, storetest.Slots(1))
	e := &core.Effects{}
	first := h.submit(e, 1)
	h.commit(e)
	next := &core.Effects{}
	h.finish(next, first...)
	h.submit(next, 1)
	h.commit(next)
	if got := h.reserved(); got != 1 {
		t.Fatalf("reserved %d, want 1", got)
	}
}

func TestCommitResources(t *testing.T) {
	h := newHouse(t, storetest.WithResource("gpu", 2))
	used := func() int64 {
		return storetest.Query[int64](t, h.urls, "SELECT reserved FROM node_resources WHERE node_id = $1", h.node.ID)
	}
	e := &core.Effects{}
	jobs := h.submit(e, 3)
	for _, spec := range jobs {
		spec.Demands.Resources = []fleet.Quantity{{Name: "gpu", Amount: 1}}
	}
	plain := h.submit(e, 1)[0]
	if got := h.try(e); len(got) != 3 {
		t.Fatalf("three jobs for two GPUs: refused %+v, want all that ask for one", got)
	}
	h.job(plain.ID)
	two := &core.Effects{Inserts: e.Inserts[:2], Reservations: e.Reservations[:2]}
	h.commit(two)
	if used() != 2 {
		t.Fatalf("reserved %d GPUs, want 2", used())
	}
	end := &core.Effects{}
	h.finish(end, jobs[:2]...)
	h.commit(end)
	if used() != 0 {
		t.Fatalf("reserved %d GPUs after the ends, want 0", used())
	}
}

// A stale writer changes nothing: state and attempt are compared in SQL.
func TestCommitStaleUpdates(t *testing.T) {
	h := newHouse(t)
	e, end := &core.Effects{}, &core.Effects{}
	jobs := h.submit(e, 2)
	h.commit(e)
	h.finish(end, jobs...)
	end.Updates[0].FromAttempt = 2
	got := h.try(end)
	if !reflect.DeepEqual(got, []core.Refusal{{Job: jobs[0].ID, Why: core.RefusedStale}}) {
		t.Fatalf("refused %+v", got)
	}
	if h.job(jobs[0].ID).State != fleet.JobOffered || h.job(jobs[1].ID).State != fleet.JobSucceeded {
		t.Fatal("the stale update was written, or the good one was not")
	}
	if got := h.reserved(); got != 1 {
		t.Fatalf("reserved %d: the stale job's release must not count", got)
	}
	again := &core.Effects{}
	h.finish(again, jobs[1])
	again.Updates[0].Row.State = fleet.JobFailed
	if got := h.try(again); len(got) != 1 || got[0].Why != core.RefusedStale {
		t.Fatalf("a terminal job was changed: refused %+v", got)
	}
}

func TestCommitIdempotency(t *testing.T) {
	h := newHouse(t)
	e := &core.Effects{}
	jobs := h.submit(e, 3)
	for i := range e.Inserts {
		e.Inserts[i].IdempotencyKey, e.Inserts[i].RequestDigest = "key", [32]byte{byte(i)}
	}
	e.Inserts[2].IdempotencyKey = "other"
	if got := h.try(e); !reflect.DeepEqual(got, []core.Refusal{{Job: jobs[1].ID, Why: core.RefusedIdempotency}}) {
		t.Fatalf("the same key twice in a batch: refused %+v", got)
	}
	again := &core.Effects{}
	fourth := h.submit(again, 1)[0]
	again.Inserts[0].IdempotencyKey = "key"
	if got := h.try(again); !reflect.DeepEqual(got, []core.Refusal{{Job: fourth.ID, Why: core.RefusedIdempotency}}) {
		t.Fatalf("the key of an earlier batch: refused %+v", got)
	}
	if got := h.reserved(); got != 2 {
		t.Fatalf("reserved %d, want 2", got)
	}
	found, ok, err := h.db.IdempotentWork(ctx, h.user.ID, "key")
	if err != nil || !ok || found.Job != jobs[0].ID || found.RequestDigest != [32]byte{0} {
		t.Fatalf("look the key up: %+v %v %v", found, ok, err)
	}
	if _, ok, _ := h.db.IdempotentWork(ctx, h.user.ID+1, "key"); ok {
		t.Fatal("another user has the key")
	}
	h.must(h.db.PruneIdempotency(ctx, time.Now().Add(time.Minute)))
	h.commit(&core.Effects{Inserts: again.Inserts, Reservations: again.Reservations})
}

// A value that can't be stored refuses its job and no other (NUL in a text gets
// no further than the API; here it must not take a batch with it).
func TestAttack_A69_NULTextRefusesItsJobOnly(t *testing.T) {
	h := newHouse(t, storetest.Slots(64))
	e := &core.Effects{}
	jobs := h.submit(e, 37)
	e.Inserts[5].Row.Detail = "a\x00b"
	e.Inserts[21].Row.Detail = "\xff\xfe"
	e.Attempts = []core.AttemptRow{{Job: jobs[30].ID, Attempt: 0, Node: "n\x00"}}
	e.Audits = []core.AuditNote{{Action: "result_fenced", Node: h.node.ID, Job: jobs[5].ID, Detail: "x\x00y\xff"}}
	e.Sessions = []core.SessionWrite{{Node: h.node.ID, Epoch: 9, Report: &fleet.NodeReport{Region: "x\x00", Capacity: fleet.Vector{Slots: 64}}}}
	got := h.try(e)
	want := []core.Refusal{
		{Job: jobs[5].ID, Why: core.RefusedData}, {Job: jobs[21].ID, Why: core.RefusedData},
		{Job: jobs[30].ID, Why: core.RefusedData}, {Node: h.node.ID, Why: core.RefusedData},
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("refused %+v\nwant %+v", got, want)
	}
	if n := storetest.Query[int64](t, h.urls, "SELECT count(*) FROM jobs"); n != 34 {
		t.Fatalf("%d jobs were written, want 34", n)
	}
	if got := h.reserved(); got != 34 {
		t.Fatalf("reserved %d, want 34", got)
	}
	if n := storetest.Query[int64](t, h.urls, "SELECT count(*) FROM audit_entries WHERE action = 'result_fenced'"); n != 1 {
		t.Fatal("the security event was lost")
	}
}

// A job whose day has no partition can't be stored; the others can.
func TestCommitWithoutPartition(t *testing.T) {
	h := newHouse(t)
	e := &core.Effects{}
	h.submit(e, 1)
	old := h.submitQueued(e)
	old.ID = storetest.JobID(time.Now().AddDate(0, 0, -30))
	if got := h.try(e); !reflect.DeepEqual(got, []core.Refusal{{Job: old.ID, Why: core.RefusedData}}) {
		t.Fatalf("refused %+v", got)
	}
}

func TestCommitLargeResults(t *testing.T) {
	h := newHouse(t)
	e, end := &core.Effects{}, &core.Effects{}
	jobs := h.submit(e, 2)
	h.commit(e)
	h.finish(end, jobs...)
	large := fmt.Sprintf("[%s1]", strings.Repeat("0, ", 3000))
	end.Updates[0].Result = &fleet.Result{Output: []byte(large), ExitCode: new(int64(3)), LogBytes: 70000, Head: []byte("first\n"), Tail: []byte("last\xff\n"),
		Outputs: []fleet.Output{{Name: "log.json", Digest: "sha256:ab", Size: 7}}, Digest: [32]byte{7}}
	h.commit(end)
	job := h.job(jobs[0].ID)
	if string(job.Output) != large || *job.ExitCode != 3 || len(job.Outputs) != 1 || job.Outputs[0].Size != 7 {
		t.Fatalf("the large result came back as %d bytes, exit %v, outputs %v", len(job.Output), job.ExitCode, job.Outputs)
	}
	log, err := h.db.JobLog(ctx, jobs[0].ID)
	if err != nil || string(log.Head) != "first\n" || string(log.Tail) != "last\xff\n" || log.Bytes != 70000 || log.Attempt != 1 {
		t.Fatalf("the log came back as %+v, %v", log, err)
	}
	_, err = h.db.JobLog(ctx, jobs[1].ID)
	wantCode(t, err, fleet.CodeNotFound)
}

// A superseded attempt keeps its decision; a fallback leaves its record.
func TestCommitAttemptsAndFallbacks(t *testing.T) {
	h := newHouse(t)
	e := &core.Effects{}
	job := h.submit(e, 1)[0]
	h.commit(e)
	row := h.assigned()
	next := row
	next.Attempt, next.Fallback = 2, true
	second := *row.Decision
	second.TieBreak = true
	next.Decision = &second
	release, take := h.reserve(job), h.reserve(job)
	release.Release = true
	h.commit(&core.Effects{
		Updates: []core.JobUpdate{{Job: job.ID, FromState: fleet.JobRunning, FromAttempt: 1, Row: next}},
		Attempts: []core.AttemptRow{{Job: job.ID, Attempt: 1, Node: h.node.ID, Pool: h.node.Pool, Outcome: fleet.AttemptDeclined,
			Cause: fleet.CauseDeclined, Decision: row.Decision, AssignedAt: row.AssignedAt, EndedAt: now()}},
		Reservations: []core.Reservation{release, take},
		Fallbacks:    []core.FallbackRecord{{Job: job.ID, Attempt: 2, App: h.app.ID, Role: "worker", From: []string{"a", "b"}, Node: h.node.ID, At: now()}},
	})
	got := h.job(job.ID)
	if got.Attempt != 2 || !got.Fallback || !strings.Contains(string(got.Decision), `"tieBreak":true`) {
		t.Fatalf("the second attempt: %+v, decision %s", got, got.Decision)
	}
	attempts, err := h.db.JobAttempts(ctx, job.ID)
	if err != nil || len(attempts) != 1 || attempts[0].Outcome != fleet.AttemptDeclined || strings.Contains(string(attempts[0].Decision), `"tieBreak"`) {
		t.Fatalf("attempts %+v, %v", attempts, err)
	}
	from := storetest.Query[[]string](t, h.urls, "SELECT from_pools FROM pool_fallbacks")
	if !reflect.DeepEqual(from, []string{"a", "b"}) {
		t.Fatalf("fallback from %v", from)
	}
	recalled, err := h.db.Recall(ctx, []core.Recall{
		{Job: job.ID, Attempt: 1}, {Job: job.ID, Attempt: 2}, {Job: job.ID, Attempt: 3}, {Job: storetest.JobID(time.Now()), Attempt: 1},
	})
	here := core.RecalledRow{Found: true, State: fleet.JobOffered, Attempt: 2, Node: h.node.ID, AttemptNode: h.node.ID}
	none := here
	none.AttemptNode = ""
	if want := []core.RecalledRow{here, here, none, {}}; err != nil || !reflect.DeepEqual(recalled, want) {
		t.Fatalf("recalled %+v, %v\nwant %+v", recalled, err, want)
	}
}
