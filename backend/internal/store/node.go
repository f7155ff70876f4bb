package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

// report is a node's last hello as node_reports keeps it.
type report struct {
	AgentVersion string        `json:"agentVersion,omitempty"`
	OS           string        `json:"os,omitempty"`
	Arch         string        `json:"arch,omitempty"`
	MachineID    string        `json:"machineId,omitempty"`
	Role         string        `json:"role,omitempty"` // as claimed
	Region       string        `json:"region,omitempty"`
	Backend      string        `json:"backend,omitempty"`
	Capacity     fleet.Vector  `json:"capacity"`
	Runners      []string      `json:"runners,omitempty"`
	Endpoints    []fleet.Label `json:"endpoints,omitempty"`
	Labels       []fleet.Label `json:"labels,omitempty"`
	RemoteAddr   string        `json:"remoteAddr,omitempty"`
}

func reportOf(r *fleet.NodeReport) report {
	return report{
		AgentVersion: r.AgentVersion, OS: r.OS, Arch: r.Arch, MachineID: r.MachineID, Role: r.Role, Region: r.Region,
		Backend: r.Backend, Capacity: r.Capacity, Runners: r.Runners, Endpoints: r.Endpoints, Labels: r.Labels, RemoteAddr: r.RemoteAddr,
	}
}

// selectNodes reads whole nodes, holds under the names of the people whose they are;
// scanNode knows its columns.
var selectNodes = `
	SELECT n.id, coalesce(n.owner_id, 0), coalesce(n.pool_id, 'default'), n.role, coalesce(n.license_id, ''), coalesce(n.max_slots, 0),
	       n.left_at IS NOT NULL, n.epoch, n.boot_id, n.version, n.slots, n.created_at, s.last_seen, r.report,
	       CASE WHEN n.held THEN (SELECT json_agg(json_build_object('Kind', h.kind, 'Owner', h.owner, 'Actor', coalesce(` + nameOf("h.actor") + `, h.actor),
	           'Reason', h.reason, 'Until', h.until, 'Deadline', h.deadline) ORDER BY h.kind, h.owner) FROM node_holds h WHERE h.node_id = n.id) END,
	       i.chain_current, i.chain_pending, i.chain_past, i.claimants, i.keep, i.rotation, i.secret_next
	FROM nodes n LEFT JOIN node_reports r ON r.node_id = n.id LEFT JOIN node_seen s ON s.node_id = n.id
	LEFT JOIN node_identities i ON i.node_id = n.id `

func (db *DB) scanNode(row pgx.CollectableRow) (n record.Node, err error) {
	var slots int64
	var reported, holds []byte
	var i identityRow
	err = row.Scan(&n.ID, &n.Owner, &n.Pool, &n.Role, &n.License, &n.MaxSlots, &n.Left, &n.Epoch, &n.BootID, &n.Version, &slots,
		&n.CreatedAt, &n.LastSeen, &reported, &holds,
		&i.current, &i.pending, &i.past, &i.claimants, &i.keep, &i.rotation, &i.next)
	if err != nil {
		return n, err
	}
	n.CreatedAt, n.LastSeen = n.CreatedAt.UTC(), utc(n.LastSeen)
	if holds != nil {
		if n.Holds, err = db.readHolds(holds); err != nil {
			return n, fmt.Errorf("holds of node %s: %w", n.ID, err)
		}
	}
	if err := db.readIdentity(&i, &n.Identity); err != nil {
		return n, fmt.Errorf("identity of node %s: %w", n.ID, err)
	}
	if reported != nil {
		var r report
		if err := json.Unmarshal(reported, &r); err != nil {
			return n, fmt.Errorf("report of node %s: %w", n.ID, err)
		}
		fillReport(&n, r)
	}
	n.Capacity.Slots = slots
	return n, nil
}

// readHolds reads the JSON that selectNodes makes of a node's holds.
func (db *DB) readHolds(data []byte) ([]fleet.Hold, error) {
	var rows []struct {
		Kind            fleet.HoldKind
		Owner           fleet.HoldOwner
		Actor, Reason   string
		Until, Deadline *time.Time
	}
	if err := json.Unmarshal(data, &rows); err != nil {
		return nil, err
	}
	holds := make([]fleet.Hold, len(rows))
	for i, r := range rows {
		holds[i] = fleet.Hold{Kind: r.Kind, Owner: r.Owner, Actor: r.Actor, Reason: r.Reason, Until: db.when(r.Until), Deadline: db.when(r.Deadline)}
	}
	return holds, nil
}

func fillReport(n *record.Node, r report) {
	n.Region, n.Backend, n.Capacity, n.Runners = r.Region, r.Backend, r.Capacity, r.Runners
	n.AgentVersion, n.OS, n.Arch, n.MachineID = r.AgentVersion, r.OS, r.Arch, r.MachineID
	n.Endpoints, n.Labels, n.RemoteAddr = r.Endpoints, r.Labels, r.RemoteAddr
}

// querier is what the pool and a transaction have in common.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func (db *DB) nodesWhere(ctx context.Context, q querier, where string, args ...any) ([]record.Node, error) {
	rows, err := q.Query(ctx, selectNodes+where, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, db.scanNode)
}

func (db *DB) oneNode(ctx context.Context, q querier, what, where string, args ...any) (record.Node, error) {
	nodes, err := db.nodesWhere(ctx, q, where, args...)
	if err != nil {
		return record.Node{}, problem(what, err)
	}
	if len(nodes) == 0 {
		return record.Node{}, notFound(what)
	}
	return nodes[0], nil
}

// Node reads one node.
func (db *DB) Node(ctx context.Context, id string) (record.Node, error) {
	return db.oneNode(ctx, db.pool, "node "+id, "WHERE n.id = $1", id)
}

// Nodes lists nodes by id.
func (db *DB) Nodes(ctx context.Context, scope record.Scope, page record.Page) ([]record.Node, error) {
	q := &query{}
	where := "WHERE n.id > " + q.arg(page.After)
	if !scope.All() {
		where += " AND " + q.scoped(scope, "n.owner_id", "coalesce(n.pool_id, 'default')")
	}
	nodes, err := db.nodesWhere(ctx, db.pool, where+" ORDER BY n.id LIMIT "+q.arg(limit(page)), q.args...)
	return nodes, problem("list nodes", err)
}

// CreateNode makes the record of a node that an operator sets up by hand: its secret
// is given as SHA-256. It starts in its owner's pool, without an owner in default.
// MaxSlots bounds what it may bring; 0: nothing but the product does. Errors:
// node_id_taken; unprocessable for a role or an owner that is not there.
func (db *DB) CreateNode(ctx context.Context, actor record.Actor, node record.Node, secretSum [32]byte) (record.Node, error) {
	node.Pool = fleet.PoolDefault
	if node.Owner != 0 {
		node.Pool = fleet.OwnerPool(node.Owner)
	}
	err := db.inTx(ctx, "create node "+node.ID, func(ctx context.Context, tx bun.Tx) error {
		if err := checkRoles(ctx, tx, node.Role); err != nil {
			return err
		}
		nobody := fleet.Errorf(fleet.CodeUnprocessable, "there is no user "+strconv.FormatInt(node.Owner, 10))
		if err := lockTarget(ctx, tx, node.Pool, nobody); err != nil {
			return err
		}
		res, err := tx.NewRaw(`INSERT INTO nodes (id, owner_id, pool_id, role, secret_sum, max_slots) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
			node.ID, orNull(node.Owner), node.Pool, node.Role, secretSum[:], orNull(node.MaxSlots)).Exec(ctx)
		if err := oneRow(res, err, fleet.Errorf(fleet.CodeNodeIDTaken, "there is a node "+node.ID+": choose another id")); err != nil {
			return err
		}
		return audit(ctx, tx, actor, change{action: "node_created", object: "node:" + node.ID, after: map[string]any{
			"owner": node.Owner, "pool": node.Pool, "role": node.Role, "maxSlots": node.MaxSlots,
		}})
	})
	if err != nil {
		return record.Node{}, err
	}
	return db.Node(ctx, node.ID)
}

// LeaveNode takes a node out of the fleet: its seat is free, and it comes back only
// by registering. A second time changes nothing.
func (db *DB) LeaveNode(ctx context.Context, actor record.Actor, id, reason string) (fleet.NodeRecord, error) {
	return db.endNode(ctx, "let node "+id+" leave", id, func(ctx context.Context, tx bun.Tx, pool string) error {
		res, err := tx.NewRaw("UPDATE nodes SET left_at = now(), version = version + 1 WHERE id = ? AND left_at IS NULL", id).Exec(ctx)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		return audit(ctx, tx, actor, change{action: "node_left", object: "node:" + id, reason: reason, before: map[string]any{"pool": pool}})
	})
}

// RevokeNode makes the node's secret good for nothing; the node has left, and its
// seat is free. A second time changes nothing.
func (db *DB) RevokeNode(ctx context.Context, actor record.Actor, id, reason string) (fleet.NodeRecord, error) {
	return db.endNode(ctx, "revoke node "+id, id, func(ctx context.Context, tx bun.Tx, _ string) error {
		_, err := tx.NewRaw(`UPDATE nodes SET revoked_at = coalesce(revoked_at, now()), left_at = coalesce(left_at, now()),
			version = version + 1 WHERE id = ?`, id).Exec(ctx)
		if err != nil {
			return err
		}
		return audit(ctx, tx, actor, change{action: "node_revoked", object: "node:" + id, reason: reason})
	})
}

// endNode locks the node's row, lets write end its membership, and gives the record
// that follows.
func (db *DB) endNode(ctx context.Context, what, id string, write func(ctx context.Context, tx bun.Tx, pool string) error) (fleet.NodeRecord, error) {
	err := db.inTx(ctx, what, func(ctx context.Context, tx bun.Tx) error {
		pool, err := lockNode(ctx, tx, id, nil)
		if err != nil {
			return err
		}
		return write(ctx, tx, pool)
	})
	if err != nil {
		return fleet.NodeRecord{}, err
	}
	row, err := db.Node(ctx, id)
	return row.NodeRecord, err
}

// TouchNodes keeps when nodes were last seen, in one statement. Call it with the
// whole fleet once a minute, not with each heartbeat.
func (db *DB) TouchNodes(ctx context.Context, nodes []string, seen []time.Time) error {
	_, err := db.pool.Exec(ctx, `
		INSERT INTO node_seen (node_id, last_seen)
		SELECT u.id, u.seen FROM unnest($1::text[], $2::timestamptz[]) AS u(id, seen) JOIN nodes n ON n.id = u.id ORDER BY u.id
		ON CONFLICT (node_id) DO UPDATE SET last_seen = excluded.last_seen`, nodes, seen)
	return problem("note when nodes were seen", err)
}
