package store

import (
	"context"
	"strconv"

	"github.com/uptrace/bun"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

// Holds of operators.
const ownerOperator = "operator"

// CordonNode puts the operator's cordon on a node, or gives the one that stands
// there a new reason. ifVersion is as in MoveNode.
func (db *DB) CordonNode(ctx context.Context, actor record.Actor, node, reason string, ifVersion *int64) (fleet.NodeRecord, error) {
	return db.changeHold(ctx, node, ifVersion, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewRaw(`INSERT INTO node_holds (node_id, kind, owner, actor, reason) VALUES (?, 'cordon', ?, ?, ?)
			ON CONFLICT (node_id, kind, owner) DO UPDATE SET actor = excluded.actor, reason = excluded.reason, created_at = now()`,
			node, ownerOperator, actor.Subject, reason).Exec(ctx)
		if err != nil {
			return err
		}
		return holdChanged(ctx, tx, actor, "node_cordoned", node, reason)
	})
}

// UncordonNode lifts the operator's cordon; where none stands nothing changes.
func (db *DB) UncordonNode(ctx context.Context, actor record.Actor, node, reason string, ifVersion *int64) (fleet.NodeRecord, error) {
	return db.changeHold(ctx, node, ifVersion, func(ctx context.Context, tx bun.Tx) error {
		res, err := tx.NewRaw("DELETE FROM node_holds WHERE node_id = ? AND kind = 'cordon' AND owner = ?", node, ownerOperator).Exec(ctx)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		return holdChanged(ctx, tx, actor, "node_uncordoned", node, reason)
	})
}

// changeHold locks the node's row first, as everybody who changes its record does.
func (db *DB) changeHold(ctx context.Context, node string, ifVersion *int64, write func(context.Context, bun.Tx) error) (fleet.NodeRecord, error) {
	err := db.inTx(ctx, "hold node "+node, func(ctx context.Context, tx bun.Tx) error {
		if err := lockNode(ctx, tx, node, ifVersion); err != nil {
			return err
		}
		return write(ctx, tx)
	})
	if err != nil {
		return fleet.NodeRecord{}, err
	}
	row, err := db.Node(ctx, node)
	return row.NodeRecord, err
}

// lockNode holds a node's row until the transaction ends, if its record still has
// the version that the caller saw.
func lockNode(ctx context.Context, tx bun.Tx, node string, ifVersion *int64) error {
	var version int64
	if err := tx.NewRaw("SELECT version FROM nodes WHERE id = ? FOR NO KEY UPDATE", node).Scan(ctx, &version); err != nil {
		return problem("node "+node, err)
	}
	if ifVersion != nil && *ifVersion != version {
		return fleet.Errorf(fleet.CodePreconditionFail, "the node's record has version "+strconv.FormatInt(version, 10)+": read it again")
	}
	return nil
}

// holdChanged raises the record's version and writes the audit entry.
func holdChanged(ctx context.Context, tx bun.Tx, actor record.Actor, action, node, reason string) error {
	if _, err := tx.NewRaw("UPDATE nodes SET version = version + 1 WHERE id = ?", node).Exec(ctx); err != nil {
		return err
	}
	return audit(ctx, tx, actor, change{action: action, object: "node:" + node, reason: reason})
}
