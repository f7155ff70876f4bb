package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/shared/ids"
)

// selectJobs reads whole jobs, with results where they stand apart; scanJob knows
// its columns. The log is not among them. %s is where the jobs j come from.
const selectJobs = `
	SELECT j.id, j.app_id, j.owner_id, j.submitter_id, j.spec, j.state, j.cause, j.detail, j.attempt, j.counted, j.outcome,
	       j.node_id, j.pool_id, j.fallback, j.decision, j.exit_code, coalesce(j.output, r.output), r.outputs, j.log_bytes,
	       j.submitted_at, j.assigned_at, j.started_at, j.ended_at, j.not_before, coalesce(j.waits, '')
	FROM %s LEFT JOIN results r ON j.result_apart AND r.job_id = j.id `

func scanJob(row pgx.CollectableRow) (j record.Job, err error) {
	var id [16]byte
	var spec, outputs []byte
	var state, outcome, waits string
	err = row.Scan(&id, &j.Spec.App, &j.Spec.Owner, &j.Spec.Submitter, &spec, &state, &j.Cause, &j.Detail, &j.Attempt, &j.Counted, &outcome,
		&j.Node, &j.Pool, &j.Fallback, &j.Decision, &j.ExitCode, &j.Output, &outputs, &j.LogBytes,
		&j.SubmittedAt, &j.AssignedAt, &j.StartedAt, &j.EndedAt, &j.NotBefore, &waits)
	if err != nil {
		return j, err
	}
	j.Spec.ID = id
	j.NotBefore = utc(j.NotBefore)
	j.SubmittedAt, j.AssignedAt, j.StartedAt, j.EndedAt = j.SubmittedAt.UTC(), utc(j.AssignedAt), utc(j.StartedAt), utc(j.EndedAt)
	if err := json.Unmarshal(spec, &j.Spec); err != nil {
		return j, fmt.Errorf("spec of job %s: %w", j.Spec.ID, err)
	}
	if outputs != nil {
		if err := json.Unmarshal(outputs, &j.Outputs); err != nil {
			return j, fmt.Errorf("outputs of job %s: %w", j.Spec.ID, err)
		}
	}
	if j.Waits, err = record.ParseWaits(waits); err != nil {
		return j, fmt.Errorf("waits of job %s: %w", j.Spec.ID, err)
	}
	if j.State, err = jobState(state); err != nil {
		return j, err
	}
	j.Outcome, err = attemptOutcome(outcome)
	return j, err
}

func jobState(name string) (fleet.JobState, error) {
	if s, ok := fleet.ParseJobState(name); ok {
		return s, nil
	}
	return 0, fmt.Errorf("unknown state %q of a job: the database is of a newer release", name)
}

func attemptOutcome(name string) (fleet.AttemptOutcome, error) {
	if o, ok := fleet.ParseAttemptOutcome(name); ok {
		return o, nil
	}
	return 0, fmt.Errorf("unknown outcome %q of an attempt: the database is of a newer release", name)
}

// jobPool is the pool by which a job is seen: the one that it was placed in; of a
// job that never was, the first that its decision tried. %s is the table.
const jobPool = `CASE WHEN %[1]s.pool_id <> '' THEN %[1]s.pool_id ELSE %[1]s.decision::json #>> '{pools,0,pool}' END`

var selectJob = fmt.Sprintf(selectJobs, "jobs j") + "WHERE j.id = $1 AND ($2::bigint IS NULL AND $3::text[] IS NULL OR j.owner_id = $2 OR " +
	fmt.Sprintf(jobPool, "j") + " = ANY ($3))"

// Job reads one job; one out of scope is not found.
func (db *DB) Job(ctx context.Context, id ids.JobID, scope record.Scope) (record.Job, error) {
	what := "job " + id.String()
	rows, err := db.queryHot(ctx, selectJob, [16]byte(id), scope.Owner, scope.Pools)
	if err != nil {
		return record.Job{}, problem(what, err)
	}
	job, err := pgx.CollectExactlyOneRow(rows, scanJob)
	return job, problem(what, err)
}

// JobAttempts lists a job's superseded attempts, oldest first. The current one
// stands on the job.
func (db *DB) JobAttempts(ctx context.Context, id ids.JobID) ([]record.Attempt, error) {
	rows, err := db.pool.Query(ctx, `
		SELECT attempt, node_id, pool_id, fallback, outcome, cause, decision, assigned_at, started_at, ended_at
		FROM attempts WHERE job_id = $1 ORDER BY attempt`, id.String())
	if err != nil {
		return nil, problem("list attempts", err)
	}
	attempts, err := pgx.CollectRows(rows, scanAttempt)
	return attempts, problem("list attempts", err)
}

func scanAttempt(row pgx.CollectableRow) (a record.Attempt, err error) {
	var outcome string
	err = row.Scan(&a.Attempt, &a.Node, &a.Pool, &a.Fallback, &outcome, &a.Cause, &a.Decision, &a.AssignedAt, &a.StartedAt, &a.EndedAt)
	if err != nil {
		return a, err
	}
	a.AssignedAt, a.StartedAt, a.EndedAt = utc(a.AssignedAt), utc(a.StartedAt), utc(a.EndedAt)
	a.Outcome, err = attemptOutcome(outcome)
	return a, err
}

// JobLog reads the head and tail of the log that came with the job's result; a
// job without them is not found.
func (db *DB) JobLog(ctx context.Context, id ids.JobID) (record.JobLog, error) {
	var log record.JobLog
	err := db.pool.QueryRow(ctx, `
		SELECT r.attempt, coalesce(r.log_head, ''), coalesce(r.log_tail, ''), j.log_bytes
		FROM results r JOIN jobs j ON j.id = r.job_id WHERE r.job_id = $1::uuid AND j.id = $1::uuid`, id.String()).
		Scan(&log.Attempt, &log.Head, &log.Tail, &log.Bytes)
	return log, problem("log of job "+id.String(), err)
}
