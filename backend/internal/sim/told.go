package sim

import (
	"slices"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

// told is what the core has been told of the fleet, and since when. The checks
// decide by the text of the rules over this, never by the core's own picture.
type told struct {
	apps   map[string][]toldApp
	pools  map[string]toldPool
	owners map[int64][]toldOwner
}

type toldApp struct {
	from Time
	app  fleet.App
	own  []string // the pool of its owner
}

type toldPool struct {
	pool  fleet.Pool
	since Time // in this state
}

// toldOwner is whether a user has a node of their own.
type toldOwner struct {
	from Time
	has  bool
}

// toldNode is a node's record as the core was told it.
type toldNode struct {
	rec    fleet.NodeRecord
	since  Time // in this pool, with these holds, left or not
	self   bool // said goodbye
	counts int64
}

func (t *told) init() {
	t.apps, t.pools, t.owners = map[string][]toldApp{}, map[string]toldPool{}, map[int64][]toldOwner{}
}

func (t *told) putApp(now Time, a fleet.App) {
	list := t.apps[a.ID]
	if len(list) > 0 && a.Version < list[len(list)-1].app.Version {
		return
	}
	if len(list) == 0 || !sameApp(&list[len(list)-1].app, &a) {
		t.apps[a.ID] = append(list, toldApp{now, a, []string{fleet.OwnerPool(a.Owner)}})
		return
	}
	list[len(list)-1].app.Version = a.Version
}

func sameApp(a, b *fleet.App) bool {
	return a.Owner == b.Owner && slices.EqualFunc(a.Bindings, b.Bindings, func(x, y fleet.Binding) bool {
		return x.Role == y.Role && x.AllowFallback == y.AllowFallback && slices.Equal(x.Pools, y.Pools)
	})
}

func (t *told) putPool(now Time, p fleet.Pool) {
	old, known := t.pools[p.ID]
	if known && p.Version < old.pool.Version {
		return
	}
	if known && old.pool.State == p.State {
		t.pools[p.ID] = toldPool{p, old.since}
		return
	}
	t.pools[p.ID] = toldPool{p, now}
}

// putNode takes a record as the core takes it: what it says of the node itself
// may be older than what a newer session has told.
func (t *told) putNode(n *node, rec fleet.NodeRecord) {
	old := n.told
	if rec.Version < old.rec.Version {
		return
	}
	if rec.Epoch < old.rec.Epoch {
		rec.Epoch, rec.BootID, rec.Capacity = old.rec.Epoch, old.rec.BootID, old.rec.Capacity
		rec.Backend, rec.Runners, rec.Region = old.rec.Backend, old.rec.Runners, old.rec.Region
	}
	rec.Holds = append(slices.DeleteFunc(slices.Clone(rec.Holds), isAuto), slices.DeleteFunc(slices.Clone(old.rec.Holds), func(h fleet.Hold) bool { return !isAuto(h) })...)
	t.set(n, rec)
}

func isAuto(h fleet.Hold) bool { return h.Owner == fleet.OwnerAuto }

func (t *told) set(n *node, rec fleet.NodeRecord) {
	if n.told.rec.Pool != rec.Pool || n.told.rec.Left != rec.Left || len(n.told.rec.Holds) != len(rec.Holds) {
		n.told.since = n.w.now
	}
	n.told.rec = rec
	t.count(n)
}

// count keeps which users have nodes of their own: in any pool but unassigned, in
// any state but left.
func (t *told) count(n *node) {
	rec := &n.told.rec
	owner := rec.Owner
	if rec.Pool == fleet.PoolUnassigned || rec.Left {
		owner = 0
	}
	if owner == n.told.counts {
		return
	}
	before := n.told.counts
	n.told.counts = owner
	for _, o := range []int64{before, owner} {
		if o == 0 {
			continue
		}
		has := slices.ContainsFunc(n.w.nodes, func(other *node) bool { return other.told.counts == o })
		list := t.owners[o]
		if len(list) == 0 || list[len(list)-1].has != has {
			t.owners[o] = append(list, toldOwner{n.w.now, has})
		}
	}
}

// load is a whole new picture.
func (t *told) load(w *World, snap *core.Snapshot) {
	for _, p := range snap.Pools {
		t.putPool(w.now, p)
	}
	for _, a := range snap.Apps {
		t.putApp(w.now, a)
	}
	for _, rec := range snap.Nodes {
		n := w.named[rec.ID]
		rec.Holds = slices.Clone(rec.Holds)
		t.set(n, rec)
	}
}

// crashed forgets what only the process knew.
func (t *told) crashed(w *World) {
	for _, n := range w.nodes {
		n.told.self = false
	}
}

func (t *told) reported(n *node, rec *fleet.NodeRecord) {
	n.told.rec.Epoch, n.told.rec.BootID, n.told.rec.Capacity = rec.Epoch, rec.BootID, rec.Capacity
	n.told.rec.Runners, n.told.rec.Backend, n.told.rec.Region = rec.Runners, rec.Backend, rec.Region
}

// goodbye: a node that stops gets no more work until its next session.
func (t *told) goodbye(n *node) { n.told.self, n.told.since = true, n.w.now }

func (t *told) hello(n *node) { n.told.self = false }

// chains gives the resolutions of an app's work at a moment, all of them where
// they changed in that very millisecond.
func (t *told) chains(spec *fleet.JobSpec, at Time) func(yield func(chain) bool) {
	return func(yield func(chain) bool) {
		if spec.Pool != "" {
			yield(chain{rule: fleet.RuleCanary, pools: []string{spec.Pool}})
			return
		}
		apps := t.apps[spec.App]
		for i := range apps {
			if apps[i].from > at || i+1 < len(apps) && apps[i+1].from < at {
				continue
			}
			for has := range t.owned(apps[i].app.Owner, at) {
				if !yield(apps[i].resolve(spec.Role, has)) {
					return
				}
			}
		}
	}
}

// newest gives the last of them; false: nobody told of the app.
func (t *told) newest(spec *fleet.JobSpec, at Time) (c chain, known bool) {
	for c = range t.chains(spec, at) {
		known = true
	}
	return c, known
}

// owned gives whether a user has a node of their own, likewise.
func (t *told) owned(owner int64, at Time) func(yield func(bool) bool) {
	return func(yield func(bool) bool) {
		periods := t.owners[owner]
		if len(periods) == 0 || periods[0].from >= at {
			if !yield(false) {
				return
			}
		}
		for i := range periods {
			if periods[i].from <= at && (i+1 == len(periods) || periods[i+1].from >= at) && !yield(periods[i].has) {
				return
			}
		}
	}
}

// chain is where work may run, by the text of the rules.
type chain struct {
	rule     fleet.ResolutionRule
	pools    []string
	fallback bool
}

// resolve says the rules once more, and differently from the core.
func (a *toldApp) resolve(role string, hasNode bool) chain {
	app := &a.app
	for _, r := range []string{role, ""} {
		for _, b := range app.Bindings {
			if b.Role == r {
				pools := slices.DeleteFunc(slices.Clone(b.Pools), func(p string) bool { return p == fleet.PoolUnassigned })
				return chain{fleet.RuleBinding, pools, b.AllowFallback}
			}
		}
	}
	if app.Owner == 0 {
		return chain{fleet.RuleNoOwner, []string{fleet.PoolDefault}, false}
	}
	return chain{fleet.RuleOwnerPool, a.own, !hasNode}
}

// allows reports whether work of the chain may run in the pool, and whether that
// is by fallback.
func (c *chain) allows(pool string) (ok, fallback bool) {
	if pool == fleet.PoolUnassigned {
		return false, false
	}
	if slices.Contains(c.pools, pool) {
		return true, false
	}
	return c.fallback && pool == fleet.PoolDefault, true
}
