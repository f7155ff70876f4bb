package store

import (
	"context"
	"time"
)

// pruneBatch is how many rows go in one statement: it holds no lock for long.
const pruneBatch = 1000

// Placements' ids are as old as they are: of those from before the time there are
// few, the lasting ones.
const prunePlacements = `
	DELETE FROM placements WHERE id IN (
		SELECT id FROM placements WHERE id < $1::uuid AND ended_at < $2 ORDER BY id LIMIT $3)`

const pruneFallbacks = `
	DELETE FROM pool_fallbacks WHERE (job_id, attempt) IN (
		SELECT f.job_id, f.attempt FROM pool_fallbacks f
		WHERE f.job_id < $1::uuid AND f.at < $2
		  AND NOT EXISTS (SELECT FROM jobs j WHERE j.id = f.job_id) AND NOT EXISTS (SELECT FROM placements p WHERE p.id = f.job_id)
		ORDER BY f.job_id LIMIT $3)`

// PruneWork forgets the jobs of days (UTC) before that of the given time, which is
// what DropPartitions does, the placements that ended before it, and the records of
// fallbacks of work that is gone. What is open or lasts stays, however old it is.
func (db *DB) PruneWork(ctx context.Context, before time.Time) error {
	days, err := db.DropPartitions(ctx, before)
	if err != nil {
		return err
	}
	placements, err := db.prune(ctx, prunePlacements, firstID(before).String(), before)
	if err != nil {
		return problem("forget placements", err)
	}
	fallbacks, err := db.prune(ctx, pruneFallbacks, firstID(before).String(), before)
	if err != nil {
		return problem("forget records of fallbacks", err)
	}
	if len(days) > 0 || placements+fallbacks > 0 {
		db.log.Info("old work is forgotten", "before", before.UTC(), "days_of_jobs", len(days), "placements", placements, "fallbacks", fallbacks)
	}
	return nil
}

// The newest alarm stays: the numbers go on from it.
const pruneAlarms = `
	DELETE FROM alarms WHERE id IN (
		SELECT id FROM alarms WHERE resolved_at < $1 AND (silenced_until IS NULL OR silenced_until < $1)
		  AND id < (SELECT max(id) FROM alarms) ORDER BY id LIMIT $2)`

// PruneAlarms forgets alarms that resolved before that time.
func (db *DB) PruneAlarms(ctx context.Context, before time.Time) error {
	_, err := db.prune(ctx, pruneAlarms, before)
	return problem("forget alarms", err)
}

// prune repeats a statement, whose last parameter is how many rows it deletes at
// most, until there are no more.
func (db *DB) prune(ctx context.Context, sql string, args ...any) (gone int64, err error) {
	args = append(args, pruneBatch)
	for {
		tag, err := db.pool.Exec(ctx, sql, args...)
		gone += tag.RowsAffected()
		if err != nil || tag.RowsAffected() < pruneBatch {
			return gone, err
		}
	}
}
