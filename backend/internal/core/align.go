package core

import (
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/pool"
)

// Alignment finds what will fail before a request does: resolutions without a
// usable node, and pools with nodes that no resolution leads to.
func (d *Dispatch) Alignment() Alignment {
	var a Alignment
	s, owned := d.supplyOf(asIs), d.owned()
	reached := map[string]bool{fleet.PoolUnassigned: true}
	for _, id := range d.appIDs {
		app := d.apps[id]
		for _, r := range pool.Resolutions(app, s.owners[app.Owner] > 0) {
			var usable, nodes int32
			for _, id := range r.Tries() {
				reached[id] = true
				usable += s.usable(id, r.Role)
				nodes += s.pool(id).nodes
			}
			if usable == 0 {
				a.Apps = append(a.Apps, Misaligned{
					App: app.ID, Owner: app.Owner, Role: r.Role, Rule: r.Rule, Pools: r.Pools, Fallback: r.Fallback,
					Nodes: nodes, Elsewhere: owned.elsewhere(app.Owner, &r),
				})
			}
		}
	}
	for _, id := range s.ids {
		if p := s.pool(id); !reached[id] && p.nodes > 0 {
			a.Pools = append(a.Pools, UnresolvedPool{Pool: id, Kind: d.kindOf(id), Nodes: p.nodes})
		}
	}
	return a
}

// owned counts the usable nodes of users by pool and role; the empty pool and
// the empty role are any.
type owned map[ownedBy]int32

type ownedBy struct {
	owner      int64
	pool, role string
}

func (d *Dispatch) owned() owned {
	o := owned{}
	for _, n := range d.order {
		if n.rec.Owner == 0 || n.rec.Pool == fleet.PoolUnassigned || !n.slot.Eligible() {
			continue
		}
		for _, id := range []string{"", n.rec.Pool} {
			o[ownedBy{n.rec.Owner, id, ""}]++
			o[ownedBy{n.rec.Owner, id, n.rec.Role}]++
		}
	}
	return o
}

// elsewhere counts the owner's usable nodes that a resolution does not lead to.
func (o owned) elsewhere(owner int64, r *pool.Resolution) int32 {
	nodes := o[ownedBy{owner, "", r.Role}]
	for _, id := range r.Tries() {
		nodes -= o[ownedBy{owner, id, r.Role}]
	}
	return nodes
}

func (d *Dispatch) kindOf(id string) fleet.PoolKind {
	if p := d.pools[id]; p != nil {
		return p.Kind
	}
	return ""
}

// Resolvers lists the resolutions that lead to a pool, by app and role.
func (d *Dispatch) Resolvers(id string) []Resolver {
	var all []Resolver
	running := d.runningIn(id)
	for _, name := range d.appIDs {
		app := d.apps[name]
		for _, r := range pool.Resolutions(app, d.owners[app.Owner] > 0) {
			for place, tried := range r.Tries() {
				if tried == id {
					all = append(all, Resolver{
						App: app.ID, Owner: app.Owner, Role: r.Role, Rule: r.Rule, Place: place, Fallback: r.IsFallback(place),
						Allowed: r.Fallback, Running: running.of(app, r.Role),
					})
				}
			}
		}
	}
	return all
}

// runs counts attempts by app, and by app and role.
type runs struct {
	all    map[string]int32
	byRole map[appRole]int32
}

type appRole struct{ app, role string }

// runningIn counts the attempts that nodes hold and that count for a pool.
func (d *Dispatch) runningIn(id string) runs {
	r := runs{all: map[string]int32{}, byRole: map[appRole]int32{}}
	for _, n := range d.order {
		for _, j := range n.jobs {
			if j.row.Pool == id {
				r.all[j.spec.App]++
				r.byRole[appRole{j.spec.App, j.spec.Role}]++
			}
		}
	}
	return r
}

// of sums up the roles that a resolution of the app is for: its own, or those that no
// binding names.
func (r runs) of(app *fleet.App, role string) int32 {
	if role != "" {
		return r.byRole[appRole{app.ID, role}]
	}
	sum := r.all[app.ID]
	for i := range app.Bindings {
		if named := app.Bindings[i].Role; named != "" {
			sum -= r.byRole[appRole{app.ID, named}]
		}
	}
	return sum
}

// Usable counts the nodes that may get new work of the app's role, busy ones and
// those of an allowed fallback too. The empty role is any.
func (d *Dispatch) Usable(app fleet.App, role string) int32 {
	var usable int32
	for _, id := range pool.Resolve(&app, role, d.owners[app.Owner] > 0).Tries() {
		usable += d.index.Look(id).Usable(role)
	}
	return usable
}

// PromotionFacts reads from the fleet what the checks of a promotion ask about
// a pool, at a moment that may be later than the view's.
func (v *FleetView) PromotionFacts(id string, now fleet.Time, succeeded int64) pool.Facts {
	f := pool.Facts{At: max(now, v.At), Succeeded: succeeded}
	for _, n := range v.Nodes {
		if n.Record.Pool == id && n.Lease != fleet.LeaseLeft {
			f.Nodes = append(f.Nodes, pool.NodeFacts{ID: n.Record.ID, Blocks: n.Reasons, Since: n.Since, BootSince: n.BootSince})
		}
	}
	return f
}
