package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/record"
)

// IdempotentJob finds the job that an earlier POST of that user with the same key
// made. Keys are forgotten by PruneIdempotency.
func (db *DB) IdempotentJob(ctx context.Context, user int64, key string) (record.Idempotent, bool, error) {
	var job [16]byte
	var digest []byte
	err := db.pool.QueryRow(ctx, "SELECT job_id, request_digest FROM idempotency WHERE user_id = $1 AND key = $2", user, key).Scan(&job, &digest)
	if errors.Is(err, pgx.ErrNoRows) {
		return record.Idempotent{}, false, nil
	}
	if err != nil {
		return record.Idempotent{}, false, problem("look up an idempotency key", err)
	}
	return record.Idempotent{Job: job, RequestDigest: [32]byte(digest)}, true, nil
}

// PruneIdempotency forgets the keys of requests before that time, by the
// database's clock. Call it hourly with 24 hours ago.
func (db *DB) PruneIdempotency(ctx context.Context, before time.Time) error {
	_, err := db.pool.Exec(ctx, "DELETE FROM idempotency WHERE created_at < $1", before)
	return problem("forget idempotency keys", err)
}
