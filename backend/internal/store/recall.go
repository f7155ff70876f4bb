package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/core"
	"rockpool/shared/ids"
)

// Recall reads what is known of jobs that memory has let go of, one row for each
// question, in their order.
func (db *DB) Recall(ctx context.Context, asked []core.Recall) ([]core.RecalledRow, error) {
	if len(asked) == 0 {
		return nil, nil
	}
	jobs, texts, attempts := make([]ids.JobID, len(asked)), make([]string, len(asked)), make([]int32, len(asked))
	for i, a := range asked {
		jobs[i], texts[i], attempts[i] = a.Job, a.Job.String(), a.Attempt
	}
	low, high := bounds(jobs)
	rows, err := db.pool.Query(ctx, `
		SELECT j.state, j.attempt, j.node_id, coalesce(CASE WHEN j.attempt = u.attempt THEN j.node_id END, a.node_id), j.result_digest
		FROM unnest($1::text[]::uuid[], $2::int4[]) WITH ORDINALITY AS u(id, attempt, n)
		LEFT JOIN jobs j ON j.id = u.id AND j.id BETWEEN $3::uuid AND $4::uuid
		LEFT JOIN attempts a ON a.job_id = u.id AND a.attempt = u.attempt AND a.job_id BETWEEN $3::uuid AND $4::uuid
		ORDER BY u.n`, texts, attempts, low.String(), high.String())
	if err != nil {
		return nil, problem("recall jobs", err)
	}
	recalled, err := pgx.CollectRows(rows, scanRecalled)
	return recalled, problem("recall jobs", err)
}

func scanRecalled(row pgx.CollectableRow) (r core.RecalledRow, err error) {
	var state, node, attemptNode *string
	var attempt *int32
	var digest []byte
	if err := row.Scan(&state, &attempt, &node, &attemptNode, &digest); err != nil || state == nil {
		return r, err
	}
	r.Found, r.Attempt, r.Node = true, *attempt, *node
	if attemptNode != nil {
		r.AttemptNode = *attemptNode
	}
	r.HasResult = copy(r.ResultDigest[:], digest) == len(r.ResultDigest)
	r.State, err = jobState(*state)
	return r, err
}

// bounds gives the least and the greatest id: with them PostgreSQL looks into
// the partitions of those days only.
func bounds(jobs []ids.JobID) (low, high ids.JobID) {
	low, high = jobs[0], jobs[0]
	for i := range jobs {
		if jobs[i].Compare(low) < 0 {
			low = jobs[i]
		} else if jobs[i].Compare(high) > 0 {
			high = jobs[i]
		}
	}
	return low, high
}
