package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"rockpool/backend/internal/core/fleet"
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

// claimValid is how long a request has for what it does; then another with its key
// may do it, unless it was done. No POST takes as long.
const claimValid = 2 * time.Minute

const claimKey = `
	INSERT INTO idempotency AS i (user_id, key, request_digest, claim, claimed_at, acted) VALUES ($1, $2, $3, $4, now(), false)
	ON CONFLICT (user_id, key) DO UPDATE SET claim = excluded.claim, claimed_at = excluded.claimed_at
	WHERE NOT i.acted AND i.request_digest = excluded.request_digest AND i.claimed_at < now() - $5::interval
	RETURNING i.claim`

// ClaimKey gives the caller the right to carry out a POST of that user, or tells
// what is known of an earlier one with the same key; of two at a time one gets it.
// Who gets it hands the claim on with its Actor, and ends with RememberAnswer or
// ForgetKey. A claim whose server was stopped can be had again after two minutes,
// but not when what it did is committed.
func (db *DB) ClaimKey(ctx context.Context, user int64, key string, digest [32]byte) (record.Claim, *record.Idempotent, error) {
	claim := record.Claim{User: user, Key: key, Number: rand.Int64()}
	for {
		err := db.pool.QueryRow(ctx, claimKey, user, key, digest[:], claim.Number, claimValid).Scan(&claim.Number)
		if err == nil {
			return claim, nil, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return record.Claim{}, nil, problem("claim an idempotency key", err)
		}
		before, found, err := db.IdempotentWork(ctx, user, key)
		if err != nil {
			return record.Claim{}, nil, err
		}
		if found { // otherwise it was forgotten in between
			return record.Claim{}, &before, nil
		}
	}
}

// markActed is part of the transaction of what was done. It fails for a request
// that took so long that another one has its claim.
func markActed(ctx context.Context, tx bun.IDB, claim record.Claim) error {
	if claim == (record.Claim{}) {
		return nil
	}
	res, err := tx.NewRaw("UPDATE idempotency SET acted = true WHERE user_id = ? AND key = ? AND claim = ?", claim.User, claim.Key, claim.Number).Exec(ctx)
	return oneRow(res, err, errClaim)
}

var errClaim = fleet.Errorf(fleet.CodeConflict, "this took so long that another request with its Idempotency-Key took over")

// RememberAnswer ends a claim with what later POSTs with the same key are answered.
// A body longer than record.MaxAnswer is left out.
func (db *DB) RememberAnswer(ctx context.Context, claim record.Claim, answer record.Answer) error {
	if len(answer.Body) > record.MaxAnswer {
		answer.Body = nil
	}
	tag, err := db.pool.Exec(ctx, "UPDATE idempotency SET acted = true, status = $4, location = $5, body = $6 WHERE user_id = $1 AND key = $2 AND claim = $3",
		claim.User, claim.Key, claim.Number, answer.Status, answer.Location, answer.Body)
	if err == nil && tag.RowsAffected() != 1 {
		err = errClaim
	}
	return problem("remember an answer", err)
}

// ForgetKey ends the claim of a request that was refused: the key may come again.
// It stays with what was committed.
func (db *DB) ForgetKey(ctx context.Context, claim record.Claim) error {
	_, err := db.pool.Exec(ctx, "DELETE FROM idempotency WHERE user_id = $1 AND key = $2 AND claim = $3 AND NOT acted",
		claim.User, claim.Key, claim.Number)
	return problem("forget an idempotency key", err)
}

// PruneIdempotency forgets the keys of requests before that time, by the
// database's clock. Call it hourly with 24 hours ago.
func (db *DB) PruneIdempotency(ctx context.Context, before time.Time) error {
	_, err := db.pool.Exec(ctx, "DELETE FROM idempotency WHERE created_at < $1", before)
	return problem("forget idempotency keys", err)
}
