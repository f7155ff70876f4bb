package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/record"
)

// nodeFactsSQL counts the seats of the node's license that were taken up to its own,
// as licenses count them: a node that has left has none.
const nodeFactsSQL = `
	SELECT i.rotated_at, coalesce(l.nodes, 0), CASE WHEN l.id IS NOT NULL AND n.left_at IS NULL THEN
		(SELECT count(*) FROM nodes o WHERE o.license_id = l.id AND o.left_at IS NULL AND (o.created_at, o.id) <= (n.created_at, n.id)) ELSE 0 END
	FROM nodes n LEFT JOIN licenses l ON l.id = n.license_id LEFT JOIN node_identities i ON i.node_id = n.id WHERE n.id = $1`

// NodeFacts reads what only a node's own page tells of its record.
func (db *DB) NodeFacts(ctx context.Context, id string) (f record.NodeFacts, err error) {
	err = db.pool.QueryRow(ctx, nodeFactsSQL, id).Scan(&f.RotatedAt, &f.Seats, &f.Seat)
	f.RotatedAt = utc(f.RotatedAt)
	return f, problem("node "+id, err)
}

// thresholdsSQL finds the newest entry that changed them.
var thresholdsSQL = `
	SELECT at, coalesce(` + nameOf("subject") + `, subject) FROM audit_entries
	WHERE action = 'pool_changed' AND object = $1
		AND (before->>'queueWaitMs', before->>'freeSlots', before->>'notReadyPct') IS DISTINCT FROM (after->>'queueWaitMs', after->>'freeSlots', after->>'notReadyPct')
	ORDER BY seq DESC LIMIT 1`

// ThresholdsChanged tells when a pool's thresholds were changed last, and who did;
// nil: they are as it was made.
func (db *DB) ThresholdsChanged(ctx context.Context, pool string) (*record.Change, error) {
	var c record.Change
	err := db.pool.QueryRow(ctx, thresholdsSQL, "pool:"+pool).Scan(&c.At, &c.By)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, problem("thresholds of pool "+pool, err)
	}
	c.At = c.At.UTC()
	return &c, nil
}
