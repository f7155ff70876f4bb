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

// What a job names was used when it was submitted, and an output when it came: of a
// day whose jobs are gone none is left that names it, but for those still open. The
// conditions on the row itself stand outside once more: somebody may use it while it
// is chosen.
const pruneArtifacts = `
	DELETE FROM artifacts a WHERE a.created_at < $1 AND (a.used_at IS NULL OR a.used_at < $2) AND (a.owner_id, a.digest) IN (
		SELECT o.owner_id, o.digest FROM artifacts o WHERE o.created_at < $1 AND (o.used_at IS NULL OR o.used_at < $2)
		  AND o.digest NOT IN (
			SELECT i ->> 'digest' FROM jobs j, jsonb_array_elements(CASE jsonb_typeof(j.spec::jsonb -> 'inputs') WHEN 'array' THEN j.spec::jsonb -> 'inputs' END) i
			WHERE j.ended_at IS NULL AND i ->> 'digest' IS NOT NULL)
		LIMIT $3)`

// PruneArtifacts forgets the artifacts that were uploaded before that time and that
// no kept job names: jobs of days before the second time are gone, but for those
// that are open. The files are the artifact folder's to remove.
func (db *DB) PruneArtifacts(ctx context.Context, uploaded, jobs time.Time) error {
	used := jobs.UTC().Truncate(24 * time.Hour).Add(-2 * useNoted) // a job is kept for the whole of its day
	gone, err := db.prune(ctx, pruneArtifacts, uploaded, used)
	if gone > 0 {
		db.log.Info("old artifacts are forgotten", "uploaded_before", uploaded.UTC(), "artifacts", gone)
	}
	return problem("forget artifacts", err)
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
