package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/record"
)

// IdempotentWork finds the job or placement that an earlier POST of that user with
// the same key made. Keys are forgotten by PruneIdempotency.
func (db *DB) IdempotentWork(ctx context.Context, user int64, key string) (record.Idempotent, bool, error) {
	known, err := scanKey(db.pool.QueryRow(ctx, selectKey, user, key))
	if errors.Is(err, pgx.ErrNoRows) {
		return record.Idempotent{}, false, nil
	}
	return known, err == nil, problem("look up an idempotency key", err)
}

const selectKey = `SELECT job_id, placement_id, request_digest, coalesce(acted, false), status, coalesce(location, ''), body
	FROM idempotency WHERE user_id = $1 AND key = $2`

func scanKey(row pgx.Row) (known record.Idempotent, err error) {
	var job, placement *[16]byte
	var digest []byte
	var status *int
	var answer record.Answer
	if err := row.Scan(&job, &placement, &digest, &known.Acted, &status, &answer.Location, &answer.Body); err != nil {
		return known, err
	}
	known.RequestDigest = [32]byte(digest)
	if job != nil {
		known.Job = *job
	}
	if placement != nil {
		known.Placement = *placement
	}
	if status != nil {
		answer.Status = *status
		known.Answer = &answer
	}
	return known, nil
}

// PruneIdempotency forgets the keys of requests before that time, by the
// database's clock. Call it hourly with 24 hours ago.
func (db *DB) PruneIdempotency(ctx context.Context, before time.Time) error {
	_, err := db.pool.Exec(ctx, "DELETE FROM idempotency WHERE created_at < $1", before)
	return problem("forget idempotency keys", err)
}
