package store

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/record"
	"rockpool/shared/ids"
)

// firstID is the least id that a job made at that time can have.
func firstID(t time.Time) (id ids.JobID) {
	binary.BigEndian.PutUint64(id[:8], uint64(max(t.UnixMilli(), 0))<<16)
	return id
}

// isolationPage is how many jobs an audit reads at a time.
const isolationPage = 2000

// AuditIsolation reads all kept jobs made since then (nil: all there are), their
// superseded attempts, and placements again, and checks of each attempt and of each
// node of a placement that its decision allows its node and pool, that its app resolved to that pool, that it has a record of
// its fallback exactly if it was one, and that its node was in that pool: by the
// audit chain's entries of nodes' moves and apps' bindings, whose own wholeness is
// VerifyAudit's to prove. Work goes on meanwhile.
func (db *DB) AuditIsolation(ctx context.Context, since *time.Time) (record.Isolation, error) {
	a := &isolation{db: db, past: newHistory(), found: record.Isolation{Tolerance: isolationTolerance}}
	var after ids.JobID
	if since != nil {
		after = firstID(*since)
	}
	for _, page := range []func(context.Context, ids.JobID) (ids.JobID, error){a.page, a.placements} {
		if err := through(ctx, after, page); err != nil {
			return record.Isolation{}, problem("audit the isolation", err)
		}
	}
	return a.found, nil
}

// through turns pages, each of what comes after an id, until one has no more.
func through(ctx context.Context, after ids.JobID, page func(context.Context, ids.JobID) (last ids.JobID, err error)) error {
	for {
		last, err := page(ctx, after)
		if err != nil || last == after {
			return err
		}
		after = last
	}
}

// isolation is one audit under way.
type isolation struct {
	db    *DB
	past  *history
	found record.Isolation
}

// ran is one attempt, or one node of a placement, as the database has it.
type ran struct {
	job           ids.JobID // or the placement's id
	attempt       int32
	placement     bool
	rank          int32 // of a placement's node; its decision and record name the first
	known         bool  // its job is there
	app           string
	owner         int64
	role, canary  string // asked for
	node, pool    string
	fallback      bool
	recorded      bool // as a fallback
	recordedNode  string
	recordedPools []string
	decision      []byte
	at            *time.Time
}

// Columns of ran. An attempt is looked up with what its job asked for; the job's
// row, with its current attempt, as itself.
const (
	ranJobs = `
	SELECT j.id, j.attempt, true, j.app_id, j.owner_id, j.spec::json ->> 'role', coalesce(j.spec::json ->> 'pool', ''), j.node_id, j.pool_id,
	       j.fallback, f.job_id IS NOT NULL, coalesce(f.node_id, ''), f.from_pools, j.decision, j.assigned_at, false, 0
	FROM jobs j LEFT JOIN pool_fallbacks f ON f.job_id = j.id AND f.attempt = j.attempt
	WHERE j.id > $1 ORDER BY j.id LIMIT $2`
	ranAttempts = `
	SELECT a.job_id, a.attempt, j.id IS NOT NULL, coalesce(j.app_id, ''), coalesce(j.owner_id, 0), coalesce(j.spec::json ->> 'role', ''),
	       coalesce(j.spec::json ->> 'pool', ''), a.node_id, a.pool_id,
	       a.fallback, f.job_id IS NOT NULL, coalesce(f.node_id, ''), f.from_pools, a.decision, a.assigned_at, false, 0
	FROM attempts a LEFT JOIN jobs j ON j.id = a.job_id LEFT JOIN pool_fallbacks f ON f.job_id = a.job_id AND f.attempt = a.attempt
	WHERE a.job_id > $1 AND a.job_id <= $2 ORDER BY a.job_id, a.attempt`
	ranPlacements = `
	SELECT p.id, 0, true, p.app_id, p.owner_id, p.role, '', coalesce(n.node_id, ''), coalesce(n.pool_id, ''),
	       p.fallback, f.job_id IS NOT NULL, coalesce(f.node_id, ''), f.from_pools, p.decision, p.created_at, true, coalesce(n.place, 0)
	FROM (SELECT * FROM placements WHERE id > $1 ORDER BY id LIMIT $2) p
	LEFT JOIN placement_nodes n ON n.placement_id = p.id LEFT JOIN pool_fallbacks f ON f.job_id = p.id AND f.attempt = 0
	ORDER BY p.id, n.place`
)

func scanRan(row pgx.CollectableRow) (r ran, err error) {
	var id [16]byte
	err = row.Scan(&id, &r.attempt, &r.known, &r.app, &r.owner, &r.role, &r.canary, &r.node, &r.pool, &r.fallback, &r.recorded,
		&r.recordedNode, &r.recordedPools, &r.decision, &r.at, &r.placement, &r.rank)
	r.job = id
	return r, err
}

// page checks the jobs after one, up to the page's size, and gives the last; the
// same one again: there are no more.
func (a *isolation) page(ctx context.Context, after ids.JobID) (last ids.JobID, err error) {
	jobs, err := a.read(ctx, ranJobs, after.String(), isolationPage)
	if err != nil {
		return last, err
	}
	last = after
	if len(jobs) > 0 {
		last = jobs[len(jobs)-1].job
	}
	until := last
	if len(jobs) < isolationPage { // attempts whose jobs are gone too
		until = ids.JobID{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
		last = after
	}
	attempts, err := a.read(ctx, ranAttempts, after.String(), until.String())
	if err != nil {
		return last, err
	}
	// Read after the rows: what was decided before stands in it.
	if err := a.past.read(ctx, a.db); err != nil {
		return last, err
	}
	a.found.Jobs += int64(len(jobs))
	for _, list := range [][]ran{attempts, jobs} {
		for i := range list {
			a.check(&list[i])
		}
	}
	return last, nil
}

// placements is as page, of placements.
func (a *isolation) placements(ctx context.Context, after ids.JobID) (last ids.JobID, err error) {
	nodes, err := a.read(ctx, ranPlacements, after.String(), isolationPage)
	if err != nil || len(nodes) == 0 {
		return after, err
	}
	if err := a.past.read(ctx, a.db); err != nil {
		return after, err
	}
	for i := range nodes {
		if i == 0 || nodes[i].job != nodes[i-1].job {
			a.found.Placements++
		}
		a.check(&nodes[i])
	}
	return nodes[len(nodes)-1].job, nil
}

func (a *isolation) read(ctx context.Context, sql string, args ...any) ([]ran, error) {
	rows, err := a.db.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanRan)
}

// check takes one attempt or node of a placement into the result. A job without an
// attempt ran nowhere.
func (a *isolation) check(r *ran) {
	if r.node == "" && r.pool == "" && !r.recorded && !r.placement {
		return
	}
	f := &a.found
	if !r.placement {
		f.Attempts++
	}
	if r.recorded && r.rank == 0 {
		f.Fallbacks++
	}
	if r.at != nil {
		at := r.at.UTC()
		if f.From == nil || at.Before(*f.From) {
			f.From = &at
		}
		if f.To == nil || at.After(*f.To) {
			f.To = &at
		}
	}
	detail, decided := judge(r, a.past)
	if !decided {
		f.Undecided++
	}
	if detail == "" {
		return
	}
	if f.Found++; len(f.Crossings) < record.MaxCrossings {
		f.Crossings = append(f.Crossings, record.Crossing{
			Job: r.job, Attempt: r.attempt, Placement: r.placement, Node: r.node, Pool: r.pool, Detail: detail,
		})
	}
}
