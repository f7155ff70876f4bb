package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/shared/ids"
)

// selectAlarms reads whole alarms; scanAlarm knows its columns.
const selectAlarms = `
	SELECT a.id, a.kind, a.role, a.pool_id, a.app_id, a.node_id, a.count, a.raised_at, a.last_at, a.resolved_at, a.waiting, a.waiting_now,
	       a.detail, a.acked_by, a.acked_at, a.silenced_by, a.silenced_until
	FROM alarms a `

func (db *DB) scanAlarm(row pgx.CollectableRow) (a fleet.Alarm, err error) {
	var raised, last time.Time
	var resolved, acked, silenced *time.Time
	var waiting [][16]byte
	err = row.Scan(&a.ID, &a.Kind, &a.Role, &a.Pool, &a.App, &a.Node, &a.Count, &raised, &last, &resolved, &waiting, &a.WaitingNow,
		&a.Detail, &a.AckedBy, &acked, &a.SilencedBy, &silenced)
	a.RaisedAt, a.LastAt, a.ResolvedAt, a.AckedAt, a.SilencedUntil = db.at(raised), db.at(last), db.when(resolved), db.when(acked), db.when(silenced)
	for _, id := range waiting {
		a.Waiting = append(a.Waiting, ids.JobID(id))
	}
	return a, err
}

func (db *DB) alarmsWhere(ctx context.Context, q querier, where string, args ...any) ([]fleet.Alarm, error) {
	rows, err := q.Query(ctx, selectAlarms+where, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, db.scanAlarm)
}

// alarmOwner is the owner of the app or node that an alarm is about.
const alarmOwner = `CASE WHEN a.app_id <> '' THEN (SELECT owner_id FROM apps WHERE id = a.app_id)
	ELSE (SELECT n.owner_id FROM nodes n WHERE n.id = a.node_id) END`

// Alarms lists alarms, newest first, in times of the core's clock. A page's After
// is the last alarm's id.
func (db *DB) Alarms(ctx context.Context, f record.AlarmFilter, page record.Page) ([]fleet.Alarm, error) {
	after, err := numberAfter(page)
	if err != nil {
		return nil, err
	}
	q := &query{}
	where := []string{"true"}
	if after != 0 {
		where = append(where, "a.id < "+q.arg(after))
	}
	if f.Lasting {
		where = append(where, "a.resolved_at IS NULL")
	}
	if f.Resolved {
		where = append(where, "a.resolved_at IS NOT NULL")
	}
	if f.Kind != "" {
		where = append(where, "a.kind = "+q.arg(string(f.Kind)))
	}
	if f.Pool != "" {
		where = append(where, "a.pool_id = "+q.arg(f.Pool))
	}
	if !f.Scope.All() {
		where = append(where, q.scoped(f.Scope, alarmOwner, "a.pool_id"))
	}
	alarms, err := db.alarmsWhere(ctx, db.pool,
		"WHERE "+strings.Join(where, " AND ")+" ORDER BY a.id DESC LIMIT "+q.arg(limit(page)), q.args...)
	return alarms, problem("list alarms", err)
}

// Alarm reads one alarm; one out of scope is not found.
func (db *DB) Alarm(ctx context.Context, id int64, scope record.Scope) (fleet.Alarm, error) {
	what := "alarm " + strconv.FormatInt(id, 10)
	q := &query{}
	where := "WHERE a.id = " + q.arg(id)
	if !scope.All() {
		where += " AND " + q.scoped(scope, alarmOwner, "a.pool_id")
	}
	alarms, err := db.alarmsWhere(ctx, db.pool, where, q.args...)
	switch {
	case err != nil:
		return fleet.Alarm{}, problem(what, err)
	case len(alarms) == 0:
		return fleet.Alarm{}, notFound(what)
	}
	return alarms[0], nil
}

// loadAlarms reads those that the deciding code still has to do with.
func (db *DB) loadAlarms(ctx context.Context, tx pgx.Tx) ([]fleet.Alarm, error) {
	return db.alarmsWhere(ctx, tx, "WHERE a.resolved_at IS NULL OR a.silenced_until > now() ORDER BY a.id")
}

const alarmsSQL = `
	INSERT INTO alarms (id, kind, role, pool_id, app_id, node_id, count, raised_at, last_at, resolved_at, waiting, waiting_now,
	                    detail, acked_by, acked_at, silenced_by, silenced_until)
	SELECT u.id, u.kind, u.role, u.pool, u.app, u.node, u.count, u.raised, u.last, u.resolved, string_to_array(u.waiting, ',')::uuid[], u.waiting_now,
	       u.detail, u.acked_by, u.acked, u.silenced_by, u.silenced
	FROM unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::int8[], $8::timestamptz[], $9::timestamptz[],
	            $10::timestamptz[], $11::text[], $12::int8[], $13::text[], $14::text[], $15::timestamptz[], $16::text[], $17::timestamptz[])
	  AS u(id, kind, role, pool, app, node, count, raised, last, resolved, waiting, waiting_now, detail, acked_by, acked, silenced_by, silenced)
	ON CONFLICT (id) DO UPDATE SET
		count = excluded.count, last_at = excluded.last_at, resolved_at = excluded.resolved_at, waiting = excluded.waiting,
		waiting_now = excluded.waiting_now, detail = excluded.detail, acked_by = excluded.acked_by, acked_at = excluded.acked_at,
		silenced_by = excluded.silenced_by, silenced_until = excluded.silenced_until`

// queueAlarms writes the newest state of each alarm, the oldest alarm first: of a
// fingerprint one ends before the next is raised.
func (r *round) queueAlarms() {
	last := make(map[int64]*fleet.Alarm, len(r.e.Alarms))
	for i := range r.e.Alarms {
		last[r.e.Alarms[i].Alarm.ID] = &r.e.Alarms[i].Alarm
	}
	c := make([]array, 17)
	for _, a := range slices.SortedFunc(maps.Values(last), func(a, b *fleet.Alarm) int { return cmp.Compare(a.ID, b.ID) }) {
		c[0].int8(a.ID)
		for i, name := range []string{string(a.Kind), a.Role, a.Pool, a.App, a.Node} {
			c[1+i].text(name)
		}
		c[6].int8(a.Count)
		r.w.stamp(&c[7], a.RaisedAt)
		r.w.stamp(&c[8], a.LastAt)
		r.w.stamp(&c[9], a.ResolvedAt)
		c[10].text(idList(a.Waiting))
		c[11].int8(a.WaitingNow)
		c[12].text(storable(a.Detail))
		c[13].text(storable(a.AckedBy))
		r.w.stamp(&c[14], a.AckedAt)
		c[15].text(storable(a.SilencedBy))
		r.w.stamp(&c[16], a.SilencedUntil)
	}
	if len(last) > 0 {
		columns := make([]*array, len(c))
		for i := range c {
			columns[i] = &c[i]
		}
		r.batch.Queue(alarmsSQL, params(columns)...)
	}
}

func idList(list []ids.JobID) string {
	texts := make([]string, len(list))
	for i, id := range list {
		texts[i] = id.String()
	}
	return strings.Join(texts, ",")
}
