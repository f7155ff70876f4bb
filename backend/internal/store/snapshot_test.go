package store_test

import (
	"reflect"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/store/storetest"
)

func (h *house) snapshot() *core.Snapshot {
	h.t.Helper()
	s, err := h.db.LoadSnapshot(ctx)
	h.must(err)
	return s
}

// What was written comes back as it was.
func TestSnapshotRoundTrip(t *testing.T) {
	h := newHouse(t, storetest.WithResource("gpu", 2))
	storetest.Bind(t, h.urls, h.app.ID, fleet.Binding{Role: "", Pools: []string{"default"}})
	storetest.InsertHold(t, h.urls, h.node.ID, fleet.HoldCordon)
	h.urls.Exec(t, "DELETE FROM node_holds")
	e := &core.Effects{}
	job := h.submit(e, 1)[0]
	job.Params, job.Region = []fleet.Label{{Name: "clip", Value: `ä"\`}}, "eu"
	job.Inputs = []fleet.Input{{Name: "reference", Digest: "sha256:12", Size: 5}}
	job.Demands.Resources = []fleet.Quantity{{Name: "gpu", Amount: 1}}
	waiting := h.submitQueued(e)
	waiting.QueueTimeoutMs, waiting.NotBeforeMs, waiting.RetryBackoffMs, waiting.RetryOf = 5000, 9000, fleet.NoBackoff, job.ID
	e.Inserts[1].Row.NotBefore, e.Inserts[1].Row.Waits = now()+9000, fleet.WaitLedger{Pool: 1, Fairness: 2, Backoff: 3, Quota: 4, Hold: 5, Offer: 6}
	e.Inserts[1].Row.Decision = &fleet.Decision{Outcome: fleet.OutcomeWaiting, At: now(), Rule: fleet.RuleBinding}
	h.commit(e)
	s := h.snapshot()
	if len(s.Pools) != 3 || len(s.Apps) != 1 || !reflect.DeepEqual(s.Apps[0].Bindings, []fleet.Binding{{Pools: []string{"default"}}}) {
		t.Fatalf("pools %+v, apps %+v", s.Pools, s.Apps)
	}
	want := fleet.NodeRecord{
		ID: h.node.ID, Owner: h.user.ID, Pool: h.node.Pool, Role: "worker", License: s.Nodes[0].License, Epoch: 1, BootID: "boot-1",
		Capacity: h.node.Report.Capacity, Backend: "cpu", Runners: []string{"exec"}, Version: 1,
	}
	if !reflect.DeepEqual(s.Nodes, []fleet.NodeRecord{want}) {
		t.Fatalf("nodes %+v\nwant %+v", s.Nodes, want)
	}
	for i, in := range e.Inserts {
		if got := s.Jobs[i]; !reflect.DeepEqual(got.Spec, in.Spec) || !reflect.DeepEqual(got.Row, in.Row) || got.SubmittedAt != in.At {
			t.Errorf("job %d came back as\n%+v %+v at %d, was\n%+v %+v at %d", i, got.Spec, got.Row, got.SubmittedAt, in.Spec, in.Row, in.At)
		}
	}
	if len(s.Jobs) != 2 || s.Jobs[1].Spec.ID != waiting.ID {
		t.Fatalf("%d open jobs", len(s.Jobs))
	}
	end := &core.Effects{}
	h.finish(end, job)
	h.commit(end)
	if s := h.snapshot(); len(s.Jobs) != 1 || s.Jobs[0].Spec.ID != waiting.ID {
		t.Fatalf("after the end of one: %d open jobs", len(s.Jobs))
	}
}

// The ledger and the pause move with the row; a job that avoids the nodes where it
// failed brings them.
func TestSnapshot_WaitsAndFailures(t *testing.T) {
	h := newHouse(t)
	e := &core.Effects{}
	avoids, other := h.submit(e, 1)[0], h.submit(e, 1)[0]
	avoids.AvoidFailedNode = true
	h.commit(e)
	again := &core.Effects{}
	for _, spec := range []*fleet.JobSpec{avoids, other} {
		row := core.JobRow{State: fleet.JobQueued, Cause: fleet.CauseExitCode, Attempt: 4, Counted: 3, NotBefore: now() + 2000, Waits: fleet.WaitLedger{Offer: 7}}
		again.Updates = append(again.Updates, core.JobUpdate{Job: spec.ID, FromState: fleet.JobOffered, FromAttempt: 1, Row: row})
		for i, a := range []core.AttemptRow{
			{Node: "b", Outcome: fleet.AttemptEnded, Cause: fleet.CauseExitCode}, {Node: "a", Outcome: fleet.AttemptEnded, Cause: fleet.CauseSignaled},
			{Node: "drained", Outcome: fleet.AttemptEnded, Cause: fleet.CauseDrained}, {Node: "declined", Outcome: fleet.AttemptDeclined},
		} {
			a.Job, a.Attempt = spec.ID, int32(i+1)
			again.Attempts = append(again.Attempts, a)
		}
		release := h.reserve(spec)
		release.Release = true
		again.Reservations = append(again.Reservations, release)
	}
	h.commit(again)
	jobs := h.snapshot().Jobs
	for i := range jobs {
		jobs[i].Row.Decision = nil // the first attempt's
		if !reflect.DeepEqual(jobs[i].Row, again.Updates[i].Row) {
			t.Errorf("job %d came back as %+v, was %+v", i, jobs[i].Row, again.Updates[i].Row)
		}
	}
	if !reflect.DeepEqual(jobs[0].Failed, []string{"a", "b"}) || jobs[1].Failed != nil {
		t.Errorf("failed on %v and %v", jobs[0].Failed, jobs[1].Failed)
	}
	job := h.job(avoids.ID)
	if job.NotBefore == nil || job.Waits.Offer != 7 {
		t.Errorf("read %+v", job)
	}
}

// Reservations that differ from what the open jobs hold are put right.
func TestSnapshotReconcilesReservations(t *testing.T) {
	h := newHouse(t, storetest.WithResource("gpu", 2))
	idle := storetest.InsertNode(t, h.db, h.user.ID)
	e := &core.Effects{}
	jobs := h.submit(e, 3)
	jobs[0].Demands.Resources = []fleet.Quantity{{Name: "gpu", Amount: 2}}
	h.commit(e)
	held := func() [3]int64 {
		return [3]int64{
			h.reserved(), storetest.Query[int64](t, h.urls, "SELECT reserved_slots FROM nodes WHERE id = $1", idle.ID),
			storetest.Query[int64](t, h.urls, "SELECT coalesce(sum(reserved), 0)::bigint FROM node_resources"),
		}
	}
	want := [3]int64{3, 0, 2}
	for _, damage := range []string{
		"UPDATE nodes SET reserved_slots = 1", "UPDATE nodes SET reserved_slots = 9, total_slots = 9",
		"UPDATE node_resources SET reserved = 0", "DELETE FROM node_resources", "SELECT 1",
	} {
		h.urls.Exec(t, damage)
		h.snapshot()
		if got := held(); got != want {
			t.Errorf("after %s: reserved %v, want %v", damage, got, want)
		}
	}
	if total := storetest.Query[int64](t, h.urls, "SELECT total_slots FROM nodes WHERE id = $1", idle.ID); total != 4 {
		t.Errorf("the idle node has %d slots in total, want 4", total)
	}
}

func TestTouchNodes(t *testing.T) {
	h := newHouse(t)
	at := time.Now().UTC().Truncate(time.Microsecond)
	for i := range 2 {
		h.must(h.db.TouchNodes(ctx, []string{h.node.ID, "nobody"}, []time.Time{at.Add(time.Duration(i) * time.Minute), at}))
	}
	node, err := h.db.Node(ctx, h.node.ID)
	if err != nil || node.LastSeen == nil || !node.LastSeen.Equal(at.Add(time.Minute)) {
		t.Fatalf("last seen %v, %v", node.LastSeen, err)
	}
	h.must(h.db.TouchNodes(ctx, nil, nil))
}

func TestPartitions(t *testing.T) {
	urls := storetest.NewURLs(t)
	db := storetest.Open(t, urls.Server)
	user := storetest.InsertUser(t, db)
	app := storetest.InsertApp(t, db, user.ID)
	count := func(parent string) int64 {
		return storetest.Query[int64](t, urls, "SELECT count(*) FROM pg_inherits WHERE inhparent = $1::regclass", parent)
	}
	today := time.Now().UTC()
	for range 2 {
		if err := db.EnsurePartitions(ctx, today.AddDate(0, 0, -10)); err != nil {
			t.Fatal(err)
		}
	}
	for _, parent := range []string{"jobs", "attempts", "results"} {
		if n := count(parent); n != 18 { // days -11 to +7, without -2, which neither range has
			t.Errorf("%s has %d partitions, want 18", parent, n)
		}
	}
	w := storetest.NewWriter(t, db)
	insert := func(day int) {
		spec := storetest.Spec(app, today.AddDate(0, 0, day))
		out, err := w.Commit(ctx, &core.Effects{Inserts: []core.JobInsert{{Spec: spec, At: now(), Row: core.JobRow{State: fleet.JobQueued}}}})
		if err != nil || len(out) > 0 {
			t.Fatalf("insert on day %d: %+v, %v", day, out, err)
		}
	}
	insert(-9)
	insert(0)
	gone, err := db.DropPartitions(ctx, today.AddDate(0, 0, -5))
	if err != nil || len(gone) != 5 { // -11, -10, -8, -7, -6
		t.Fatalf("dropped %v, %v; want 5 days", gone, err)
	}
	for _, day := range gone {
		if day.Format(time.DateOnly) == today.AddDate(0, 0, -9).Format(time.DateOnly) {
			t.Error("a day with an open job was dropped")
		}
	}
	if n := count("attempts"); n != 13 {
		t.Errorf("attempts has %d partitions left, want 13", n)
	}
	urls.Exec(t, "DELETE FROM jobs")
	if gone, err := db.DropPartitions(ctx, today.AddDate(0, 0, -5)); err != nil || len(gone) != 1 {
		t.Fatalf("once the job had gone: dropped %v, %v", gone, err)
	}
}
