package store

import (
	"context"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

// MoveNode puts a node into another pool, and says which it was in. ifVersion is
// the version that the caller saw (nil: any); another one is
// precondition_failed. From the commit on no assignment to the node holds that
// was decided for the old pool.
func (db *DB) MoveNode(ctx context.Context, actor record.Actor, node, pool, reason string, ifVersion *int64) (from string, moved fleet.NodeRecord, err error) {
	err = db.inTx(ctx, "move node "+node, func(ctx context.Context, tx bun.Tx) error {
		if from, err = lockNode(ctx, tx, node, ifVersion); err != nil {
			return err
		}
		if err := lockTarget(ctx, tx, pool, notFound("pool "+pool)); err != nil {
			return err
		}
		return moveOne(ctx, tx, actor, node, from, pool, "node_moved", reason)
	})
	if err != nil {
		return "", fleet.NodeRecord{}, err
	}
	rec, err := db.Node(ctx, node)
	return from, rec.NodeRecord, err
}

// MoveNodes puts all of these nodes from one pool into another, or none of them: a
// node that is not in from (any more) is a conflict. Each has an audit entry of
// that action.
func (db *DB) MoveNodes(ctx context.Context, actor record.Actor, from, to string, nodes []string, action, reason string) ([]fleet.NodeRecord, error) {
	err := db.inTx(ctx, "move nodes to "+to, func(ctx context.Context, tx bun.Tx) error {
		var rows []struct {
			ID   string `bun:"id"`
			Pool string `bun:"pool"`
		}
		// by id, as the writer does
		err := tx.NewRaw("SELECT id, coalesce(pool_id, 'default') AS pool FROM nodes WHERE id = ANY (?) ORDER BY id FOR NO KEY UPDATE",
			pgdialect.Array(nodes)).Scan(ctx, &rows)
		if err != nil {
			return err
		}
		in := make(map[string]bool, len(rows))
		for _, r := range rows {
			in[r.ID] = r.Pool == from
		}
		for _, id := range nodes {
			if !in[id] {
				return fleet.Errorf(fleet.CodeConflict, "node "+id+" is not in "+from+": nothing was moved")
			}
		}
		if err := lockTarget(ctx, tx, to, notFound("pool "+to)); err != nil {
			return err
		}
		for _, r := range rows {
			if err := moveOne(ctx, tx, actor, r.ID, from, to, action, reason); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return db.nodeRecords(ctx, nodes)
}

// lockTarget keeps the pool that a node comes into from being deleted until the
// transaction ends.
func lockTarget(ctx context.Context, tx bun.Tx, pool string, missing error) error {
	res, err := tx.NewRaw("SELECT 1 FROM pools WHERE id = ? FOR KEY SHARE", pool).Exec(ctx)
	return oneRow(res, err, missing)
}

func moveOne(ctx context.Context, tx bun.Tx, actor record.Actor, node, from, to, action, reason string) error {
	if _, err := tx.NewRaw("UPDATE nodes SET pool_id = ?, version = version + 1 WHERE id = ?", to, node).Exec(ctx); err != nil {
		return err
	}
	return audit(ctx, tx, actor, change{
		action: action, object: "node:" + node, reason: reason, before: map[string]any{"pool": from}, after: map[string]any{"pool": to},
	})
}

// nodeRecords reads nodes, by id.
func (db *DB) nodeRecords(ctx context.Context, nodes []string) ([]fleet.NodeRecord, error) {
	rows, err := db.nodesWhere(ctx, db.pool, "WHERE n.id = ANY ($1) ORDER BY n.id", nodes)
	if err != nil {
		return nil, problem("read nodes", err)
	}
	return recordsOf(rows), nil
}

// lockNode holds a node's row until the transaction ends, if its record still has
// the version that the caller saw, and says which pool it is in.
func lockNode(ctx context.Context, tx bun.Tx, node string, ifVersion *int64) (pool string, err error) {
	var version int64
	err = tx.NewRaw("SELECT coalesce(pool_id, 'default'), version FROM nodes WHERE id = ? FOR NO KEY UPDATE", node).Scan(ctx, &pool, &version)
	if err != nil {
		return "", problem("node "+node, err)
	}
	return pool, checkVersion("node", version, ifVersion)
}
