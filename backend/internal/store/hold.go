package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

// CordonNode puts the operator's cordon on a node, or gives the one that stands
// there a new reason. ifVersion is as in MoveNode.
func (db *DB) CordonNode(ctx context.Context, actor record.Actor, node, reason string, ifVersion *int64) (fleet.NodeRecord, error) {
	return db.changeHolds(ctx, actor, "node_cordoned", node, reason, ifVersion, func(ctx context.Context, tx bun.Tx) error {
		return putHold(ctx, tx, actor, node, fleet.HoldCordon, reason, nil)
	})
}

// DrainNode puts the operator's drain on a node, or gives the one that stands
// there a new reason and deadline. What runs at the deadline is canceled and
// placed anew; nil: it runs to its end.
func (db *DB) DrainNode(ctx context.Context, actor record.Actor, node string, deadline *time.Time, reason string, ifVersion *int64) (fleet.NodeRecord, error) {
	return db.changeHolds(ctx, actor, "node_drained", node, reason, ifVersion, func(ctx context.Context, tx bun.Tx) error {
		return putHold(ctx, tx, actor, node, fleet.HoldDrain, reason, deadline)
	})
}

// UncordonNode lifts the operator's cordon and drain; where neither stands nothing
// changes.
func (db *DB) UncordonNode(ctx context.Context, actor record.Actor, node, reason string, ifVersion *int64) (fleet.NodeRecord, error) {
	return db.changeHolds(ctx, actor, "node_uncordoned", node, reason, ifVersion, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewRaw("DELETE FROM node_holds WHERE node_id = ? AND kind IN ('cordon', 'drain') AND owner = 'operator'", node).Exec(ctx)
		return err
	})
}

func putHold(ctx context.Context, tx bun.Tx, actor record.Actor, node string, kind fleet.HoldKind, reason string, deadline *time.Time) error {
	_, err := tx.NewRaw(`INSERT INTO node_holds (node_id, kind, owner, actor, reason, deadline)
		VALUES (?, ?, 'operator', ?, ?, ?)
		ON CONFLICT (node_id, kind, owner) DO UPDATE SET actor = excluded.actor, reason = excluded.reason, deadline = excluded.deadline, created_at = now()`,
		node, kind, actor.Subject, reason, deadline).Exec(ctx)
	return err
}

// changeHolds locks the node's row first, as everybody who changes its record
// does, and raises the record's version with the audit entry.
func (db *DB) changeHolds(ctx context.Context, actor record.Actor, action, node, reason string, ifVersion *int64,
	write func(context.Context, bun.Tx) error) (fleet.NodeRecord, error) {
	err := db.inTx(ctx, "hold node "+node, func(ctx context.Context, tx bun.Tx) error {
		if _, err := lockNode(ctx, tx, node, ifVersion); err != nil {
			return err
		}
		before, err := operatorHolds(ctx, tx, node)
		if err != nil {
			return err
		}
		if err := write(ctx, tx); err != nil {
			return err
		}
		after, err := operatorHolds(ctx, tx, node)
		if err != nil || len(before)+len(after) == 0 {
			return err
		}
		if _, err := tx.NewRaw("UPDATE nodes SET version = version + 1 WHERE id = ?", node).Exec(ctx); err != nil {
			return err
		}
		return audit(ctx, tx, actor, change{
			action: action, object: "node:" + node, reason: reason,
			before: map[string]any{"holds": before}, after: map[string]any{"holds": after},
		})
	})
	if err != nil {
		return fleet.NodeRecord{}, err
	}
	row, err := db.Node(ctx, node)
	return row.NodeRecord, err
}

// holdState is what an audit entry keeps of an operator's hold.
type holdState struct {
	Kind     string     `bun:"kind" json:"kind"`
	Actor    string     `bun:"actor" json:"actor"`
	Reason   string     `bun:"reason" json:"reason"`
	Deadline *time.Time `bun:"deadline" json:"deadline,omitempty"`
}

func operatorHolds(ctx context.Context, tx bun.Tx, node string) ([]holdState, error) {
	holds := []holdState{}
	err := tx.NewRaw("SELECT kind, actor, reason, deadline FROM node_holds WHERE node_id = ? AND owner = 'operator' ORDER BY kind", node).
		Scan(ctx, &holds)
	return holds, err
}
