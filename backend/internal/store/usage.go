package store

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

// maxUsage is the most rows that one answer has.
const maxUsage = 10_000

// usageWork are the placements, by node, and the attempts that ran, each from its
// assignment, which reserves the slots, to its end or to now. A job that waits has
// none under way: its row names the attempt before, whose end is written with the
// next one.
const usageWork = `
	SELECT app_id, pool_id, fallback, placed, (spec::json #>> '{demands,slots}')::bigint AS slots,
	       greatest(assigned_at, $1) AS first, least(coalesce(ended_at, now()), $2) AS last
	FROM (
		SELECT app_id, owner_id, pool_id, fallback, false AS placed, spec, assigned_at, ended_at FROM jobs
		WHERE id < $3::uuid AND node_id <> '' AND state <> 'queued'
		  AND (outcome IN ('open', 'ended') OR outcome = 'orphaned' AND state IN ('failed', 'dead'))
		UNION ALL
		SELECT j.app_id, j.owner_id, a.pool_id, a.fallback, false, j.spec, a.assigned_at, a.ended_at FROM attempts a JOIN jobs j ON j.id = a.job_id
		WHERE a.job_id < $3::uuid AND a.outcome IN ('ended', 'orphaned')
		UNION ALL
		SELECT p.app_id, p.owner_id, n.pool_id, p.fallback, true, p.spec, p.created_at, p.ended_at
		FROM placements p JOIN placement_nodes n ON n.placement_id = p.id WHERE p.id < $3::uuid
	) AS w
	WHERE w.assigned_at < $2 AND coalesce(w.ended_at, now()) >= $1`

// Usage tells how many slot-seconds work took between two moments, by day (UTC),
// app and pool. Errors: too_large when the answer would have more than 10,000 rows.
func (db *DB) Usage(ctx context.Context, since, until time.Time, f record.UsageFilter) ([]record.Usage, error) {
	q := &query{args: []any{since, until, firstID(until).String()}}
	work := usageWork
	if f.App != "" {
		work += " AND w.app_id = " + q.arg(f.App)
	}
	if f.Pool != "" {
		work += " AND w.pool_id = " + q.arg(f.Pool)
	}
	if !f.Scope.All() {
		work += " AND " + q.scoped(f.Scope, "w.owner_id", "w.pool_id")
	}
	rows, err := db.pool.Query(ctx, `
		WITH work AS (`+work+`), part AS (
			SELECT app_id, pool_id, fallback, placed, day, slots * extract(epoch FROM least(last, day + interval '1 day') - greatest(first, day)) AS seconds
			FROM work, generate_series(date_trunc('day', first), last, interval '1 day') AS day
			WHERE last > day OR last = first)
		SELECT day, app_id, pool_id,
		       count(*) FILTER (WHERE NOT placed), round(coalesce(sum(seconds) FILTER (WHERE NOT placed), 0))::bigint,
		       round(coalesce(sum(seconds) FILTER (WHERE fallback AND NOT placed), 0))::bigint,
		       count(*) FILTER (WHERE placed), round(coalesce(sum(seconds) FILTER (WHERE placed), 0))::bigint,
		       round(coalesce(sum(seconds) FILTER (WHERE fallback AND placed), 0))::bigint
		FROM part GROUP BY day, app_id, pool_id ORDER BY day, app_id, pool_id LIMIT `+strconv.Itoa(maxUsage+1), q.args...)
	if err != nil {
		return nil, problem("add up the usage", err)
	}
	usage, err := pgx.CollectRows(rows, pgx.RowToStructByPos[record.Usage])
	if err != nil {
		return nil, problem("add up the usage", err)
	}
	if len(usage) > maxUsage {
		return nil, fleet.Errorf(fleet.CodeTooLarge, "that is more than "+strconv.Itoa(maxUsage)+" rows: ask for fewer days, or for one app or pool")
	}
	for i := range usage {
		usage[i].Day = usage[i].Day.UTC()
	}
	return usage, nil
}

// CanaryJobs counts the canary jobs of a pool that were submitted since then and
// have succeeded.
func (db *DB) CanaryJobs(ctx context.Context, pool string, since time.Time) (n int64, err error) {
	err = db.pool.QueryRow(ctx, `SELECT count(*) FROM jobs
		WHERE id >= $2::uuid AND state = 'succeeded' AND pool_id = $1 AND spec::json ->> 'pool' = $1`, pool, firstID(since).String()).Scan(&n)
	return n, problem("count canary jobs", err)
}
