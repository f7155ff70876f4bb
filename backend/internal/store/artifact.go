package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/record"
	"rockpool/shared/ids"
)

// PutArtifact notes that a file is there for its owner. A second time its days are
// counted anew.
func (db *DB) PutArtifact(ctx context.Context, a record.Artifact) error {
	_, err := db.pool.Exec(ctx, `INSERT INTO artifacts (owner_id, digest, size) VALUES ($1, $2, $3)
		ON CONFLICT (owner_id, digest) DO UPDATE SET created_at = now()`, a.Owner, a.Digest, a.Size)
	return problem("note an artifact", err)
}

// Artifact finds a file by its digest; owner nil: anybody's.
func (db *DB) Artifact(ctx context.Context, digest string, owner *int64) (record.Artifact, error) {
	return db.artifact(ctx, digest, `
		WHERE a.digest = $1 AND ($2::bigint IS NULL OR a.owner_id = $2) ORDER BY a.owner_id LIMIT 1`, owner)
}

// useNoted is how exactly it is known when a job named an artifact last.
const useNoted = time.Hour

// UseArtifact finds a file for a job that will name it, and keeps it from being
// forgotten before the job is; owner nil: anybody's. One that was named lately is in
// no danger: thousands of jobs of one file write once.
func (db *DB) UseArtifact(ctx context.Context, digest string, owner *int64) (record.Artifact, error) {
	_, err := db.pool.Exec(ctx, `UPDATE artifacts SET used_at = now() WHERE digest = $1 AND ($2::bigint IS NULL OR owner_id = $2)
		AND (used_at IS NULL OR used_at < now() - $3::interval)`, digest, owner, useNoted)
	if err != nil {
		return record.Artifact{}, problem("use an artifact", err)
	}
	return db.Artifact(ctx, digest, owner)
}

// OwnedBytes adds up an owner's artifacts.
func (db *DB) OwnedBytes(ctx context.Context, owner int64) (bytes int64, err error) {
	err = db.pool.QueryRow(ctx, `SELECT coalesce(sum(size), 0)::bigint FROM artifacts WHERE owner_id = $1`, owner).Scan(&bytes)
	return bytes, problem("add up artifacts", err)
}

// UnknownArtifacts gives those of the digests that nobody's artifact has.
func (db *DB) UnknownArtifacts(ctx context.Context, digests []string) ([]string, error) {
	rows, err := db.pool.Query(ctx, `SELECT d FROM unnest($1::text[]) d WHERE NOT EXISTS (SELECT FROM artifacts a WHERE a.digest = d)`, digests)
	if err != nil {
		return nil, problem("look for artifacts", err)
	}
	unknown, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return unknown, problem("look for artifacts", err)
}

// ArtifactForNode finds a file that an open job on that node names as an input;
// the file must be the app owner's or the submitter's.
func (db *DB) ArtifactForNode(ctx context.Context, digest, node string) (record.Artifact, error) {
	return db.artifact(ctx, digest, `
		WHERE a.digest = $1 AND EXISTS (
			SELECT 1 FROM jobs j WHERE j.node_id = $2 AND j.ended_at IS NULL AND j.state IN ('offered', 'canceling')
			AND a.owner_id IN (j.owner_id, j.submitter_id)
			AND j.spec::jsonb -> 'inputs' @> jsonb_build_array(jsonb_build_object('digest', a.digest)))
		LIMIT 1`, node)
}

// heldAttempt selects the attempt that a node holds; whose its outputs are: the
// app's owner, or the submitter where the app has none.
const heldAttempt = `SELECT CASE WHEN owner_id = 0 THEN submitter_id ELSE owner_id END AS owner FROM jobs
	WHERE id = $1 AND attempt = $2 AND node_id = $3 AND ended_at IS NULL AND state IN ('offered', 'canceling')`

// HoldsAttempt gives the owner of the attempt's outputs when the node holds it, and
// not_found otherwise.
func (db *DB) HoldsAttempt(ctx context.Context, node string, job ids.JobID, attempt int32) (owner int64, err error) {
	err = db.pool.QueryRow(ctx, heldAttempt, job.String(), attempt, node).Scan(&owner)
	return owner, problem("attempt of this node", err)
}

// PutOutput notes an output's file for the attempt's owner while the node holds
// the attempt, and not_found later: one statement checks and writes.
func (db *DB) PutOutput(ctx context.Context, node string, job ids.JobID, attempt int32, a record.Artifact) error {
	var owner int64
	err := db.pool.QueryRow(ctx, `WITH held AS (`+heldAttempt+`), put AS (
		INSERT INTO artifacts (owner_id, digest, size, used_at) SELECT owner, $4::text, $5::bigint, now() FROM held
		ON CONFLICT (owner_id, digest) DO UPDATE SET created_at = now(), used_at = now())
		SELECT owner FROM held`, job.String(), attempt, node, a.Digest, a.Size).Scan(&owner)
	return problem("attempt of this node", err)
}

func (db *DB) artifact(ctx context.Context, digest, where string, arg any) (record.Artifact, error) {
	rows, err := db.pool.Query(ctx, "SELECT a.digest, a.size, a.owner_id, a.created_at FROM artifacts a "+where, digest, arg)
	if err != nil {
		return record.Artifact{}, problem("artifact "+digest, err)
	}
	a, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (a record.Artifact, err error) {
		err = row.Scan(&a.Digest, &a.Size, &a.Owner, &a.CreatedAt)
		a.CreatedAt = a.CreatedAt.UTC()
		return a, err
	})
	return a, problem("artifact "+digest, err)
}
