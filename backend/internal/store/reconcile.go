package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

// holding names what is reserved on a node: its slots (kind and name empty), or
// one resource or memory domain.
type holding struct{ node, kind, name string }

const (
	kindResource = "resource"
	kindMemory   = "memory"
)

func (h holding) compare(other holding) int {
	return cmp.Or(cmp.Compare(h.node, other.node), cmp.Compare(h.kind, other.kind), cmp.Compare(h.name, other.name))
}

// each calls fn for every part of a demand.
func each(node string, v *fleet.Vector, fn func(h holding, amount int64)) {
	if v.Slots != 0 {
		fn(holding{node: node}, v.Slots)
	}
	for _, q := range v.Resources {
		fn(holding{node, kindResource, q.Name}, q.Amount)
	}
	for _, q := range v.Memory {
		fn(holding{node, kindMemory, q.Name}, q.Amount)
	}
}

// holdsCapacity reports whether the job's current attempt occupies its node.
func holdsCapacity(r *core.JobRow) bool {
	return r.Node != "" && r.Outcome == fleet.AttemptOpen && (r.State == fleet.JobOffered || r.State == fleet.JobCanceling)
}

// reconcile makes the reservations what open jobs and placements hold. Each commit keeps
// them so; a difference is a defect or a restored backup, and is logged.
func (db *DB) reconcile(ctx context.Context, tx pgx.Tx, s *core.Snapshot) error {
	held := map[holding]int64{}
	hold := func(h holding, n int64) { held[h] += n }
	for i := range s.Jobs {
		if r := &s.Jobs[i].Row; holdsCapacity(r) {
			each(r.Node, &s.Jobs[i].Spec.Demands, hold)
		}
	}
	for i := range s.Placements {
		for _, on := range s.Placements[i].Row.Nodes {
			each(on.Node, &s.Placements[i].Spec.Demands, hold)
		}
	}
	reserved, err := loadReserved(ctx, tx)
	if err != nil {
		return fmt.Errorf("reservations: %w", err)
	}
	for h := range reserved {
		held[h] += 0 // what nobody holds is to be seen as well
	}
	for h, amount := range held {
		if reserved[h] == amount {
			delete(held, h)
		}
	}
	for _, h := range slices.SortedFunc(maps.Keys(held), holding.compare) {
		db.log.Error("a reservation differed from what open jobs and placements hold", "node", h.node, "kind", h.kind, "name", h.name,
			"was", reserved[h], "is", held[h])
		if err := setReserved(ctx, tx, h, held[h]); err != nil {
			return fmt.Errorf("reservations of node %s: %w", h.node, err)
		}
	}
	return nil
}

func loadReserved(ctx context.Context, tx pgx.Tx) (map[holding]int64, error) {
	rows, err := tx.Query(ctx, `
		SELECT id, '', '', reserved_slots FROM nodes WHERE reserved_slots <> 0
		UNION ALL SELECT node_id, kind, name, reserved FROM node_resources WHERE reserved <> 0`)
	if err != nil {
		return nil, err
	}
	reserved := map[holding]int64{}
	var h holding
	var amount int64
	_, err = pgx.ForEachRow(rows, []any{&h.node, &h.kind, &h.name, &amount}, func() error {
		reserved[h] = amount
		return nil
	})
	return reserved, err
}

func setReserved(ctx context.Context, tx pgx.Tx, h holding, amount int64) error {
	var err error
	if h.kind == "" {
		_, err = tx.Exec(ctx, "UPDATE nodes SET reserved_slots = $2, total_slots = greatest(slots, $2) WHERE id = $1", h.node, amount)
	} else {
		_, err = tx.Exec(ctx, `
			INSERT INTO node_resources AS r (node_id, kind, name, capacity, total, reserved) SELECT id, $2, $3, 0, $4, $4 FROM nodes WHERE id = $1
			ON CONFLICT (node_id, kind, name) DO UPDATE SET reserved = $4, total = greatest(r.capacity, $4)`,
			h.node, h.kind, h.name, amount)
	}
	return err
}
