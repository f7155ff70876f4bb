package api

import (
	"context"
	"slices"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/enroll"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/view"
)

// seedPools makes the built-in pools, those of the users, and a canary pool.
func (w *world) seedPools() {
	w.pools, w.bindings = map[string]fleet.Pool{}, map[string][]fleet.Binding{}
	w.roles = []record.Role{{Name: "edge", BuiltIn: true}, {Name: "worker", BuiltIn: true}}
	for id, kind := range map[string]fleet.PoolKind{
		"default": fleet.KindDefault, "unassigned": fleet.KindUnassigned, "canary-1": fleet.KindNamed,
		"pool-1": fleet.KindUser, "pool-7": fleet.KindUser, "pool-8": fleet.KindUser, "pool-9": fleet.KindUser,
	} {
		w.pools[id] = fleet.Pool{ID: id, Name: id, Kind: kind, State: fleet.PoolActive, Thresholds: fleet.DefaultThresholds(), Version: 3}
	}
}

func (w *world) Pool(_ context.Context, id string) (fleet.Pool, error) {
	if pool, ok := w.pools[id]; ok {
		return pool, nil
	}
	return fleet.Pool{}, none("pool")
}

func (w *world) ThresholdsChanged(_ context.Context, pool string) (*record.Change, error) {
	if pool != fleet.PoolDefault {
		return &record.Change{At: worldNow, By: "admin"}, nil
	}
	return nil, nil
}

func (w *world) CreatePool(_ context.Context, actor record.Actor, pool fleet.Pool, _ string) (fleet.Pool, error) {
	w.actors = append(w.actors, actor)
	if _, taken := w.pools[pool.ID]; taken {
		return pool, fleet.Errorf(fleet.CodeConflict, "the pool exists")
	}
	pool.Kind, pool.State, pool.Version = fleet.KindNamed, fleet.PoolActive, 1
	w.pools[pool.ID] = pool
	return pool, nil
}

// changeable is a pool that may be changed, at that version.
func (w *world) changeable(id string, ifVersion *int64) (fleet.Pool, error) {
	pool, ok := w.pools[id]
	switch {
	case !ok:
		return pool, none("pool")
	case ifVersion != nil && *ifVersion != pool.Version:
		return pool, fleet.Errorf(fleet.CodePreconditionFail, "it has changed")
	case pool.Kind == fleet.KindDefault, pool.Kind == fleet.KindUnassigned:
		return pool, fleet.Errorf(fleet.CodeConflict, "it is built in")
	}
	return pool, nil
}

func (w *world) ChangePool(_ context.Context, actor record.Actor, id string, edit func(*fleet.Pool) error, _ string, ifVersion *int64) (fleet.Pool, error) {
	w.actors = append(w.actors, actor)
	pool, err := w.changeable(id, ifVersion)
	if err == nil {
		err = edit(&pool)
	}
	if err != nil {
		return fleet.Pool{}, err
	}
	pool.Version++
	w.pools[id] = pool
	return pool, nil
}

func (w *world) DeletePool(_ context.Context, actor record.Actor, id, _ string, ifVersion *int64) error {
	w.actors = append(w.actors, actor)
	pool, err := w.changeable(id, ifVersion)
	if err == nil && pool.Kind == fleet.KindUser {
		err = fleet.Errorf(fleet.CodeConflict, "it is its user's")
	}
	if err == nil {
		delete(w.pools, id)
	}
	return err
}

func (w *world) Bindings(_ context.Context, app string) ([]fleet.Binding, error) {
	return w.bindings[app], nil
}

func (w *world) BindingsOf(context.Context, []string) (map[string][]fleet.Binding, error) {
	return w.bindings, nil
}

func (w *world) PutBinding(_ context.Context, actor record.Actor, id string, b fleet.Binding, _ string, ifVersion *int64) (fleet.App, int64, error) {
	w.actors = append(w.actors, actor)
	app, ok := w.apps[id]
	switch {
	case !ok:
		return fleet.App{}, 0, none("app")
	case ifVersion != nil && *ifVersion != app.Version:
		return fleet.App{}, 0, fleet.Errorf(fleet.CodePreconditionFail, "it has changed")
	}
	w.bindings[id] = slices.DeleteFunc(w.bindings[id], func(old fleet.Binding) bool { return old.Role == b.Role })
	if len(b.Pools) > 0 {
		w.bindings[id] = append(w.bindings[id], b)
	}
	app.Version++
	w.apps[id] = app
	return fleet.App{ID: id, Owner: app.Owner, Bindings: w.bindings[id]}, app.Version, nil
}

func (w *world) Roles(context.Context) ([]record.Role, error) { return w.roles, nil }

func (w *world) CreateRole(_ context.Context, actor record.Actor, name, _ string) (record.Role, error) {
	w.actors = append(w.actors, actor)
	role := record.Role{Name: name}
	if slices.ContainsFunc(w.roles, func(r record.Role) bool { return r.Name == name }) {
		return role, fleet.Errorf(fleet.CodeConflict, "the role exists")
	}
	w.roles = append(w.roles, role)
	return role, nil
}

func (w *world) CreateNode(_ context.Context, actor record.Actor, node record.Node, _ enroll.Sum) (record.Node, error) {
	w.actors = append(w.actors, actor)
	if _, taken := w.nodes[node.ID]; taken {
		return node, fleet.Errorf(fleet.CodeNodeIDTaken, "the node exists")
	}
	node.Pool, node.Version, node.CreatedAt = fleet.PoolDefault, 1, worldNow
	if node.Owner != 0 {
		node.Pool = fleet.OwnerPool(node.Owner)
	}
	w.nodes[node.ID] = &node
	return node, nil
}

func (w *world) DrainNode(_ context.Context, actor record.Actor, id string, _ *time.Time, reason string, ifVersion *int64) (fleet.NodeRecord, error) {
	w.actors = append(w.actors, actor)
	n, ok := w.nodes[id]
	if !ok {
		return fleet.NodeRecord{}, none("node")
	}
	if ifVersion != nil && *ifVersion != n.Version {
		return fleet.NodeRecord{}, fleet.Errorf(fleet.CodePreconditionFail, "it has changed")
	}
	n.Holds = []fleet.Hold{{Kind: fleet.HoldDrain, Owner: fleet.OwnerOperator, Actor: actor.Subject, Reason: reason}}
	n.Version++
	return n.NodeRecord, nil
}

// The previews of the world's dispatch loop. Each app resolves to its owner's pool.

func (w *world) Resolvers(_ context.Context, pool string) (list []core.Resolver, _ error) {
	for _, id := range sortedKeys(w.apps) {
		if app := w.apps[id]; fleet.OwnerPool(app.Owner) == pool {
			list = append(list, core.Resolver{App: id, Owner: app.Owner, Rule: fleet.RuleOwnerPool})
		}
	}
	return list, w.down
}

func (w *world) Candidates(_ context.Context, spec *fleet.JobSpec) (core.Candidates, error) {
	pool := fleet.OwnerPool(spec.Owner)
	found := core.Candidates{
		Decision: fleet.Decision{
			Outcome: fleet.OutcomePlaced, Rule: fleet.RuleOwnerPool, Pools: []fleet.Tally{{Pool: pool, Nodes: 2, Candidates: 1}}, Node: "node-b", RemainingSlots: 3,
		},
		Nodes: []core.NodeReasons{
			{Node: "node-a", Pool: pool, Reasons: []fleet.Reason{fleet.Draining, fleet.NoSlots}},
			{Node: "node-b", Pool: pool},
		},
	}
	found.Decision.Pools[0].Rejected[fleet.Draining] = 1
	if w.exhausted {
		found.Decision.Outcome, found.Decision.Node = fleet.OutcomeWaiting, ""
		found.Decision.Pools, found.Nodes = []fleet.Tally{{Pool: pool}}, nil
	}
	return found, w.down
}

// PoolHistory implements Histories: each pool of the loop was there a minute ago.
func (w *world) PoolHistory(ctx context.Context, pool string) []view.PoolPoint {
	now, err := loop{w}.Fleet(ctx)
	if err != nil || !slices.ContainsFunc(now.Pools, func(p core.PoolView) bool { return p.Pool.ID == pool }) {
		return nil
	}
	return []view.PoolPoint{{At: worldNow.Add(-time.Minute), Used: 3, OutOfUse: 1, Total: 8, Queued: 2}, {At: worldNow, Used: 4, Total: 8}}
}

func (w *world) Impact(_ context.Context, p core.Proposal) (core.Impact, error) {
	w.proposals = append(w.proposals, p)
	impact := core.Impact{At: 1, Waiting: 2, Running: []core.Held{{Running: core.Running{Job: jobIDOf(ann), Attempt: 1, Phase: core.PhaseRunning, Percent: 40}}}}
	for _, owner := range []int64{ann, bob} {
		name := userText(owner)
		impact.Pools = append(impact.Pools, core.PoolImpact{Pool: "pool-" + name, UsableBefore: 1, SlotsBefore: 4, FreeBefore: 3, Slots: 4, OutOfUse: 3})
		impact.Apps = append(impact.Apps, core.AppImpact{App: "app-" + name, Role: "worker", Owner: owner, UsableBefore: 1, Waiting: 2})
	}
	return impact, w.down
}

func (w *world) Alignment(context.Context) (core.Alignment, error) {
	var a core.Alignment
	for _, owner := range []int64{ann, bob} {
		pool := fleet.OwnerPool(owner)
		a.Apps = append(a.Apps, core.Misaligned{App: "app-" + userText(owner), Owner: owner, Rule: fleet.RuleOwnerPool, Pools: []string{pool}, Elsewhere: 2})
		a.Pools = append(a.Pools, core.UnresolvedPool{Pool: pool, Kind: fleet.KindUser, Nodes: 1})
	}
	return a, w.down
}

func (w *world) Usable(context.Context, fleet.App, string) (int32, error) { return 1, w.down }

func (w *world) RemovePool(context.Context, string) error { return w.down }

func (w *world) CanaryJobs(context.Context, string, time.Time) (int64, error) {
	return w.canaryJobs, nil
}

func (w *world) MoveNodes(_ context.Context, actor record.Actor, from, to string, nodes []string, _, _ string) (moved []fleet.NodeRecord, _ error) {
	w.actors = append(w.actors, actor)
	for _, id := range nodes {
		n := w.nodes[id]
		if n == nil || n.Pool != from {
			return nil, fleet.Errorf(fleet.CodeConflict, id+" is not in "+from)
		}
		n.Pool, n.Version = to, n.Version+1
		moved = append(moved, n.NodeRecord)
	}
	return moved, nil
}

func (w *world) Usage(_ context.Context, since, until time.Time, f record.UsageFilter) (list []record.Usage, _ error) {
	w.window = [2]time.Time{since, until}
	for _, owner := range []int64{ann, bob} {
		row := record.Usage{Day: worldNow.Truncate(24 * time.Hour), App: "app-" + userText(owner), Pool: fleet.OwnerPool(owner), Attempts: 2, SlotSeconds: 90}
		if f.Sees(owner, row.Pool) && (f.App == "" || f.App == row.App) && (f.Pool == "" || f.Pool == row.Pool) {
			list = append(list, row)
		}
	}
	return list, nil
}

func (w *world) AuditIsolation(_ context.Context, since *time.Time) (record.Isolation, error) {
	w.since = since
	return record.Isolation{
		From: since, Jobs: 2, Attempts: 3, Fallbacks: 1, Found: 1, Tolerance: time.Second,
		Crossings: []record.Crossing{{Job: jobIDOf(ann), Attempt: 1, Node: "node-8", Pool: "pool-8", Detail: "its decision names pool-7"}},
	}, nil
}
