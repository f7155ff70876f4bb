package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"

	"github.com/uptrace/bun"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

// RotateNode begins a rotation of the node's secret, or leaves the one that is under
// way. ifVersion is as in MoveNode. Errors: conflict while the node is in quarantine
// (RepairNode is for that).
func (db *DB) RotateNode(ctx context.Context, actor record.Actor, node, reason string, ifVersion *int64) (fleet.NodeRecord, error) {
	return db.rotate(ctx, actor, "node_rotated", node, "", reason, ifVersion, func(ctx context.Context, tx bun.Tx) (bool, error) {
		held, err := inQuarantine(ctx, tx, node)
		if err != nil {
			return false, err
		}
		if held {
			return false, fleet.Errorf(fleet.CodeConflict, "node "+node+" is in quarantine: choose which claimant is the node (repair)")
		}
		var under string
		err = tx.NewRaw("SELECT rotation FROM node_identities WHERE node_id = ?", node).Scan(ctx, &under)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return false, err
		}
		return under == "", nil
	})
}

// RepairNode chooses the claimant that is the node from now on, and begins a
// rotation of its secret: what another claimant knew of an earlier one is good for
// nothing. Errors: conflict when the node is not in quarantine, unprocessable for a
// claimant that it does not have.
func (db *DB) RepairNode(ctx context.Context, actor record.Actor, node, keep, reason string, ifVersion *int64) (fleet.NodeRecord, error) {
	return db.rotate(ctx, actor, "node_repaired", node, keep, reason, ifVersion, func(ctx context.Context, tx bun.Tx) (bool, error) {
		held, err := inQuarantine(ctx, tx, node)
		if err != nil {
			return false, err
		}
		if !held {
			return false, fleet.Errorf(fleet.CodeConflict, "node "+node+" is not in quarantine: there is nothing to repair")
		}
		var there bool
		err = tx.NewRaw("SELECT EXISTS (SELECT FROM node_identities i, jsonb_array_elements(i.claimants) c WHERE i.node_id = ? AND c->>'id' = ?)",
			node, keep).Scan(ctx, &there)
		if err == nil && !there {
			err = fleet.Errorf(fleet.CodeUnprocessable, "node "+node+" has no claimant "+keep)
		}
		return true, err
	})
}

// rotate begins a rotation unless begins says that nothing is to be done.
func (db *DB) rotate(ctx context.Context, actor record.Actor, action, node, keep, reason string, ifVersion *int64,
	begins func(context.Context, bun.Tx) (bool, error)) (fleet.NodeRecord, error) {
	err := db.inTx(ctx, "rotate the secret of node "+node, func(ctx context.Context, tx bun.Tx) error {
		if _, err := lockNode(ctx, tx, node, ifVersion); err != nil {
			return err
		}
		if yes, err := begins(ctx, tx); err != nil || !yes {
			return err
		}
		_, err := tx.NewRaw(`INSERT INTO node_identities (node_id, keep, rotation) VALUES (?, ?, ?)
			ON CONFLICT (node_id) DO UPDATE SET keep = excluded.keep, rotation = excluded.rotation, secret_next = NULL`,
			node, keep, newRotation()).Exec(ctx)
		if err != nil {
			return err
		}
		if _, err := tx.NewRaw("UPDATE nodes SET version = version + 1 WHERE id = ?", node).Exec(ctx); err != nil {
			return err
		}
		c := change{action: action, object: "node:" + node, reason: reason}
		if keep != "" {
			c.after = map[string]any{"keep": keep}
		}
		return audit(ctx, tx, actor, c)
	})
	if err != nil {
		return fleet.NodeRecord{}, err
	}
	row, err := db.Node(ctx, node)
	return row.NodeRecord, err
}

func inQuarantine(ctx context.Context, tx bun.Tx, node string) (held bool, err error) {
	err = tx.NewRaw("SELECT EXISTS (SELECT FROM node_holds WHERE node_id = ? AND kind = 'quarantine' AND owner = 'auto')", node).Scan(ctx, &held)
	return held, err
}

// newRotation names a rotation. Whoever knows the name may put the node's next
// secret: it is told to one session alone, and shown nowhere.
func newRotation() string {
	var bits [16]byte
	rand.Read(bits[:])
	return hex.EncodeToString(bits[:])
}

// SetNextSecret keeps the secret that the node made for a rotation beside the one
// that it has. The same again changes nothing. Errors: conflict when that rotation
// is not under way, unprocessable for a secret that is in use.
func (db *DB) SetNextSecret(ctx context.Context, node, rotation string, sum [32]byte) (fleet.NodeRecord, error) {
	err := db.inTx(ctx, "keep the next secret of node "+node, func(ctx context.Context, tx bun.Tx) error {
		if _, err := lockNode(ctx, tx, node, nil); err != nil {
			return err
		}
		res, err := tx.NewRaw("UPDATE node_identities SET secret_next = ? WHERE node_id = ? AND rotation = ? AND rotation <> ''",
			sum[:], node, rotation).Exec(ctx)
		if err := oneRow(res, err, fleet.Errorf(fleet.CodeConflict, "no such rotation of node "+node+" is under way")); err != nil {
			return err
		}
		var used bool
		if err := tx.NewRaw("SELECT EXISTS (SELECT FROM nodes WHERE secret_sum = ?)", sum[:]).Scan(ctx, &used); err != nil {
			return err
		}
		if used {
			return fleet.Errorf(fleet.CodeUnprocessable, "make a new secret: this one is in use")
		}
		_, err = tx.NewRaw("UPDATE nodes SET version = version + 1 WHERE id = ?", node).Exec(ctx)
		return err
	})
	if isUnique(err) {
		return fleet.NodeRecord{}, fleet.Errorf(fleet.CodeUnprocessable, "make a new secret: this one is in use")
	}
	if err != nil {
		return fleet.NodeRecord{}, err
	}
	row, err := db.Node(ctx, node)
	return row.NodeRecord, err
}
