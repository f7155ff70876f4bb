package store

import (
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/shared/ids"
)

var (
	insertedColumns = slices.Concat(commonColumns, []column{
		{"app_id", "text"}, {"owner_id", "int8"}, {"submitter_id", "int8"}, {"submitted_at", "timestamptz"}, {"spec", "text"},
	})
	insertJobs = inForms(insertedColumns, insertJobsSQL, "", 0, "")
)

func insertJobsSQL(rows, _ string) string {
	return "INSERT INTO jobs (" + named(insertedColumns, "*") + ") SELECT " + named(insertedColumns, "u.*") + " FROM " + rows
}

func (r *round) queueInserts() {
	c := &r.w.inserts
	empty(c.columns())
	var keyed []newKey
	for i := range r.e.Inserts {
		in := &r.e.Inserts[i]
		if r.out.job(in.Spec.ID) {
			continue
		}
		c.add(r.w, in.Spec.ID, &in.Row, false)
		c.app.text(in.Spec.App)
		c.owner.int8(in.Spec.Owner)
		c.submitter.int8(in.Spec.Submitter)
		c.submitted.time(r.w.at(in.At))
		c.spec.end(record.AppendSpec(c.spec.begin(), in.Spec))
		if in.IdempotencyKey != "" {
			keyed = append(keyed, newKey{in.Spec.Submitter, in.IdempotencyKey, in.RequestDigest[:], in.Spec.ID})
		}
	}
	if c.id.n == 0 {
		return
	}
	r.queueKeys(jobKeys, keyed)
	sql, args := insertJobs.take(c.columns())
	r.batch.Queue(sql.rows, args...)
}

// The guard: a job moves on only from the state and attempt that memory believed.
var (
	updatedColumns = slices.Concat(commonColumns, []column{
		{"from_state", "text"}, {"from_attempt", "int4"},
		{"exit_code", "int8"}, {"output", "text"}, {"result_digest", "bytea"}, {"log_bytes", "int8"}, {"result_apart", "bool"},
	})
	updateJobs = updateJobsIn("jobs")
)

// updateJobsIn is the update of jobs that stand in that table.
func updateJobsIn(table string) forms {
	sql := func(rows, narrowed string) string {
		return `
	UPDATE ` + table + ` AS j SET
		state = u.state, cause = u.cause, detail = u.detail, attempt = u.attempt, counted = u.counted, outcome = u.outcome,
		node_id = u.node_id, pool_id = u.pool_id, fallback = u.fallback, decision = coalesce(u.decision, j.decision),
		assigned_at = u.assigned_at, started_at = u.started_at, ended_at = u.ended_at, cancel_by = u.cancel_by,
		not_before = u.not_before, waits = u.waits, exit_code = u.exit_code, output = u.output::json,
		result_digest = u.result_digest, log_bytes = u.log_bytes, result_apart = u.result_apart
	FROM ` + rows + `
	WHERE j.id = u.id ` + narrowed + ` AND j.state = u.from_state AND j.attempt = u.from_attempt
	RETURNING j.id`
	}
	return inForms(updatedColumns, sql, "AND j.id = ANY ($1) AND j.id BETWEEN $25 AND $26", 2, "count(*)")
}

func (r *round) queueUpdates() {
	c := &r.w.updates
	empty(c.columns())
	var apart []*core.JobUpdate
	sent := make([]ids.JobID, 0, len(r.e.Updates))
	for i := range r.e.Updates {
		u := &r.e.Updates[i]
		if r.out.job(u.Job) {
			continue
		}
		sent = append(sent, u.Job)
		c.add(r.w, u.Job, &u.Row, keepsDecision(u))
		c.fromState.text(storedState(u.FromState))
		c.fromAttempt.int4(u.FromAttempt)
		if c.addResult(u.Result) {
			apart = append(apart, u)
		}
	}
	if len(sent) == 0 {
		return
	}
	low, high := bounds(sent)
	sql, args := r.updatesOf(low, high).take(c.columns(), [16]byte(low), [16]byte(high))
	r.expect(sql, len(sent), r.refuseMissing(sent, core.RefusedStale), args...)
	r.queueResults(apart)
}

// updatesOf is the update of jobs with ids from low to high. The jobs of one day are
// looked for in its partition: of a statement that names jobs PostgreSQL locks and
// opens each of the days' first, which costs more than the update of a row. Jobs that
// move on are open, and a partition with open jobs is not dropped.
func (r *round) updatesOf(low, high ids.JobID) *forms {
	day := partitionOf(low)
	if !r.whole || partitionOf(high) != day {
		return &updateJobs
	}
	r.day = day
	known := r.w.days[day]
	if known == nil {
		in := updateJobsIn(day)
		known = &in
		r.w.keepDay(day, known)
	}
	return known
}

// keepsDecision: a placed decision belongs to its attempt and stands in the row
// since the assignment; it need not travel again.
func keepsDecision(u *core.JobUpdate) bool {
	assigned := u.FromState == fleet.JobOffered || u.FromState == fleet.JobRunning || u.FromState == fleet.JobCanceling
	return assigned && u.Row.Attempt == u.FromAttempt && u.Row.Decision != nil && u.Row.Decision.Outcome == fleet.OutcomePlaced
}

// maxRowOutput is the largest output that stands on the job's row, in bytes.
const maxRowOutput = 4 << 10

// addResult appends a result or, for nil, none. It reports one that needs a row
// of its own.
func (c *updateColumns) addResult(res *fleet.Result) (apart bool) {
	if res == nil {
		c.exitCode.null()
		c.output.null()
		c.digest.null()
		c.logBytes.int8(0)
		c.apart.bool(false)
		return false
	}
	apart = len(res.Output) > maxRowOutput || len(res.Head)+len(res.Tail)+len(res.Outputs) > 0
	if res.ExitCode == nil {
		c.exitCode.null()
	} else {
		c.exitCode.int8(*res.ExitCode)
	}
	if apart || len(res.Output) == 0 {
		c.output.null()
	} else {
		c.output.bytes(res.Output)
	}
	c.digest.bytes(res.Digest[:])
	c.logBytes.int8(res.LogBytes)
	c.apart.bool(apart)
	return apart
}

const resultsSQL = `
	INSERT INTO results (job_id, attempt, output, outputs, log_head, log_tail)
	SELECT u.job, u.attempt, u.output::json, u.outputs::json, u.head, u.tail
	FROM unnest($1::uuid[], $2::int4[], $3::text[], $4::text[], $5::bytea[], $6::bytea[]) AS u(job, attempt, output, outputs, head, tail)`

// queueResults keeps what is too large for the jobs' rows.
func (r *round) queueResults(updates []*core.JobUpdate) {
	if len(updates) == 0 {
		return
	}
	var job, attempt, output, outputs, head, tail array
	for _, u := range updates {
		job.uuid(u.Job)
		attempt.int4(u.Row.Attempt)
		if len(u.Result.Output) == 0 {
			output.null()
		} else {
			output.bytes(u.Result.Output)
		}
		if len(u.Result.Outputs) == 0 {
			outputs.null()
		} else {
			list, _ := json.Marshal(u.Result.Outputs) // texts and numbers always have a JSON form
			outputs.bytes(list)
		}
		head.bytes(u.Result.Head)
		tail.bytes(u.Result.Tail)
	}
	r.batch.Queue(resultsSQL, &job, &attempt, &output, &outputs, &head, &tail)
}

// refuseMissing reads the ids that a statement gave back, and refuses those that
// were sent and are not among them.
func (r *round) refuseMissing(sent []ids.JobID, why core.RefusedWhy) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		there := make([]ids.JobID, 0, len(sent))
		for rows.Next() {
			there = append(there, ids.JobID(rows.RawValues()[0]))
		}
		if err := rows.Err(); err != nil || len(there) == len(sent) {
			return err
		}
		found := make(map[ids.JobID]bool, len(there))
		for _, id := range there {
			found[id] = true
		}
		for _, id := range sent {
			if !found[id] {
				r.stale = append(r.stale, core.Refusal{Job: id, Why: why})
			}
		}
		return nil
	}
}
