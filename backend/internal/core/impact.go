package core

import (
	"cmp"
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/pool"
)

// Impact tries a change against the fleet as it is now, without an effect.
func (d *Dispatch) Impact(now fleet.Time, p Proposal) Impact {
	t := &trial{d: d, proposal: p, nodes: map[string]bool{}, target: d.index.Look(p.Pool).State}
	for _, id := range p.Nodes {
		t.nodes[id] = true
	}
	t.before, t.after = d.supplyOf(asIs), d.supplyOf(t.stand)
	i := Impact{At: now, Pools: t.pools(), Apps: t.apps(), Waiting: t.hopeless()}
	for _, n := range d.order {
		if t.meant(n) {
			i.Running = append(i.Running, n.running()...)
		}
	}
	for _, p := range d.placed {
		if slices.ContainsFunc(p.on, t.meant) {
			i.Placements++
		}
	}
	return i
}

// trial compares the pools before and after a proposal.
type trial struct {
	d             *Dispatch
	proposal      Proposal
	nodes         map[string]bool
	target        fleet.PoolState // of the proposal's pool
	before, after *supply
}

// meant reports a node that the proposal names, or whose pool it does.
func (t *trial) meant(n *node) bool {
	if t.proposal.Kind == ProposePoolState {
		return n.rec.Pool == t.proposal.Pool
	}
	return t.nodes[n.rec.ID]
}

// stand is where the node would be.
func (t *trial) stand(n *node) standing {
	at := asIs(n)
	if !t.meant(n) {
		return at
	}
	switch t.proposal.Kind {
	case ProposeMove:
		return standing{t.proposal.Pool, n.slot.Blocks() == 0 && t.target == fleet.PoolActive}
	case ProposeHold:
		at.usable = false
	case ProposePoolState:
		at.usable = n.slot.Blocks() == 0 && t.proposal.State == fleet.PoolActive
	}
	return at
}

// pools lists those that would change, by id.
func (t *trial) pools() (changed []PoolImpact) {
	ids := slices.Concat(t.before.ids, t.after.ids)
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		was, is := t.before.pool(id).shape, t.after.pool(id).shape
		if was != is {
			changed = append(changed, PoolImpact{
				Pool: id, UsableBefore: was.usable, Usable: is.usable, FreeBefore: was.free, Free: is.free,
				SlotsBefore: was.slots, Slots: is.slots, OutOfUseBefore: was.outOfUse, OutOfUse: is.outOfUse,
			})
		}
	}
	return changed
}

// apps lists those whose usable nodes would change or that have none, the worst
// first.
func (t *trial) apps() (rows []AppImpact) {
	waits := t.d.waitingWork()
	for _, id := range t.d.appIDs {
		app := t.d.apps[id]
		for _, role := range t.roles(app, waits) {
			was, is := t.chain(t.before, app, role), t.chain(t.after, app, role)
			row := AppImpact{
				App: id, Role: role, Owner: app.Owner, UsableBefore: t.before.reach(was, role), Usable: t.after.reach(is, role),
				Waiting: waits.of(id, role), Fallback: is.Fallback,
			}
			if row.Usable != row.UsableBefore || row.Exhausted() {
				rows = append(rows, row)
			}
		}
	}
	slices.SortFunc(rows, func(a, b AppImpact) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Usable, b.Usable), cmp.Compare(a.App, b.App), cmp.Compare(a.Role, b.Role))
	})
	return rows
}

// rank puts what a change would exhaust first, then what it would take nodes
// from, then what is exhausted anyway.
func (a *AppImpact) rank() int {
	switch {
	case a.Exhausted() && a.UsableBefore > 0:
		return 0
	case a.Usable < a.UsableBefore:
		return 1
	case a.Exhausted():
		return 2
	}
	return 3
}

func (t *trial) chain(s *supply, app *fleet.App, role string) pool.Chain {
	return pool.Resolve(app, role, s.owners[app.Owner] > 0)
}

// roles lists those that an app's rows are about: of its bindings, of its waiting
// work, and for what no binding names, of the nodes in the pools it resolves to.
// An app of which there is none of these has one row, for every role.
func (t *trial) roles(app *fleet.App, waits waits) (roles []string) {
	for _, s := range []*supply{t.before, t.after} {
		for _, r := range pool.Resolutions(app, s.owners[app.Owner] > 0) {
			if r.Role != "" {
				roles = append(roles, r.Role)
				continue
			}
			for _, id := range r.Tries() {
				for _, have := range s.pool(id).roles {
					roles = append(roles, have.role)
				}
			}
		}
	}
	for _, w := range waits.ofApp(app.ID) {
		roles = append(roles, w.role)
	}
	if len(roles) == 0 {
		return []string{""}
	}
	slices.Sort(roles)
	return slices.Compact(roles)
}

// hopeless counts the jobs that wait and would have no usable node of their role
// in any of their pools.
func (t *trial) hopeless() (jobs int64) {
	known := map[routeKey]bool{}
	for _, w := range t.d.queue.All() {
		spec := t.d.jobs[w.Job].spec
		key := keyOf(spec)
		key.role = spec.Role
		none, seen := known[key]
		if !seen {
			none = t.after.reach(t.d.chainIf(keyOf(spec), t.after.owners), spec.Role) == 0
			known[key] = none
		}
		if none {
			jobs++
		}
	}
	return jobs
}

// waits counts the jobs that wait by app and role, in that order; canary jobs
// are no app's.
type waits []wait

type wait struct {
	app, role string
	jobs      int64
}

func (w *wait) compare(other *wait) int {
	return cmp.Or(cmp.Compare(w.app, other.app), cmp.Compare(w.role, other.role))
}

func (d *Dispatch) waitingWork() waits {
	var list waits
	at := map[routeKey]int{}
	for _, w := range d.queue.All() {
		spec := d.jobs[w.Job].spec
		if spec.Pool != "" {
			continue
		}
		key := routeKey{app: spec.App, role: spec.Role}
		i, known := at[key]
		if !known {
			i = len(list)
			at[key] = i
			list = append(list, wait{app: spec.App, role: spec.Role})
		}
		list[i].jobs++
	}
	slices.SortFunc(list, func(a, b wait) int { return a.compare(&b) })
	return list
}

func (list waits) of(app, role string) int64 {
	i, known := slices.BinarySearchFunc(list, wait{app: app, role: role}, func(a, b wait) int { return a.compare(&b) })
	if !known {
		return 0
	}
	return list[i].jobs
}

func (list waits) ofApp(app string) waits {
	from, _ := slices.BinarySearchFunc(list, wait{app: app}, func(a, b wait) int { return a.compare(&b) })
	to := from
	for to < len(list) && list[to].app == app {
		to++
	}
	return list[from:to]
}
