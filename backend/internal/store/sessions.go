package store

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

// A node's epoch only rises. A node that has left comes back by registering.
const openSessionsSQL = `
	UPDATE nodes AS n SET epoch = u.epoch, boot_id = u.boot, slots = u.slots, total_slots = greatest(u.slots, n.reserved_slots)
	FROM unnest($1::text[], $2::int8[], $3::text[], $4::int8[]) AS u(id, epoch, boot, slots)
	WHERE n.id = u.id AND n.id = ANY ($1) AND n.epoch < u.epoch AND n.left_at IS NULL
	RETURNING n.id`

// Nearly every hello says what the one before it did: that is not written again.
const reportsSQL = `
	INSERT INTO node_reports (node_id, report)
	SELECT n.id, u.report::jsonb FROM unnest($1::text[], $2::text[]) AS u(id, report) JOIN nodes n ON n.id = u.id AND n.id = ANY ($1)
		LEFT JOIN node_reports r ON r.node_id = u.id AND r.node_id = ANY ($1)
	WHERE r.report IS DISTINCT FROM u.report::jsonb
	ON CONFLICT (node_id) DO UPDATE SET report = excluded.report, reported_at = now()`

// What the report no longer names has no capacity; its row goes with its last
// reservation.
const clearResourcesSQL = `UPDATE node_resources SET capacity = 0, total = reserved WHERE node_id = ANY ($1::text[])`

const setResourcesSQL = `
	INSERT INTO node_resources AS r (node_id, kind, name, capacity, total)
	SELECT n.id, u.kind, u.name, u.amount, u.amount
	FROM unnest($1::text[], $2::text[], $3::text[], $4::int8[]) AS u(node, kind, name, amount) JOIN nodes n ON n.id = u.node AND n.id = ANY ($1)
	ON CONFLICT (node_id, kind, name) DO UPDATE SET capacity = excluded.capacity, total = greatest(excluded.capacity, r.reserved)`

const dropResourcesSQL = `DELETE FROM node_resources WHERE node_id = ANY ($1::text[]) AND capacity = 0 AND reserved = 0`

// A goodbye is of the session that stands.
const leaveSQL = `
	UPDATE nodes AS n SET left_at = now(), version = n.version + 1
	FROM unnest($1::text[], $2::int8[]) AS u(id, epoch)
	WHERE n.id = u.id AND n.id = ANY ($1) AND n.epoch <= u.epoch AND n.left_at IS NULL
	RETURNING n.id`

// Each of these gives back a row for each session.
var (
	openSessions  = counted(openSessionsSQL, "count(*)", 4)
	leaveSessions = counted(leaveSQL, "count(*)", 2)
)

const lockNodesSQL = `SELECT FROM nodes WHERE id = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE`

// lockNodes locks beforehand when several statements of the batch may change
// nodes: those that put holds and open sessions, and the one that reserves.
func (r *round) lockNodes() {
	var nodes []string
	for i := range r.e.Holds {
		nodes = append(nodes, r.e.Holds[i].Node)
	}
	for i := range r.e.Sessions {
		if node := r.e.Sessions[i].Node; !r.out.session(node) {
			nodes = append(nodes, node)
		}
	}
	nodes = append(nodes, identityNodes(r.e.Identities)...)
	if len(nodes) == 0 {
		return
	}
	for id := range r.capacity.nodes {
		nodes = append(nodes, id)
	}
	r.batch.Queue(lockNodesSQL, nodes)
}

func (r *round) queueSessions() {
	var opened, left []core.SessionWrite
	for _, s := range r.e.Sessions {
		switch {
		case r.out.session(s.Node):
			continue
		case s.Report != nil:
			opened = append(opened, s)
		default:
			left = append(left, s)
		}
	}
	r.queueOpened(opened)
	r.queueLeft(left)
}

func (r *round) queueOpened(sessions []core.SessionWrite) {
	if len(sessions) == 0 {
		return
	}
	slices.SortFunc(sessions, func(a, b core.SessionWrite) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(b.Epoch, a.Epoch))
	})
	// Of a node that came twice within one batch the newer session counts.
	sessions = slices.CompactFunc(sessions, func(a, b core.SessionWrite) bool { return a.Node == b.Node })
	var nodes, boots, reports, owners, kinds, names []string
	var epochs, slots, amounts []int64
	for _, s := range sessions {
		nodes, boots, reports = append(nodes, s.Node), append(boots, s.Report.BootID), append(reports, reportJSON(s.Report))
		epochs, slots = append(epochs, s.Epoch), append(slots, s.Report.Capacity.Slots)
		each(s.Node, &s.Report.Capacity, func(h holding, amount int64) {
			if h.kind != "" {
				owners, kinds, names, amounts = append(owners, h.node), append(kinds, h.kind), append(names, h.name), append(amounts, amount)
			}
		})
	}
	r.expect(openSessions, len(nodes), r.staleSessions(nodes), nodes, epochs, boots, slots)
	r.batch.Queue(reportsSQL, nodes, reports)
	r.batch.Queue(clearResourcesSQL, nodes)
	if len(owners) > 0 {
		r.batch.Queue(setResourcesSQL, owners, kinds, names, amounts)
	}
	r.batch.Queue(dropResourcesSQL, nodes)
}

func (r *round) queueLeft(sessions []core.SessionWrite) {
	if len(sessions) == 0 {
		return
	}
	var nodes []string
	var epochs []int64
	for _, s := range sessions {
		nodes, epochs = append(nodes, s.Node), append(epochs, s.Epoch)
	}
	r.expect(leaveSessions, len(nodes), r.staleSessions(nodes), nodes, epochs)
}

// staleSessions refuses the sessions whose nodes did not come back.
func (r *round) staleSessions(nodes []string) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		there := make(map[string]bool, len(nodes))
		for rows.Next() {
			there[string(rows.RawValues()[0])] = true
		}
		for _, id := range nodes {
			if !there[id] {
				r.stale = append(r.stale, core.Refusal{Node: id, Why: core.RefusedStale})
			}
		}
		return rows.Err()
	}
}

func reportJSON(r *fleet.NodeReport) string {
	data, _ := json.Marshal(reportOf(r)) // texts, numbers and lists of them always have a JSON form
	return string(data)
}
