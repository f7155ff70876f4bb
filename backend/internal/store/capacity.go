package store

import (
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"rockpool/backend/internal/core"
)

// capacity is a batch's reservations, added up by node.
type capacity struct {
	nodes     map[string]*nodeSum
	resources map[holding]int64
}

// nodeSum is one node's part.
type nodeSum struct {
	slots int64
	pool  string // that the node must be in, and free of holds; empty: no new work
	takes bool   // there are assignments: they must fit
	mixed bool   // the assignments name several pools
}

// sumUp adds the reservations up. Of jobs that believe a node to be in different
// pools the newest's belief is tried, the others are refused.
func (r *round) sumUp() (conflicts []core.Refusal) {
	if len(r.e.Reservations) == 0 {
		return nil
	}
	c := &r.capacity
	c.nodes = make(map[string]*nodeSum)
	for i := range r.e.Reservations {
		v := &r.e.Reservations[i]
		if r.out.job(v.Job) {
			continue
		}
		n := c.nodes[v.Node]
		if n == nil {
			n = &nodeSum{}
			c.nodes[v.Node] = n
		}
		n.takes = n.takes || !v.Release
		if !v.Release && !v.Adopt {
			n.mixed = n.mixed || n.pool != "" && n.pool != v.Pool
			n.pool = v.Pool
		}
		c.add(v, n)
	}
	for _, id := range slices.Sorted(maps.Keys(c.nodes)) {
		if n := c.nodes[id]; n.mixed {
			conflicts = append(conflicts, r.assignments(id, func(v *core.Reservation) bool { return !v.Adopt && v.Pool != n.pool })...)
		}
	}
	return conflicts
}

func (c *capacity) add(v *core.Reservation, n *nodeSum) {
	sign := int64(1)
	if v.Release {
		sign = -1
	}
	n.slots += sign * v.Demand.Slots
	if v.Demand.Plain() {
		return
	}
	each(v.Node, v.Demand, func(h holding, amount int64) {
		if h.kind == "" {
			return
		}
		if c.resources == nil {
			c.resources = map[holding]int64{}
		}
		c.resources[h] += sign * amount
	})
}

// assignments refuses those jobs' assignments to a node that fn picks.
func (r *round) assignments(node string, fn func(*core.Reservation) bool) (refused []core.Refusal) {
	for i := range r.e.Reservations {
		v := &r.e.Reservations[i]
		if v.Node == node && !v.Release && !r.out.job(v.Job) && fn(v) {
			refused = append(refused, core.Refusal{Job: v.Job, Why: core.RefusedAssignment})
		}
	}
	return refused
}

// The guard: whatever memory believed, no new work goes to a node outside its
// pool, with a hold, that has left, or that is full. What only releases always
// holds, and gives back room that the node's claim no longer has.
func slotsSQL(rows, narrowed string) string {
	return `
	UPDATE nodes AS n SET
		reserved_slots = greatest(n.reserved_slots + u.slots, 0),
		total_slots = greatest(n.slots, n.reserved_slots + u.slots)
	FROM ` + rows + `
	WHERE n.id = u.id ` + narrowed + `
	  AND (u.pool = '' OR coalesce(n.pool_id, 'default') = u.pool AND NOT n.held)
	  AND (NOT u.takes OR n.left_at IS NULL AND n.reserved_slots + u.slots <= n.slots)
	RETURNING n.id, u.takes`
}

// slotColumns are the parameters of slotsSQL, a row for each node.
type slotColumns struct{ node, slots, pool, takes array }

func (c *slotColumns) columns() []*array { return []*array{&c.node, &c.slots, &c.pool, &c.takes} }

func (c *slotColumns) add(node string, n *nodeSum) {
	c.node.text(node)
	c.slots.int8(n.slots)
	c.pool.text(n.pool)
	c.takes.bool(n.takes)
}

const resourcesSQL = `
	UPDATE node_resources AS r SET
		reserved = greatest(r.reserved + u.amount, 0),
		total = greatest(r.capacity, r.reserved + u.amount)
	FROM unnest($1::text[], $2::text[], $3::text[], $4::int8[]) AS u(node, kind, name, amount)
	WHERE r.node_id = ANY ($1) AND r.node_id = u.node AND r.kind = u.kind AND r.name = u.name
	  AND (u.amount <= 0 OR r.reserved + u.amount <= r.capacity)
	RETURNING r.node_id, r.kind, r.name, u.amount`

// Only what takes must be there.
var (
	addSlots = inForms([]column{{"id", "text"}, {"slots", "int8"}, {"pool", "text"}, {"takes", "bool"}}, slotsSQL,
		"AND n.id = ANY ($1)", 0, "count(*) FILTER (WHERE takes)")
	addResources = counted(resourcesSQL, "count(*) FILTER (WHERE amount > 0)", 4)
)

func (r *round) queueCapacity() {
	if len(r.capacity.nodes) == 0 {
		return
	}
	nodes := slices.Sorted(maps.Keys(r.capacity.nodes))
	c, taking := &r.w.slots, 0
	empty(c.columns())
	for _, id := range nodes {
		n := r.capacity.nodes[id]
		c.add(id, n)
		if n.takes {
			taking++
		}
	}
	sql, args := addSlots.take(c.columns())
	r.expect(sql, taking, func(rows pgx.Rows) error {
		there := make(map[string]bool, len(nodes))
		for rows.Next() {
			there[string(rows.RawValues()[0])] = true
		}
		for _, id := range nodes {
			if !there[id] && r.capacity.nodes[id].takes {
				r.unplaced = append(r.unplaced, r.newest(id, func(*core.Reservation) bool { return true })...)
			}
		}
		return rows.Err()
	}, args...)
	r.queueResources()
}

// newest refuses new work first; only when there is none, a node's claim to the
// work that it runs already.
func (r *round) newest(node string, fn func(*core.Reservation) bool) []core.Refusal {
	fresh := r.assignments(node, func(v *core.Reservation) bool { return !v.Adopt && fn(v) })
	if len(fresh) > 0 {
		return fresh
	}
	return r.assignments(node, fn)
}

func (r *round) queueResources() {
	if len(r.capacity.resources) == 0 {
		return
	}
	wanted := slices.SortedFunc(maps.Keys(r.capacity.resources), holding.compare)
	var nodes, kinds, names []string
	var amounts []int64
	taking := 0
	for _, h := range wanted {
		nodes, kinds, names = append(nodes, h.node), append(kinds, h.kind), append(names, h.name)
		amounts = append(amounts, r.capacity.resources[h])
		if r.capacity.resources[h] > 0 {
			taking++
		}
	}
	r.expect(addResources, taking, func(rows pgx.Rows) error {
		there := make(map[holding]bool, len(wanted))
		for rows.Next() {
			v := rows.RawValues()
			there[holding{string(v[0]), string(v[1]), string(v[2])}] = true
		}
		for _, h := range wanted {
			if !there[h] && r.capacity.resources[h] > 0 {
				r.unplaced = append(r.unplaced, r.newest(h.node, func(v *core.Reservation) bool { return demands(v, h) })...)
			}
		}
		return rows.Err()
	}, nodes, kinds, names, amounts)
}

func demands(v *core.Reservation, wanted holding) (found bool) {
	each(v.Node, v.Demand, func(h holding, _ int64) { found = found || h == wanted })
	return found
}
