package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/shared/ids"
)

// Jobs lists jobs, newest first. A page's After is the last job's id.
func (db *DB) Jobs(ctx context.Context, filter record.JobFilter, page record.Page) ([]record.Job, error) {
	q, err := jobsQuery(filter, page)
	if err != nil {
		return nil, err
	}
	rows, err := db.pool.Query(ctx, q.sql, q.args...)
	if err != nil {
		return nil, problem("list jobs", err)
	}
	jobs, err := pgx.CollectRows(rows, scanJob)
	return jobs, problem("list jobs", err)
}

// passedSQL reads on from the job in its app's stretch of the index; ids are in the
// order of submission.
const passedSQL = `
	SELECT count(*), max(assigned_at) FROM (
		SELECT assigned_at FROM jobs WHERE app_id = $1 AND id > $2 AND pool_id = $3 AND assigned_at IS NOT NULL AND (spec::json->>'priority')::int <= $4
		ORDER BY id LIMIT $5) passed`

// Passed counts the jobs that were placed in the pool instead of one that waits for
// it: of its app, submitted later, of no higher priority.
func (db *DB) Passed(ctx context.Context, job *record.Job, pool string) (p record.Passed, err error) {
	s := &job.Spec
	err = db.pool.QueryRow(ctx, passedSQL, s.App, s.ID.String(), pool, s.Priority, record.MaxPassed).Scan(&p.Jobs, &p.At)
	p.At = utc(p.At)
	return p, problem("count what passed job "+s.ID.String(), err)
}

// jobsQuery makes a list of stretches of indexes, each in the order wanted, so that
// a small reader's page costs little beside everybody's millions: an owner's is
// looked up app by app, one of pools by pool.
func jobsQuery(f record.JobFilter, page record.Page) (*query, error) {
	q := &query{}
	where, err := q.jobsWhere(f, page)
	if err != nil {
		return nil, err
	}
	most := " ORDER BY id DESC LIMIT " + q.arg(limit(page))
	newest := func(more ...string) string {
		if where = append(where, more...); len(where) > 0 {
			return "(SELECT * FROM jobs WHERE " + strings.Join(where, " AND ") + most + ") j"
		}
		return "(SELECT * FROM jobs" + most + ") j"
	}
	var from string
	switch {
	case f.Scope.All():
		from = newest()
	case f.App != "":
		from = newest(q.scoped(f.Scope, "owner_id", fmt.Sprintf(jobPool, "jobs")))
	case len(f.Pools) == 0 && f.Owner != nil:
		from = q.ofOwner("*", *f.Owner, where, most) + " j"
	default:
		from = "jobs j JOIN (" + strings.Join(q.stretches(f.Scope, where, most), " UNION ") + ") found ON found.id = j.id"
	}
	q.sql = fmt.Sprintf(selectJobs, from) + strings.ReplaceAll(most, "id", "j.id")
	return q, nil
}

// jobsWhere are the conditions of a filter without its scope.
func (q *query) jobsWhere(f record.JobFilter, page record.Page) (where []string, err error) {
	if page.After != "" {
		after, err := ids.ParseJobID(page.After)
		if err != nil {
			return nil, badPage(page)
		}
		where = append(where, "id < "+q.arg(after.String()))
	}
	if f.State != nil {
		where = append(where, "state = "+q.arg(storedState(*f.State)))
	}
	if f.Open || f.State != nil && !f.State.Terminal() {
		where = append(where, "ended_at IS NULL") // the open jobs' index
	}
	if f.Node != "" {
		where = append(where, "node_id = "+q.arg(f.Node))
	}
	if f.App != "" {
		where = append(where, "app_id = "+q.arg(f.App))
	}
	if f.Cause != "" {
		where = append(where, "cause = "+q.arg(string(f.Cause)))
	}
	if f.Label != nil {
		where = append(where, q.labeled(*f.Label))
	}
	return where, nil
}

// labeled is the condition of a label. A spec's text is the server's own, so that
// the label stands in it as AppendLabel writes it, and params, which look alike,
// stand before the labels.
func (q *query) labeled(l fleet.Label) string {
	return `strpos(split_part(spec, '"labels":[', 2), ` + q.arg(string(record.AppendLabel(nil, l))) + ") > 0"
}

// stretch is a query of the newest jobs of one key of an index of column and id. It
// is worded so that no other index gives the order: left to choose, the planner
// would walk back through everybody's jobs.
func stretch(columns, column, key string, where []string, most string) string {
	where = append(where[:len(where):len(where)],
		"("+column+", id) >= ("+key+", '00000000-0000-0000-0000-000000000000'::uuid)",
		"("+column+", id) <= ("+key+", 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)")
	return "SELECT " + columns + " FROM jobs WHERE " + strings.Join(where, " AND ") + " ORDER BY " + column + " DESC," + strings.TrimPrefix(most, " ORDER BY")
}

// ofOwner looks the jobs of an owner up, app by app.
func (q *query) ofOwner(columns string, owner int64, where []string, most string) string {
	of := q.arg(owner)
	where = append(where[:len(where):len(where)], "owner_id = "+of)
	return "(SELECT j.* FROM (SELECT id FROM apps WHERE owner_id = " + of + ") a CROSS JOIN LATERAL (" + stretch(columns, "app_id", "a.id", where, most) + ") j)"
}

// stretches are queries of the newest ids of a scope with pools: of the jobs that
// ended, pool by pool, and among those without a pool; of those that are open; and
// of the owner's.
func (q *query) stretches(s record.Scope, where []string, most string) []string {
	where = where[:len(where):len(where)]
	pools := q.arg(s.Pools) + "::text[]"
	mine := fmt.Sprintf(jobPool, "jobs") + " = ANY (" + pools + ")"
	ended := append(where, "ended_at IS NOT NULL", "(p.pool <> '' OR "+mine+")")
	open := append(where, "ended_at IS NULL", mine)
	list := []string{
		"SELECT j.id FROM unnest(array_append(" + pools + ", '')) AS p(pool) CROSS JOIN LATERAL (" + stretch("id", "pool_id", "p.pool", ended, most) + ") j",
		"(SELECT id FROM (SELECT id FROM jobs WHERE " + strings.Join(open, " AND ") + " OFFSET 0) j" + most + ")", // the open jobs' index
	}
	if s.Owner != nil {
		list = append(list, q.ofOwner("id", *s.Owner, where, most))
	}
	return list
}
