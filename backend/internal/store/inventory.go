package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

// An inventory is of the session that stands. A node sends it with each session:
// what is there already is not written again.
const inventoriesSQL = `
	UPDATE node_reports AS r SET inventory = u.doc::jsonb, inventory_at = now()
	FROM unnest($1::text[], $2::int8[], $3::text[]) AS u(id, epoch, doc) JOIN nodes n ON n.id = u.id AND n.id = ANY ($1)
	WHERE r.node_id = u.id AND r.node_id = ANY ($1) AND n.epoch = u.epoch AND r.inventory IS DISTINCT FROM u.doc::jsonb`

func (r *round) queueInventories() {
	if len(r.e.Inventories) == 0 {
		return
	}
	newest := slices.Clone(r.e.Inventories)
	slices.Reverse(newest)
	slices.SortStableFunc(newest, func(a, b core.InventoryWrite) int { return cmp.Compare(a.Node, b.Node) })
	newest = slices.CompactFunc(newest, func(a, b core.InventoryWrite) bool { return a.Node == b.Node })
	var nodes, documents []string
	var epochs []int64
	for _, w := range newest {
		document, _ := json.Marshal(w.Inventory) // texts, numbers and lists of them always have a JSON form
		nodes, epochs, documents = append(nodes, w.Node), append(epochs, w.Epoch), append(documents, string(document))
	}
	r.batch.Queue(inventoriesSQL, nodes, epochs, documents)
}

// NodeInventory reads what a node said last that it has; nil: nothing yet.
func (db *DB) NodeInventory(ctx context.Context, id string) (*record.Inventory, error) {
	var document []byte
	var at time.Time
	err := db.pool.QueryRow(ctx, "SELECT inventory, inventory_at FROM node_reports WHERE node_id = $1 AND inventory IS NOT NULL", id).Scan(&document, &at)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, problem("read the inventory of node "+id, err)
	}
	var inventory fleet.Inventory
	if err := json.Unmarshal(document, &inventory); err != nil {
		return nil, fmt.Errorf("inventory of node %s: %w", id, err)
	}
	return &record.Inventory{Inventory: inventory, At: at.UTC()}, nil
}
