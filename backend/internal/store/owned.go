package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/core/fleet"
)

// holdings is which nodes were surely a user's own, by the audit chain: in any pool
// but unassigned, and not left. Where the chain does not say it they were not.
type holdings struct {
	nodes map[string]*belonging
	left  map[string]time.Time // of those that have left now, however they did
}

func newHoldings() *holdings {
	return &holdings{nodes: map[string]*belonging{}, left: map[string]time.Time{}}
}

// belonging is whose own a node was, from one moment to the next; 0: nobody's.
type belonging struct {
	owner int64 // of its newest registration
	left  bool
	own   timeline[int64]
}

// readLeft knows the nodes that have left: a goodbye leaves no entry.
func (h *holdings) readLeft(ctx context.Context, db *DB) error {
	rows, err := db.pool.Query(ctx, "SELECT id, left_at FROM nodes WHERE left_at IS NOT NULL")
	if err != nil {
		return err
	}
	var node string
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&node, &at}, func() error {
		h.left[node] = at
		return nil
	})
	return err
}

// entered takes in an entry about a node.
func (h *holdings) entered(node, action string, at time.Time, is moved) {
	b := h.nodes[node]
	if b == nil {
		b = &belonging{}
		h.nodes[node] = b
	}
	switch action {
	case "node_left", "node_revoked":
		b.left = true
	case "node_registered", "node_created":
		if n := len(b.own.steps); n > 0 { // it had left, and perhaps nobody entered when
			b.own.steps[n-1].is = 0
		}
		b.owner, b.left = is.Owner, false
	}
	own := b.owner
	if b.left || is.Pool == fleet.PoolUnassigned {
		own = 0
	}
	b.own.steps = append(b.own.steps, step[int64]{at, own})
}

// had reports that the user surely had a node of their own all the time around then.
func (h *holdings) had(owner int64, at time.Time) bool {
	if owner == 0 {
		return false
	}
	for node, b := range h.nodes {
		if left, gone := h.left[node]; gone && left.Before(at.Add(isolationTolerance)) {
			continue
		}
		if b.own.throughout(at, func(own int64) bool { return own == owner }) {
			return true
		}
	}
	return false
}
