package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/core/fleet"
)

// selectPools reads whole pools; scanPool knows its columns.
const selectPools = "SELECT id, name, kind, state, queue_wait_ms, free_slots, not_ready_pct, version FROM pools "

func scanPool(row pgx.CollectableRow) (p fleet.Pool, err error) {
	t := &p.Thresholds
	err = row.Scan(&p.ID, &p.Name, &p.Kind, &p.State, &t.QueueWaitMs, &t.FreeSlots, &t.NotReadyPct, &p.Version)
	return p, err
}

// Pool reads one pool.
func (db *DB) Pool(ctx context.Context, id string) (fleet.Pool, error) {
	rows, err := db.pool.Query(ctx, selectPools+"WHERE id = $1", id)
	if err != nil {
		return fleet.Pool{}, problem("pool "+id, err)
	}
	p, err := pgx.CollectExactlyOneRow(rows, scanPool)
	return p, problem("pool "+id, err)
}

// Pools lists all pools by id.
func (db *DB) Pools(ctx context.Context) ([]fleet.Pool, error) {
	rows, err := db.pool.Query(ctx, selectPools+"ORDER BY id")
	if err != nil {
		return nil, problem("list pools", err)
	}
	pools, err := pgx.CollectRows(rows, scanPool)
	return pools, problem("list pools", err)
}
