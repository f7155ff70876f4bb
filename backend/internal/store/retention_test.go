package store_test

import (
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/store/storetest"
	"rockpool/shared/ids"
)

// old is a database with work of another day.
type old struct {
	*house
	day time.Time
}

func newOld(t *testing.T, days int) *old {
	o := &old{house: newHouse(t, storetest.Slots(64)), day: time.Now().UTC().AddDate(0, 0, -days)}
	for day := range days + 1 {
		o.must(o.db.EnsurePartitions(ctx, o.day.AddDate(0, 0, day)))
	}
	return o
}

// job inserts a job of that time, which ran as a fallback; ended or not.
func (o *old) job(at time.Time, ended bool) ids.JobID {
	spec, row := storetest.Spec(o.app, at), o.assigned()
	e := &core.Effects{}
	if ended {
		row.State, row.Outcome, row.EndedAt = fleet.JobSucceeded, fleet.AttemptEnded, storetest.At(at)
	} else {
		e.Reservations = append(e.Reservations, o.reserve(spec))
	}
	row.AssignedAt = storetest.At(at)
	e.Inserts = append(e.Inserts, core.JobInsert{Spec: spec, Row: row, At: storetest.At(at)})
	o.commit(o.recorded(e, spec.ID, at))
	return spec.ID
}

func (o *old) recorded(e *core.Effects, id ids.JobID, at time.Time) *core.Effects {
	e.Fallbacks = append(e.Fallbacks, core.FallbackRecord{Job: id, Attempt: 1, App: o.app.ID, From: []string{"a"}, Node: o.node.ID, At: storetest.At(at)})
	return e
}

// placement inserts a placement of that time.
func (o *old) placement(at time.Time, ended bool) ids.JobID {
	e := &core.Effects{}
	spec := o.place(e, "")
	spec.ID = storetest.JobID(at)
	e.Reservations[0].Job = spec.ID
	row := &e.Placements[0].Row
	row.CreatedAt = storetest.At(at)
	if ended {
		row.State, row.EndedAt, e.Reservations = fleet.PlacementExpired, storetest.At(at)+1000, nil
	}
	o.commit(o.recorded(e, spec.ID, at))
	return spec.ID
}

func (o *old) there(what string, id ids.JobID) bool {
	sql := "SELECT EXISTS (SELECT FROM " + what + " WHERE " + map[string]string{"pool_fallbacks": "job_id"}[what]
	if what != "pool_fallbacks" {
		sql += "id"
	}
	return storetest.Query[bool](o.t, o.urls, sql+" = $1)", id.String())
}

func TestPruneWork(t *testing.T) {
	o := newOld(t, 12)
	before := time.Now().AddDate(0, 0, -5)
	gone := []ids.JobID{o.job(o.day, true), o.placement(o.day, true), o.placement(o.day.AddDate(0, 0, 1), true)}
	openDay := o.day.AddDate(0, 0, 2)
	stays := []ids.JobID{
		o.job(openDay, false), o.job(openDay, true), o.placement(o.day, false), // its day has an open job; it lasts
		o.job(time.Now(), true), o.placement(time.Now(), true), o.placement(time.Now(), false),
	}
	for range 2 {
		o.must(o.db.PruneWork(ctx, before))
	}
	there := func(id ids.JobID) bool { return o.there("jobs", id) || o.there("placements", id) }
	for i, id := range gone {
		if there(id) || o.there("pool_fallbacks", id) {
			t.Errorf("%d is still there", i)
		}
	}
	for i, id := range stays {
		if !there(id) || !o.there("pool_fallbacks", id) {
			t.Errorf("%d is gone", i)
		}
	}
	if nodes := storetest.Query[int64](t, o.urls, "SELECT count(*) FROM placement_nodes"); nodes != 3 {
		t.Errorf("%d nodes of placements, want those of 3", nodes)
	}
}

// More rows than one statement takes go as well.
func TestPruneWork_ManyRows(t *testing.T) {
	h := newHouse(t)
	at := time.Now().AddDate(0, 0, -40)
	h.urls.Exec(t, `INSERT INTO pool_fallbacks (job_id, attempt, app_id, role, from_pools, node_id, at)
		SELECT $1::uuid, n, 'a', '', '{}', '', $2 FROM generate_series(1, 2500) AS n`, storetest.JobID(at).String(), at)
	h.must(h.db.PruneWork(ctx, time.Now().AddDate(0, 0, -30)))
	if n := storetest.Query[int64](t, h.urls, "SELECT count(*) FROM pool_fallbacks"); n != 0 {
		t.Fatalf("%d records are left", n)
	}
}

// A job and a placement that are 30 days old and live are what they were when the
// server begins anew, whatever is kept how long.
func TestCase_N34_OldLiveWorkSurvivesARestart(t *testing.T) {
	o := newOld(t, 31)
	job, placement := o.job(o.day, false), o.placement(o.day, false)
	o.must(o.db.PruneWork(ctx, time.Now().AddDate(0, 0, -1)))
	again := storetest.Open(t, o.urls.Server)
	shard, err := again.AcquireShard(ctx, "after the restart")
	o.must(err)
	defer shard.Release(ctx)
	o.must(again.EnsurePartitions(ctx, time.Now()))
	o.must(again.PruneWork(ctx, time.Now().AddDate(0, 0, -1)))
	snapshot, err := again.LoadSnapshot(ctx)
	o.must(err)
	if len(snapshot.Jobs) != 1 || snapshot.Jobs[0].Spec.ID != job || snapshot.Jobs[0].Row.Node != o.node.ID {
		t.Errorf("jobs %+v", snapshot.Jobs)
	}
	if len(snapshot.Placements) != 1 || snapshot.Placements[0].Spec.ID != placement || snapshot.Placements[0].Row.State != fleet.PlacementActive {
		t.Errorf("placements %+v", snapshot.Placements)
	}
	if o.reserved() != 2 {
		t.Errorf("%d slots reserved", o.reserved())
	}
}

func TestPruneAlarms(t *testing.T) {
	h := newHouse(t)
	e, long := &core.Effects{}, now()-90*24*3600_000
	for id, a := range []fleet.Alarm{
		{ResolvedAt: long + 1000}, {}, {ResolvedAt: long + 1000, SilencedBy: "u:1", SilencedUntil: now() + 60_000},
		{ResolvedAt: now()}, {ResolvedAt: long + 1000},
	} {
		a.ID, a.Fingerprint, a.Count, a.RaisedAt, a.LastAt = int64(id+1), fleet.Fingerprint{Kind: fleet.AlarmNodeLost, Node: "n"}, 1, long, long
		e.Alarms = append(e.Alarms, core.AlarmWrite{Alarm: a})
	}
	h.commit(e)
	h.must(h.db.PruneAlarms(ctx, time.Now().AddDate(0, 0, -30)))
	list, err := h.db.Alarms(ctx, record.AlarmFilter{}, record.Page{})
	h.must(err)
	var left []int64
	for _, a := range list {
		left = append(left, a.ID)
	}
	if len(left) != 4 || left[0] != 5 || left[3] != 2 { // the newest one keeps the numbers
		t.Fatalf("left are %v", left)
	}
}
