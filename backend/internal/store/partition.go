package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// partitionsAhead is how many days have their partitions beforehand: a server
// that can't make new ones for a week still takes work.
const partitionsAhead = 7

// EnsurePartitions makes the partitions of jobs from yesterday (a job's id may
// be a little older than its insert) to a week ahead. Call it at start and daily.
func (db *DB) EnsurePartitions(ctx context.Context, now time.Time) error {
	now = now.UTC()
	_, err := db.pool.Exec(ctx, "SELECT ensure_partitions($1, $2)", now.AddDate(0, 0, -1), now.AddDate(0, 0, partitionsAhead))
	return problem("make partitions", err)
}

// DropPartitions drops the days before the given one (UTC) with all their jobs,
// attempts and results. A day with open jobs stays. It returns the days gone.
func (db *DB) DropPartitions(ctx context.Context, before time.Time) ([]time.Time, error) {
	rows, err := db.pool.Query(ctx, "SELECT drop_partitions($1)", before.UTC())
	if err != nil {
		return nil, problem("drop partitions", err)
	}
	days, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
	return days, problem("drop partitions", err)
}
