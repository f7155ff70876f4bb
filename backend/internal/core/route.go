package core

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/pool"
	"rockpool/backend/internal/core/schedule"
)

// routeKey tells apart the work that resolves alike. The owner counts only for
// an app that nobody told of, and of a canary job nothing but the pool it names.
type routeKey struct {
	app    string
	owner  int64
	role   string
	canary string
}

func keyOf(spec *fleet.JobSpec) routeKey {
	if spec.Pool != "" {
		return routeKey{canary: spec.Pool}
	}
	return routeKey{app: spec.App, owner: spec.Owner, role: spec.Role}
}

// route is a resolution that is kept until something of it changes.
type route struct {
	key   routeKey
	chain pool.Chain
	tries []string
	pools []*schedule.Pool // of tries

	cohort *cohort // of the work that came last; nil: none did yet
}

// appOf gives the work's app; of one that nobody told of, what the job knows.
func (d *Dispatch) appOf(spec *fleet.JobSpec) fleet.App { return d.appNamed(spec.App, spec.Owner) }

func (d *Dispatch) appNamed(id string, owner int64) fleet.App {
	if a := d.apps[id]; a != nil {
		return *a
	}
	return fleet.App{ID: id, Owner: owner}
}

// chainIf resolves the work if users had so many nodes of their own.
func (d *Dispatch) chainIf(key routeKey, owners map[int64]int32) pool.Chain {
	if key.canary != "" {
		return pool.Canary(key.canary)
	}
	app := d.appNamed(key.app, key.owner)
	return pool.Resolve(&app, key.role, owners[app.Owner] > 0)
}

// routeOf gives a job's route.
func (d *Dispatch) routeOf(spec *fleet.JobSpec) *route { return d.routeBy(keyOf(spec)) }

// routeBy gives the work's route and keeps it for the next that resolves alike.
func (d *Dispatch) routeBy(key routeKey) *route {
	if r := d.route; r != nil && r.key == key {
		return r
	}
	r := d.routes[key]
	if r == nil {
		r = newRoute(key, d.chainIf(key, d.owners), d.index.Pool)
		d.routes[key] = r
	}
	d.route = r
	return r
}

// unroute forgets what was resolved.
func (d *Dispatch) unroute() {
	clear(d.routes)
	d.route = nil
}

// quietRoute is routeBy for whoever only looks: it keeps nothing.
func (d *Dispatch) quietRoute(key routeKey) *route {
	if r := d.routes[key]; r != nil {
		return r
	}
	return newRoute(key, d.chainIf(key, d.owners), d.index.Look)
}

func newRoute(key routeKey, chain pool.Chain, find func(id string) *schedule.Pool) *route {
	r := &route{key: key, chain: chain, tries: chain.Tries()}
	for _, id := range r.tries {
		r.pools = append(r.pools, find(id))
	}
	return r
}

// reroute resolves the waiting work that matches anew.
func (d *Dispatch) reroute(now fleet.Time, match func(*fleet.JobSpec) bool) {
	d.unroute()
	var moved []*job
	for _, w := range d.queue.All() {
		if j := d.jobs[w.Job]; match(j.spec) {
			moved = append(moved, j)
		}
	}
	d.look.hopes = true
	slices.SortFunc(moved, byWait) // each joins its line at the end
	for _, j := range moved {
		r := d.routeOf(j.spec)
		d.enqueue(now, j, r, j.waits.Since)
		for _, id := range r.tries {
			d.wakePool(id)
		}
	}
}
