package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store/storetest"
)

// ward is a fleet whose work was placed in every way there is, all of it rightly.
type ward struct {
	*house
	shared storetest.Node // in default
	canary storetest.Node // in canary-1
	guest  record.User    // has no node
	jobs   map[string]*fleet.JobSpec
}

// place inserts a job whose attempt was assigned to a node by that chain of pools;
// the last one is the node's.
func (w *ward) place(e *core.Effects, name string, node storetest.Node, rule fleet.ResolutionRule, pools ...string) *core.JobInsert {
	spec := storetest.Spec(w.app, time.Now())
	w.jobs[name] = spec
	e.Inserts = append(e.Inserts, core.JobInsert{Spec: spec, At: now(), Row: w.on(node, 1, rule, pools...)})
	e.Reservations = append(e.Reservations, core.Reservation{Job: spec.ID, Node: node.ID, Pool: node.Pool, Demand: &spec.Demands})
	return &e.Inserts[len(e.Inserts)-1]
}

func (w *ward) on(node storetest.Node, attempt int32, rule fleet.ResolutionRule, pools ...string) core.JobRow {
	d := &fleet.Decision{Outcome: fleet.OutcomePlaced, At: now(), Rule: rule, Node: node.ID}
	for _, pool := range pools {
		d.Pools = append(d.Pools, fleet.Tally{Pool: pool, Nodes: 1})
	}
	return core.JobRow{State: fleet.JobOffered, Attempt: attempt, Counted: attempt, Node: node.ID, Pool: node.Pool, Decision: d, AssignedAt: now()}
}

func (w *ward) fallBack(e *core.Effects, spec *fleet.JobSpec, row *core.JobRow, from ...string) {
	row.Fallback, row.Decision.Fallback, row.Decision.FallbackOK = true, true, true
	e.Fallbacks = append(e.Fallbacks, core.FallbackRecord{Job: spec.ID, Attempt: row.Attempt, App: spec.App, Role: spec.Role, From: from, Node: row.Node, At: now()})
}

func newWard(t testing.TB) *ward {
	h := newHouse(t, storetest.Slots(64))
	canary(t, h.db, "canary-1")
	canary(t, h.db, "gpu")
	w := &ward{house: h, jobs: map[string]*fleet.JobSpec{}}
	w.shared = storetest.InsertNode(t, h.db, h.user.ID, storetest.InPool(fleet.PoolDefault))
	w.canary = storetest.InsertNode(t, h.db, h.user.ID, storetest.InPool("canary-1"))
	w.guest = storetest.InsertUser(t, h.db)
	bound, helped := storetest.InsertApp(t, h.db, h.user.ID), storetest.InsertApp(t, h.db, h.user.ID)
	_, _, err := h.db.PutBinding(ctx, storetest.Actor, helped.ID, fleet.Binding{Pools: []string{h.node.Pool}, AllowFallback: true}, "", nil)
	h.must(err)
	_, _, err = h.db.PutBinding(ctx, storetest.Actor, bound.ID, fleet.Binding{Role: "worker", Pools: []string{"gpu", h.node.Pool}, AllowFallback: true}, "", nil)
	h.must(err)
	e := &core.Effects{}
	w.place(e, "owner", h.node, fleet.RuleOwnerPool, h.node.Pool)
	w.place(e, "canary", w.canary, fleet.RuleCanary, "canary-1").Spec.Pool = "canary-1"
	w.app = storetest.InsertApp(t, h.db, w.guest.ID)
	in := w.place(e, "fallback", w.shared, fleet.RuleOwnerPool, fleet.OwnerPool(w.guest.ID), fleet.PoolDefault)
	w.fallBack(e, in.Spec, &in.Row, fleet.OwnerPool(w.guest.ID))
	w.app = helped
	w.place(e, "retried", h.node, fleet.RuleBinding, h.node.Pool)
	w.app = bound
	w.place(e, "bound", h.node, fleet.RuleBinding, "gpu", h.node.Pool)
	in = w.place(e, "bound fallback", w.shared, fleet.RuleBinding, "gpu", h.node.Pool, fleet.PoolDefault)
	w.fallBack(e, in.Spec, &in.Row, "gpu", h.node.Pool)
	h.commit(e)
	w.retry()
	waiting := &core.Effects{}
	h.submitQueued(waiting)
	h.commit(waiting)
	return w
}

// retry makes the job's first attempt a superseded one; the second falls back.
func (w *ward) retry() {
	spec := w.jobs["retried"]
	first := w.on(w.node, 1, fleet.RuleBinding, w.node.Pool)
	row := w.on(w.shared, 2, fleet.RuleBinding, w.node.Pool, fleet.PoolDefault)
	e := &core.Effects{
		Updates: []core.JobUpdate{{Job: spec.ID, FromState: fleet.JobOffered, FromAttempt: 1}},
		Attempts: []core.AttemptRow{{
			Job: spec.ID, Attempt: 1, Node: first.Node, Pool: first.Pool, Outcome: fleet.AttemptDeclined, Decision: first.Decision,
			AssignedAt: first.AssignedAt, EndedAt: now(),
		}},
		Reservations: []core.Reservation{
			{Job: spec.ID, Node: w.node.ID, Demand: &spec.Demands, Release: true},
			{Job: spec.ID, Node: w.shared.ID, Pool: w.shared.Pool, Demand: &spec.Demands},
		},
	}
	w.fallBack(e, spec, &row, w.node.Pool)
	e.Updates[0].Row = row
	w.commit(e)
}

func (w *ward) audit(since *time.Time) record.Isolation {
	w.t.Helper()
	found, err := w.db.AuditIsolation(ctx, since)
	w.must(err)
	return found
}

func TestAuditIsolation_HoldsForAllWaysOfPlacing(t *testing.T) {
	w := newWard(t)
	began := time.Now()
	// running work stays where it is when its node moves and its app is bound anew
	w.move(fleet.PoolUnassigned)
	_, _, err := w.db.PutBinding(ctx, storetest.Actor, w.app.ID, fleet.Binding{Role: "worker"}, "", nil)
	w.must(err)
	got := w.audit(nil)
	if got.Found != 0 || len(got.Crossings) != 0 {
		t.Fatalf("crossings %+v", got.Crossings)
	}
	if got.Jobs != 7 || got.Attempts != 7 || got.Fallbacks != 3 || got.Undecided != 0 || got.From == nil || got.To.Before(*got.From) || got.To.After(began) {
		t.Fatalf("read %+v", got)
	}
	later := time.Now().Add(time.Second)
	if none := w.audit(&later); none.Jobs != 0 || none.From != nil {
		t.Fatalf("since then there is nothing: %+v", none)
	}
	earlier := began.Add(-time.Hour)
	if all := w.audit(&earlier); all.Jobs != got.Jobs {
		t.Fatalf("since an hour: %+v", all)
	}
}

// Whatever row is forged, the audit names its attempt and says what is wrong.
func TestAuditIsolation_NamesForgedRows(t *testing.T) {
	w := newWard(t)
	// the moves that put nodes in their pools are out of the tolerance
	w.urls.Exec(t, "UPDATE jobs SET assigned_at = assigned_at + interval '10 s'")
	w.urls.Exec(t, "UPDATE attempts SET assigned_at = assigned_at + interval '10 s'")
	tables := []string{"jobs", "attempts", "pool_fallbacks"}
	for _, table := range tables {
		w.urls.Exec(t, "CREATE TABLE true_"+table+" AS TABLE "+table)
	}
	for name, c := range map[string]struct{ job, forge, says string }{
		"pool":                {"owner", "UPDATE jobs SET pool_id = 'gpu' WHERE id = $1", "its decision chose the pool pool-"},
		"unassigned":          {"owner", "UPDATE jobs SET pool_id = 'unassigned' WHERE id = $1", "nothing may run in unassigned"},
		"node":                {"owner", "UPDATE jobs SET node_id = 'elsewhere' WHERE id = $1", "its decision chose the node node-"},
		"node taken away":     {"owner", "UPDATE jobs SET node_id = '' WHERE id = $1", "taken away"},
		"assigned at":         {"owner", "UPDATE jobs SET assigned_at = assigned_at - interval '1 hour' WHERE id = $1", "was not registered then"},
		"fallback dropped":    {"fallback", "UPDATE jobs SET fallback = false WHERE id = $1", "does not say so"},
		"fallback claimed":    {"owner", "UPDATE jobs SET fallback = true WHERE id = $1", "without a record"},
		"record deleted":      {"fallback", "DELETE FROM pool_fallbacks WHERE job_id = $1", "without a record"},
		"flag and record":     {"fallback", "WITH gone AS (DELETE FROM pool_fallbacks WHERE job_id = $1) UPDATE jobs SET fallback = false WHERE id = $1", "differ on whether"},
		"record's node":       {"fallback", "UPDATE pool_fallbacks SET node_id = 'elsewhere' WHERE job_id = $1", "names the node elsewhere"},
		"decision's node":     {"owner", `UPDATE jobs SET decision = replace(decision, '"node":"', '"node":"x') WHERE id = $1`, "its decision chose the node x"},
		"decision's pool":     {"owner", `UPDATE jobs SET decision = replace(decision, '"pool":"pool-', '"pool":"pool-9') WHERE id = $1`, "its decision chose the pool pool-9"},
		"decision's rule":     {"owner", `UPDATE jobs SET decision = replace(decision, 'owner_pool', 'binding') WHERE id = $1`, "resolved by owner_pool"},
		"decision unreadable": {"owner", "UPDATE jobs SET decision = '{' WHERE id = $1", "can't be read"},
		"decision disallows": {"fallback", `UPDATE jobs SET decision = replace(decision, '"fallbackAllowed":true', '"fallbackAllowed":false') WHERE id = $1`,
			"did not allow"},
		"pool and decision": {"owner", `UPDATE jobs SET pool_id = 'gpu', decision = replace(decision, '"pool":"' || pool_id, '"pool":"gpu') WHERE id = $1`,
			"it tried gpu by owner_pool"},
		"bound pool and decision": {"bound", `UPDATE jobs SET pool_id = 'gpu',
			decision = regexp_replace(decision, ',\{"pool":"pool-[^}]*\}+', '') WHERE id = $1`, "was in pool-"},
		"no fallback at all": {"fallback", `WITH gone AS (DELETE FROM pool_fallbacks WHERE job_id = $1) UPDATE jobs SET fallback = false,
			decision = replace(decision, '"fallback":true', '"fallback":false') WHERE id = $1`, "resolved by owner_pool"},
		"a whole fallback": {"owner", `WITH story AS (INSERT INTO pool_fallbacks (job_id, attempt, app_id, role, from_pools, node_id, at)
			SELECT j.id, j.attempt, j.app_id, 'worker', ARRAY[j.pool_id], n.id, j.assigned_at FROM jobs j, nodes n WHERE n.pool_id = 'default' AND j.id = $1)
			UPDATE jobs SET node_id = n.id, pool_id = 'default', fallback = true, decision = regexp_replace(replace(replace(decision,
				',"epoch"', ',"fallback":true,"fallbackAllowed":true,"epoch"'), '"node":"' || node_id, '"node":"' || n.id),
				'\]', ',{"pool":"default","nodes":1}]') FROM nodes n WHERE n.pool_id = 'default' AND jobs.id = $1`, "resolved by owner_pool to pool-"},
		"canary spec":     {"canary", `UPDATE jobs SET spec = replace(spec, '"pool":"canary-1"', '"pool":""') WHERE id = $1`, "no canary job"},
		"canary's pool":   {"canary", `UPDATE jobs SET spec = replace(spec, '"pool":"canary-1"', '"pool":"gpu"') WHERE id = $1`, "the canary job named gpu"},
		"job deleted":     {"retried", "DELETE FROM jobs WHERE id = $1", "its job is gone"},
		"attempt's pool":  {"retried", "UPDATE attempts SET pool_id = 'default' WHERE job_id = $1", "its decision chose the pool pool-"},
		"attempt's node":  {"retried", "UPDATE attempts SET node_id = 'elsewhere' WHERE job_id = $1", "its decision chose the node"},
		"attempt's claim": {"retried", "UPDATE attempts SET fallback = true WHERE job_id = $1", "without a record"},
		"node of a lost decision": {"owner", `UPDATE jobs SET node_id = (SELECT id FROM nodes WHERE pool_id = 'canary-1'), decision = NULL WHERE id = $1`,
			"was in canary-1 at that time"},
		"all of a lost decision": {"owner", `UPDATE jobs SET node_id = n.id, pool_id = n.pool_id, decision = replace(decision, '"placed"', '"waiting"')
			FROM nodes n WHERE n.pool_id = 'canary-1' AND jobs.id = $1`, "resolved by owner_pool to pool-"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, table := range tables {
				w.urls.Exec(t, "TRUNCATE "+table)
				w.urls.Exec(t, "INSERT INTO "+table+" SELECT * FROM true_"+table)
			}
			id := w.jobs[c.job].ID
			w.urls.Exec(t, strings.ReplaceAll(c.forge, "$1", "'"+id.String()+"'"))
			got := w.audit(nil)
			if got.Found != 1 || len(got.Crossings) != 1 {
				t.Fatalf("found %d: %+v", got.Found, got.Crossings)
			}
			if x := got.Crossings[0]; x.Job != id || !strings.Contains(x.Detail, c.says) {
				t.Fatalf("says %q of attempt %d of %s, want %q of %s", x.Detail, x.Attempt, x.Job, c.says, id)
			}
		})
	}
}

// An app without a binding may fall back only while its owner has no node of their
// own: before the first one, after the last has left, or while it is out of use.
func TestAuditIsolation_OwnersWithANode(t *testing.T) {
	w := newWard(t)
	found := func(what string, want int64) {
		t.Helper()
		if got := w.audit(nil); got.Found != want {
			t.Errorf("%s: %d crossings, want %d: %+v", what, got.Found, want, got.Crossings)
		}
	}
	own := storetest.InsertNode(t, w.db, w.guest.ID)
	found("before their first node", 0)
	w.urls.Exec(t, "UPDATE jobs SET assigned_at = assigned_at + interval '10 s' WHERE owner_id = $1", w.guest.ID)
	found("with a node of their own", 1)
	w.urls.Exec(t, "UPDATE nodes SET left_at = now() WHERE id = $1", own.ID)
	found("when it had said goodbye", 0)
	w.urls.Exec(t, "UPDATE nodes SET left_at = NULL WHERE id = $1", own.ID)
	_, _, err := w.db.MoveNode(ctx, storetest.Actor, own.ID, fleet.PoolUnassigned, "", nil)
	w.must(err)
	found("when it was out of use", 0)
}

// An attempt whose decision went with a restart is checked by the records, and
// counted.
func TestAuditIsolation_WithoutDecision(t *testing.T) {
	w := newWard(t)
	w.urls.Exec(t, "UPDATE attempts SET decision = NULL")
	w.urls.Exec(t, `UPDATE jobs SET decision = '{"outcome":"waiting","pools":[]}' WHERE id = $1`, w.jobs["owner"].ID.String())
	if got := w.audit(nil); got.Found != 0 || got.Undecided != 2 {
		t.Fatalf("%+v", got)
	}
}

// A node of before there were entries is where it is; once moved, where it was.
func TestAuditIsolation_NodesOfBeforeTheChain(t *testing.T) {
	w := newWard(t)
	w.urls.Exec(t, "UPDATE jobs SET assigned_at = assigned_at + interval '10 s'")
	w.urls.Exec(t, "ALTER TABLE audit_entries DISABLE TRIGGER audit_append_only")
	w.urls.Exec(t, "DELETE FROM audit_entries WHERE object = 'node:' || $1::text", w.node.ID)
	if got := w.audit(nil); got.Found != 0 {
		t.Fatalf("without entries: %+v", got.Crossings)
	}
	w.move(fleet.PoolUnassigned)
	w.urls.Exec(t, "UPDATE audit_entries SET at = at + interval '1 min' WHERE object = 'node:' || $1::text", w.node.ID)
	if got := w.audit(nil); got.Found != 0 {
		t.Fatalf("moved since: %+v", got.Crossings)
	}
}

// Of thousands of crossings a hundred are named and all are counted, page by page.
func TestAuditIsolation_ManyPages(t *testing.T) {
	h := newHouse(t, storetest.Slots(64))
	e := &core.Effects{}
	for range 4500 {
		spec := storetest.Spec(h.app, time.Now())
		row := h.assigned()
		row.State, row.Outcome, row.EndedAt = fleet.JobSucceeded, fleet.AttemptEnded, now()
		e.Inserts = append(e.Inserts, core.JobInsert{Spec: spec, Row: row, At: now()})
	}
	h.commit(e)
	if got, err := h.db.AuditIsolation(ctx, nil); err != nil || got.Jobs != 4500 || got.Attempts != 4500 || got.Found != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	h.urls.Exec(t, "UPDATE jobs SET pool_id = 'default' WHERE id > $1", e.Inserts[0].Spec.ID.String())
	got, err := h.db.AuditIsolation(ctx, nil)
	if err != nil || got.Found != 4499 || len(got.Crossings) != record.MaxCrossings || got.Crossings[0].Job != e.Inserts[1].Spec.ID {
		t.Fatalf("found %d, named %d, %v", got.Found, len(got.Crossings), err)
	}
}

// Work that is placed while its node moves to and fro crosses nothing.
func TestAuditIsolation_UnderMoves(t *testing.T) {
	h := newHouse(t, storetest.Slots(64))
	placed := 0
	for i := range 120 {
		if i%7 == 0 {
			h.move([]string{fleet.PoolUnassigned, h.node.Pool}[i/7%2])
		}
		e := h.batch(1)
		if len(h.try(e)) == 0 {
			placed++
			end := &core.Effects{}
			h.finish(end, e.Inserts[0].Spec)
			h.commit(end)
		}
	}
	got, err := h.db.AuditIsolation(ctx, nil)
	if err != nil || got.Found != 0 || got.Attempts != int64(placed) || placed == 0 || placed == 120 {
		t.Fatalf("placed %d: %+v, %v", placed, got, err)
	}
}

func TestCanaryJobs(t *testing.T) {
	w := newWard(t)
	count := func(pool string, since time.Time) int64 {
		n, err := w.db.CanaryJobs(ctx, pool, since)
		w.must(err)
		return n
	}
	if n := count("canary-1", time.Time{}); n != 0 {
		t.Fatalf("%d have succeeded before their end", n)
	}
	w.urls.Exec(t, "UPDATE jobs SET state = 'succeeded', ended_at = now() WHERE node_id <> ''")
	for _, c := range []struct {
		pool  string
		since time.Time
		want  int64
	}{
		{"canary-1", time.Time{}, 1}, {"canary-1", time.Now().Add(-time.Hour), 1}, {"canary-1", time.Now().Add(time.Second), 0}, {w.node.Pool, time.Time{}, 0},
	} {
		if n := count(c.pool, c.since); n != c.want {
			t.Errorf("%s since %s: %d, want %d", c.pool, c.since, n, c.want)
		}
	}
}

func TestUsage(t *testing.T) {
	w := newWard(t)
	bob := storetest.InsertUser(t, w.db)
	day := time.Now().UTC().Truncate(24 * time.Hour)
	at := func(d time.Duration) string { return "'" + day.Add(d).Format(time.RFC3339) + "'" }
	set := func(job, sql string) {
		w.urls.Exec(t, fmt.Sprintf("UPDATE jobs SET %s WHERE id = '%s'", sql, w.jobs[job].ID))
	}
	for _, job := range []string{"fallback", "retried"} { // as if of one app
		set(job, fmt.Sprintf("app_id = '%s', owner_id = %d", w.jobs["owner"].App, w.user.ID))
	}
	// two slots from 23:00 yesterday to 01:00 today; an hour of the others
	set("owner", "state = 'succeeded', outcome = 'ended', spec = replace(spec, '\"slots\":1', '\"slots\":2'), assigned_at = "+at(-time.Hour)+", ended_at = "+at(time.Hour))
	set("fallback", "state = 'failed', outcome = 'ended', assigned_at = "+at(-2*time.Hour)+", ended_at = "+at(-time.Hour))
	set("canary", "state = 'succeeded', outcome = 'ended', assigned_at = "+at(0)+", ended_at = "+at(0))
	set("bound", "state = 'canceled', outcome = 'declined', ended_at = "+at(0))
	set("bound fallback", "state = 'queued', outcome = 'orphaned', assigned_at = "+at(-time.Hour))
	set("retried", "state = 'dead', outcome = 'orphaned', assigned_at = "+at(-time.Hour)+", ended_at = "+at(-30*time.Minute))
	w.urls.Exec(t, "UPDATE attempts SET outcome = 'orphaned', assigned_at = "+at(-3*time.Hour)+", ended_at = "+at(-2*time.Hour))
	pool, app := w.node.Pool, w.jobs["owner"].App
	yesterday, today := day.Add(-24*time.Hour), day
	usage := func(since, until time.Duration, f record.UsageFilter) []record.Usage {
		rows, err := w.db.Usage(ctx, day.Add(since), day.Add(until), f)
		w.must(err)
		return rows
	}
	all := []record.Usage{
		{Day: yesterday, App: app, Pool: "default", Attempts: 2, SlotSeconds: 5400, FallbackSlotSeconds: 5400},
		{Day: yesterday, App: app, Pool: pool, Attempts: 2, SlotSeconds: 7200 + 3600},
		{Day: today, App: app, Pool: "canary-1", Attempts: 1},
		{Day: today, App: app, Pool: pool, Attempts: 1, SlotSeconds: 7200},
	}
	for _, c := range []struct {
		name         string
		since, until time.Duration
		filter       record.UsageFilter
		want         []record.Usage
	}{
		{"everything", -24 * time.Hour, 24 * time.Hour, record.UsageFilter{}, all},
		{"of the app", -24 * time.Hour, 24 * time.Hour, record.UsageFilter{App: app, Scope: record.Scope{Owner: &w.user.ID}}, all},
		{"of another owner", -24 * time.Hour, 24 * time.Hour, record.UsageFilter{Scope: record.Scope{Owner: &bob.ID}}, nil},
		{"of a pool", -24 * time.Hour, 24 * time.Hour, record.UsageFilter{Pool: "default"}, all[:1]},
		{"within pools", -24 * time.Hour, 24 * time.Hour, record.UsageFilter{Scope: record.Scope{Pools: []string{"default", "canary-1"}}}, []record.Usage{all[0], all[2]}},
		{"clipped", -30 * time.Minute, 24 * time.Hour, record.UsageFilter{Pool: pool}, []record.Usage{
			{Day: yesterday, App: app, Pool: pool, Attempts: 1, SlotSeconds: 3600}, {Day: today, App: app, Pool: pool, Attempts: 1, SlotSeconds: 7200},
		}},
		{"after all", 2 * time.Hour, 3 * time.Hour, record.UsageFilter{}, nil},
	} {
		if got := usage(c.since, c.until, c.filter); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s:\n got %v\nwant %v", c.name, got, c.want)
		}
	}
	// both ends of the time asked for cut
	moment := time.Now().Truncate(time.Millisecond)
	set("bound", fmt.Sprintf("state = 'offered', outcome = 'open', ended_at = NULL, assigned_at = '%s'", moment.Add(-time.Hour).Format(time.RFC3339Nano)))
	w.sumOf(t, moment.Add(-50*time.Second), moment.Add(time.Hour), 50, 59) // it runs until now
	set("bound", fmt.Sprintf("state = 'succeeded', outcome = 'ended', ended_at = '%s'", moment.Add(time.Hour).Format(time.RFC3339Nano)))
	w.sumOf(t, moment.Add(-20*time.Second), moment.Add(10*time.Second), 30, 30)
}

// sumOf checks how many slot-seconds the job "bound" took within a time that may
// have a midnight in it.
func (w *ward) sumOf(t *testing.T, since, until time.Time, low, high int64) {
	t.Helper()
	rows, err := w.db.Usage(ctx, since, until, record.UsageFilter{App: w.jobs["bound"].App})
	w.must(err)
	sum := int64(0)
	for _, u := range rows {
		sum += u.SlotSeconds
	}
	if sum < low || sum > high {
		t.Fatalf("%d slot-seconds between %s and %s, want %d to %d: %v", sum, since, until, low, high, rows)
	}
}
