package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

// Whose a secret is. One that is a node's counts, and one that a node put beside it
// while a rotation is under way; none of a node that was revoked or has left: that
// comes back by registering.

const membersBySecretSQL = `
	SELECT asked.sum, n.id, n.role, coalesce(least(nullif(n.max_slots, 0), nullif(l.max_slots, 0)), 0), asked.next
	FROM (SELECT id, secret_sum AS sum, false AS next FROM nodes WHERE secret_sum = ANY ($1)
		UNION ALL SELECT node_id, secret_next, true FROM node_identities WHERE secret_next = ANY ($1)) asked
	JOIN nodes n ON n.id = asked.id LEFT JOIN licenses l ON l.id = n.license_id
	WHERE n.left_at IS NULL`

// MembersBySecret finds nodes by the SHA-256 of secrets. What no node has is left out.
func (db *DB) MembersBySecret(ctx context.Context, sums [][32]byte) (map[[32]byte]record.Member, error) {
	asked := make([][]byte, len(sums))
	for i := range sums {
		asked[i] = sums[i][:]
	}
	rows, err := db.queryHot(ctx, membersBySecretSQL, asked)
	if err != nil {
		return nil, problem("nodes by their secrets", err)
	}
	found := make(map[[32]byte]record.Member, len(sums))
	var sum []byte
	var m record.Member
	_, err = pgx.ForEachRow(rows, []any{&sum, &m.ID, &m.Role, &m.MaxSlots, &m.Next}, func() error {
		found[[32]byte(sum)] = m
		return nil
	})
	return found, problem("nodes by their secrets", err)
}

var nodeBySecretSQL = selectNodes + `WHERE n.left_at IS NULL AND n.id IN (
	SELECT id FROM nodes WHERE secret_sum = $1 UNION ALL SELECT node_id FROM node_identities WHERE secret_next = $1)`

// NodeBySecret reads the node that has a secret of that SHA-256; not_found: none has.
func (db *DB) NodeBySecret(ctx context.Context, sum [32]byte) (fleet.NodeRecord, error) {
	rows, err := db.queryHot(ctx, nodeBySecretSQL, sum[:])
	if err != nil {
		return fleet.NodeRecord{}, problem("node by its secret", err)
	}
	node, err := pgx.CollectExactlyOneRow(rows, db.scanNode)
	return node.NodeRecord, problem("node by its secret", err)
}
