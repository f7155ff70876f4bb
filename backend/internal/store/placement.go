package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/shared/ids"
)

// selectPlacements reads placements with their nodes; scanPlacement knows its
// columns.
const selectPlacements = `
	SELECT p.id, p.app_id, p.owner_id, p.submitter_id, p.role, p.key, p.spec, p.state, p.fallback, p.decision, p.created_at, p.expires_at, p.ended_at,
	       n.nodes, n.pools
	FROM placements p CROSS JOIN LATERAL (
		SELECT array_agg(node_id ORDER BY place) AS nodes, array_agg(pool_id ORDER BY place) AS pools
		FROM placement_nodes WHERE placement_id = p.id) n `

func scanPlacement(row pgx.CollectableRow) (p record.Placement, err error) {
	var id [16]byte
	var spec []byte
	var state string
	var nodes, pools []string
	s := &p.Spec
	err = row.Scan(&id, &s.App, &s.Owner, &s.Submitter, &s.Role, &s.Key, &spec, &state, &p.Fallback, &p.Decision,
		&p.CreatedAt, &p.ExpiresAt, &p.EndedAt, &nodes, &pools)
	if err != nil {
		return p, err
	}
	s.ID = id
	p.CreatedAt, p.ExpiresAt, p.EndedAt = p.CreatedAt.UTC(), p.ExpiresAt.UTC(), utc(p.EndedAt)
	for i := range nodes {
		p.Nodes = append(p.Nodes, fleet.PlacedOn{Node: nodes[i], Pool: pools[i]})
	}
	if err := json.Unmarshal(spec, s); err != nil {
		return p, fmt.Errorf("spec of placement %s: %w", s.ID, err)
	}
	var known bool
	if p.State, known = fleet.ParsePlacementState(state); !known {
		return p, fmt.Errorf("unknown state %q of placement %s: the database is of a newer release", state, s.ID)
	}
	return p, nil
}

// Placement reads one placement; one out of scope is not found.
func (db *DB) Placement(ctx context.Context, id ids.JobID, scope record.Scope) (record.Placement, error) {
	what := "placement " + id.String()
	q := &query{}
	where := "p.id = " + q.arg(id.String()) + "::uuid"
	if !scope.All() {
		where += " AND " + q.placedIn(scope)
	}
	rows, err := db.pool.Query(ctx, selectPlacements+"WHERE "+where, q.args...)
	if err != nil {
		return record.Placement{}, problem(what, err)
	}
	p, err := pgx.CollectExactlyOneRow(rows, scanPlacement)
	return p, problem(what, err)
}

// Placements lists placements, newest first. A page's After is the last one's id.
func (db *DB) Placements(ctx context.Context, f record.PlacementFilter, page record.Page) ([]record.Placement, error) {
	q := &query{}
	where := []string{"true"}
	if page.After != "" {
		after, err := ids.ParseJobID(page.After)
		if err != nil {
			return nil, badPage(page)
		}
		where = append(where, "p.id < "+q.arg(after.String())+"::uuid")
	}
	if !f.Scope.All() {
		where = append(where, q.placedIn(f.Scope))
	}
	if f.App != "" {
		where = append(where, "p.app_id = "+q.arg(f.App))
	}
	if f.Key != "" {
		where = append(where, "p.key = "+q.arg(f.Key))
	}
	if f.Node != "" {
		where = append(where, "p.id IN (SELECT placement_id FROM placement_nodes WHERE node_id = "+q.arg(f.Node)+")")
	}
	if f.State != nil {
		where = append(where, "p.state = "+q.arg(f.State.String()))
	}
	if f.Lasting || f.State != nil && !f.State.Ended() {
		where = append(where, "p.ended_at IS NULL") // the lasting ones' index
	}
	rows, err := db.pool.Query(ctx, selectPlacements+"WHERE "+strings.Join(where, " AND ")+" ORDER BY p.id DESC LIMIT "+q.arg(limit(page)), q.args...)
	if err != nil {
		return nil, problem("list placements", err)
	}
	list, err := pgx.CollectRows(rows, scanPlacement)
	return list, problem("list placements", err)
}

// placedIn is the condition of a scope: a placement is of its nodes' pools.
func (q *query) placedIn(s record.Scope) string {
	in := "EXISTS (SELECT FROM placement_nodes s WHERE s.placement_id = p.id AND s.pool_id = ANY (" + q.arg(s.Pools) + "::text[]))"
	if s.Owner != nil {
		in = "(p.owner_id = " + q.arg(*s.Owner) + " OR " + in + ")"
	}
	return in
}
