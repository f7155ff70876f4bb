package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

// LoadSnapshot reads everything that the core needs to begin or to begin again,
// as of one moment. In the same transaction it sets the nodes' reservations to
// what open jobs and placements hold, and logs where they differed.
//
// A writer that still works makes it fail or read from before: only the shard's
// owner calls it, between two commits. Connections that were lost are ended first.
func (db *DB) LoadSnapshot(ctx context.Context) (*core.Snapshot, error) {
	if err := db.endLost(ctx); err != nil {
		return nil, err
	}
	s := &core.Snapshot{}
	err := pgx.BeginTxFunc(ctx, db.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		// The planner may not know yet how few of the jobs are open.
		_, err := tx.Exec(ctx, "SET LOCAL enable_seqscan = off")
		if err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, "SELECT epoch FROM shards WHERE id = 1").Scan(&s.Epoch); err != nil {
			return err
		}
		if s.Pools, err = loadPools(ctx, tx); err != nil {
			return fmt.Errorf("pools: %w", err)
		}
		if s.Apps, err = loadApps(ctx, tx); err != nil {
			return fmt.Errorf("apps: %w", err)
		}
		if s.Nodes, err = db.loadNodes(ctx, tx); err != nil {
			return fmt.Errorf("nodes: %w", err)
		}
		if s.Jobs, err = db.loadJobs(ctx, tx); err != nil {
			return fmt.Errorf("open jobs: %w", err)
		}
		if s.Placements, err = db.loadPlacements(ctx, tx); err != nil {
			return fmt.Errorf("placements that last: %w", err)
		}
		if s.Alarms, err = db.loadAlarms(ctx, tx); err != nil {
			return fmt.Errorf("alarms: %w", err)
		}
		if err := tx.QueryRow(ctx, "SELECT coalesce(max(id), 0) FROM alarms").Scan(&s.NewestAlarm); err != nil {
			return fmt.Errorf("the newest alarm: %w", err)
		}
		return db.reconcile(ctx, tx, s)
	})
	if err != nil {
		return nil, problem("load the fleet", err)
	}
	return s, nil
}

func loadPools(ctx context.Context, tx pgx.Tx) ([]fleet.Pool, error) {
	rows, err := tx.Query(ctx, selectPools+"ORDER BY id")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanPool)
}

func loadApps(ctx context.Context, tx pgx.Tx) ([]fleet.App, error) {
	rows, err := tx.Query(ctx, `
		SELECT a.id, coalesce(a.owner_id, 0), a.version, (SELECT json_agg(json_build_object('Role', b.role, 'Pools', b.pool_ids,
			'AllowFallback', b.allow_fallback) ORDER BY b.role) FROM app_pool_bindings b WHERE b.app_id = a.id),
		`+shareColumns+` FROM apps a ORDER BY a.id`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (a fleet.App, err error) {
		var bindings []byte
		if err := row.Scan(append([]any{&a.ID, &a.Owner, &a.Version, &bindings}, shareFields(&a.Share)...)...); err != nil || bindings == nil {
			return a, err
		}
		return a, json.Unmarshal(bindings, &a.Bindings)
	})
}

func (db *DB) loadNodes(ctx context.Context, tx pgx.Tx) ([]fleet.NodeRecord, error) {
	nodes, err := db.nodesWhere(ctx, tx, "ORDER BY n.id")
	if err != nil {
		return nil, err
	}
	return recordsOf(nodes), nil
}

func recordsOf(nodes []record.Node) []fleet.NodeRecord {
	records := make([]fleet.NodeRecord, len(nodes))
	for i := range nodes {
		records[i] = nodes[i].NodeRecord
	}
	return records
}

func (db *DB) loadJobs(ctx context.Context, tx pgx.Tx) ([]core.OpenJob, error) {
	rows, err := tx.Query(ctx, `
		SELECT id, app_id, owner_id, submitter_id, spec, state, cause, detail, attempt, counted, outcome, node_id, pool_id,
		       fallback, decision, submitted_at, assigned_at, started_at, cancel_by, not_before, coalesce(waits, ''),
		       CASE WHEN spec LIKE '%"avoidFailedNode":true%' THEN (SELECT array_agg(DISTINCT a.node_id ORDER BY a.node_id) FROM attempts a
		           WHERE a.job_id = jobs.id AND a.outcome = 'ended' AND a.cause <> 'drained') END
		FROM jobs WHERE ended_at IS NULL ORDER BY id`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, db.scanOpen)
}

func (db *DB) scanOpen(row pgx.CollectableRow) (core.OpenJob, error) {
	spec := &fleet.JobSpec{}
	job := core.OpenJob{Spec: spec}
	r := &job.Row
	var id [16]byte
	var wanted, decision []byte
	var state, outcome, waits string
	var submitted time.Time
	var assigned, started, notBefore *time.Time
	err := row.Scan(&id, &spec.App, &spec.Owner, &spec.Submitter, &wanted, &state, &r.Cause, &r.Detail, &r.Attempt, &r.Counted, &outcome,
		&r.Node, &r.Pool, &r.Fallback, &decision, &submitted, &assigned, &started, &r.CancelBy, &notBefore, &waits, &job.Failed)
	if err != nil {
		return job, err
	}
	spec.ID = id
	job.SubmittedAt, r.AssignedAt, r.StartedAt = db.at(submitted), db.when(assigned), db.when(started)
	r.NotBefore = db.when(notBefore)
	var e1, e2, e3 error
	r.State, e1 = jobState(state)
	r.Outcome, e2 = attemptOutcome(outcome)
	r.Waits, e3 = record.ParseWaits(waits)
	r.Decision, err = db.decodeDecision(decision)
	if err := errors.Join(e1, e2, e3, err, json.Unmarshal(wanted, spec)); err != nil {
		return job, fmt.Errorf("job %s: %w", spec.ID, err)
	}
	return job, nil
}

func (db *DB) decodeDecision(data []byte) (*fleet.Decision, error) {
	if data == nil {
		return nil, nil
	}
	d, err := record.DecodeDecision(data)
	if err != nil {
		return nil, err
	}
	d.Decision.At = db.at(d.At)
	return &d.Decision, nil
}

func (db *DB) loadPlacements(ctx context.Context, tx pgx.Tx) ([]core.OpenPlacement, error) {
	rows, err := tx.Query(ctx, selectPlacements+"WHERE p.ended_at IS NULL ORDER BY p.id")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (core.OpenPlacement, error) {
		p, err := scanPlacement(row)
		if err != nil {
			return core.OpenPlacement{}, err
		}
		decision, err := db.decodeDecision(p.Decision)
		return core.OpenPlacement{Spec: &p.Spec, Row: core.PlacementRow{
			State: p.State, Nodes: p.Nodes, Fallback: p.Fallback, Decision: decision, CreatedAt: db.at(p.CreatedAt), ExpiresAt: db.at(p.ExpiresAt),
		}}, err
	})
}
