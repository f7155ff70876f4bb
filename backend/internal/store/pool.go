package store

import (
	"context"

	"github.com/uptrace/bun"

	"rockpool/backend/internal/core/fleet"
)

type poolRow struct {
	bun.BaseModel `bun:"table:pools,alias:p"`

	ID    string          `bun:"id,pk"`
	Name  string          `bun:"name"`
	Kind  fleet.PoolKind  `bun:"kind"`
	State fleet.PoolState `bun:"state"`
}

func (r *poolRow) pool() fleet.Pool {
	return fleet.Pool{ID: r.ID, Name: r.Name, Kind: r.Kind, State: r.State}
}

// Pool reads one pool.
func (db *DB) Pool(ctx context.Context, id string) (fleet.Pool, error) {
	var row poolRow
	if err := db.bun.NewSelect().Model(&row).Where("p.id = ?", id).Scan(ctx); err != nil {
		return fleet.Pool{}, problem("pool "+id, err)
	}
	return row.pool(), nil
}

// Pools lists all pools by id.
func (db *DB) Pools(ctx context.Context) ([]fleet.Pool, error) {
	var rows []poolRow
	if err := db.bun.NewSelect().Model(&rows).Order("p.id").Scan(ctx); err != nil {
		return nil, problem("list pools", err)
	}
	pools := make([]fleet.Pool, len(rows))
	for i := range rows {
		pools[i] = rows[i].pool()
	}
	return pools, nil
}
