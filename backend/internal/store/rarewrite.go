package store

import (
	"strconv"
	"strings"

	"rockpool/backend/internal/core"
)

// What a job's happy path does not write: superseded attempts, fallbacks and
// security events.

const attemptsSQL = `
	INSERT INTO attempts (job_id, attempt, node_id, pool_id, fallback, outcome, cause, decision, assigned_at, started_at, ended_at)
	SELECT u.job, u.attempt, u.node, u.pool, u.fallback, u.outcome, u.cause, u.decision, u.assigned, u.started, u.ended
	FROM unnest($1::uuid[], $2::int4[], $3::text[], $4::text[], $5::bool[], $6::text[], $7::text[], $8::text[],
	            $9::timestamptz[], $10::timestamptz[], $11::timestamptz[])
	  AS u(job, attempt, node, pool, fallback, outcome, cause, decision, assigned, started, ended)`

func (r *round) queueAttempts() {
	var job, attempt, node, pool, fallback, outcome, cause, decision, assigned, started, ended array
	for i := range r.e.Attempts {
		a := &r.e.Attempts[i]
		if r.out.job(a.Job) {
			continue
		}
		job.uuid(a.Job)
		attempt.int4(a.Attempt)
		node.text(a.Node)
		pool.text(a.Pool)
		fallback.bool(a.Fallback)
		outcome.text(a.Outcome.String())
		cause.text(string(a.Cause))
		r.w.decision(&decision, a.Decision)
		r.w.stamp(&assigned, a.AssignedAt)
		r.w.stamp(&started, a.StartedAt)
		r.w.stamp(&ended, a.EndedAt)
	}
	if job.n > 0 {
		r.batch.Queue(attemptsSQL, &job, &attempt, &node, &pool, &fallback, &outcome, &cause, &decision, &assigned, &started, &ended)
	}
}

// Pools' ids have no comma.
const fallbacksSQL = `
	INSERT INTO pool_fallbacks (job_id, attempt, app_id, role, from_pools, node_id, at)
	SELECT u.job, u.attempt, u.app, u.role, string_to_array(u.pools, ','), u.node, u.at
	FROM unnest($1::uuid[], $2::int4[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[]) AS u(job, attempt, app, role, pools, node, at)`

func (r *round) queueFallbacks() {
	var job, attempt, app, role, pools, node, at array
	for i := range r.e.Fallbacks {
		f := &r.e.Fallbacks[i]
		if r.out.job(f.Job) {
			continue
		}
		job.uuid(f.Job)
		attempt.int4(f.Attempt)
		app.text(f.App)
		role.text(f.Role)
		pools.text(strings.Join(f.From, ","))
		node.text(f.Node)
		at.time(r.w.at(f.At))
	}
	if job.n > 0 {
		r.batch.Queue(fallbacksSQL, &job, &attempt, &app, &role, &pools, &node, &at)
	}
}

const auditsSQL = `
	SELECT audit_append(u.subject, u.address, u.request, u.action, u.object, NULL, NULL, u.detail)
	FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) AS u(subject, address, request, action, object, detail)`

// queueAudits comes last: the chain's head stays locked until the commit.
func (r *round) queueAudits() {
	var c [6]array
	for i := range r.e.Audits {
		n := &r.e.Audits[i]
		by, object := actorOf(n)
		for i, text := range []string{by.Subject, by.Address, by.RequestID, n.Action, object, n.Detail} {
			c[i].text(storable(text))
		}
	}
	if c[0].n > 0 {
		r.batch.Queue(auditsSQL, &c[0], &c[1], &c[2], &c[3], &c[4], &c[5])
	}
}

// actorOf says whose doing a note is of, and what it is about.
func actorOf(n *core.AuditNote) (by core.Actor, object string) {
	by.Subject = "system"
	if n.Node != "" {
		by.Subject, object = "node:"+n.Node, "node:"+n.Node
	}
	switch {
	case !n.Job.IsZero():
		object = "job:" + n.Job.String()
	case n.Alarm != 0:
		object = "alarm:" + strconv.FormatInt(n.Alarm, 10)
	case n.Pool != "":
		object = "pool:" + n.Pool
	}
	if n.By != nil {
		by = *n.By
	}
	return by, object
}
