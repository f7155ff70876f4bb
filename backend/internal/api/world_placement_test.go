package api

import (
	"context"
	"slices"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/shared/ids"
)

// seedPlacement makes an owner's placement on their node.
func (w *world) seedPlacement(owner int64) {
	name := userText(owner)
	w.placed[jobIDOf(owner)] = &record.Placement{
		Spec:  fleet.PlacementSpec{ID: jobIDOf(owner), App: "app-" + name, Owner: owner, Role: "origin", Key: "stream-" + name, Count: 1, TTLMs: fleet.DefaultTTLMs},
		Nodes: []fleet.PlacedOn{{Node: "node-" + name, Pool: fleet.OwnerPool(owner)}}, CreatedAt: worldNow, ExpiresAt: worldNow,
		Decision: record.AppendDecision(nil, &fleet.Decision{Outcome: fleet.OutcomePlaced, Rule: fleet.RuleOwnerPool, Node: "node-" + name}, worldNow),
	}
}

// sees: a placement is of its nodes' pools.
func placementSeen(scope record.Scope, p *record.Placement) bool {
	return slices.ContainsFunc(p.Nodes, func(on fleet.PlacedOn) bool { return scope.Sees(p.Spec.Owner, on.Pool) })
}

func (w *world) Placement(_ context.Context, id ids.JobID, scope record.Scope) (record.Placement, error) {
	if p, ok := w.placed[id]; ok && placementSeen(scope, p) {
		return *p, nil
	}
	return record.Placement{}, none("placement")
}

func (w *world) Placements(_ context.Context, f record.PlacementFilter, _ record.Page) (list []record.Placement, _ error) {
	for _, p := range w.placed {
		on := f.Node == "" || slices.ContainsFunc(p.Nodes, func(n fleet.PlacedOn) bool { return n.Node == f.Node })
		if placementSeen(f.Scope, p) && on && (f.App == "" || f.App == p.Spec.App) && (f.Key == "" || f.Key == p.Spec.Key) && (f.State == nil || *f.State == p.State) {
			list = append(list, *p)
		}
	}
	slices.SortFunc(list, func(a, b record.Placement) int { return b.Spec.ID.Compare(a.Spec.ID) })
	return list, nil
}

// The placements of the world's dispatch loop: on the owner's node, or nowhere.

func (w *world) Place(_ context.Context, ask core.PlacementAsk) (core.Placed, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asks = append(w.asks, ask)
	switch {
	case w.down != nil:
		return core.Placed{}, w.down
	case w.over != "":
		return core.Placed{}, fleet.Errorf(fleet.CodeRateLimited, "it has all the "+w.over+" that it may have")
	case w.exhausted:
		d := &fleet.Decision{Outcome: fleet.OutcomeFailed, Rule: fleet.RuleOwnerPool, Pools: []fleet.Tally{{Pool: "pool-7", Nodes: 3}}}
		d.Pools[0].Rejected[fleet.Draining], d.Pools[0].Rejected[fleet.NoSlots] = 1, 2
		return core.Placed{Exhausted: d}, nil
	case w.refuse != nil:
		return core.Placed{Refused: w.refuse}, nil
	}
	for _, p := range w.placed {
		if p.Spec.App == ask.Spec.App && p.Spec.Role == ask.Spec.Role && p.Spec.Key == ask.Spec.Key && ask.Spec.Key != "" {
			return core.Placed{View: viewOfPlacement(p), Existing: true}, nil
		}
	}
	p := &record.Placement{Spec: *ask.Spec, CreatedAt: worldNow, ExpiresAt: worldNow, Nodes: []fleet.PlacedOn{{Node: "node-" + userText(ask.Spec.Owner), Pool: fleet.OwnerPool(ask.Spec.Owner)}}}
	w.placed[ask.Spec.ID] = p
	if ask.IdempotencyKey != "" {
		w.keys[idempotencyKey{ask.Spec.Submitter, ask.IdempotencyKey}] = record.Idempotent{Placement: ask.Spec.ID, RequestDigest: ask.RequestDigest}
	}
	return core.Placed{View: viewOfPlacement(p)}, nil
}

func viewOfPlacement(p *record.Placement) core.PlacementView {
	return core.PlacementView{Spec: &p.Spec, Row: core.PlacementRow{State: p.State, Nodes: p.Nodes, Fallback: p.Fallback}}
}

func (w *world) RenewPlacement(_ context.Context, id ids.JobID, ttlMs int64) (core.PlacementView, error) {
	p, ok := w.placed[id]
	if !ok || p.State.Ended() {
		return core.PlacementView{}, none("placement")
	}
	view := viewOfPlacement(p)
	view.Row.ExpiresAt = fleet.Time(max(ttlMs, 1))
	return view, w.down
}

func (w *world) ReleasePlacement(_ context.Context, id ids.JobID) (core.PlacementView, error) {
	p, ok := w.placed[id]
	if !ok || p.State.Ended() {
		return core.PlacementView{}, none("placement")
	}
	p.State = fleet.PlacementReleased
	return viewOfPlacement(p), w.down
}

// LiveNodes: memory knows Ann's node from its hello, and Bob's from the database.
func (w *world) LiveNodes(_ context.Context, wanted []string) (map[string]core.NodeView, error) {
	live := map[string]core.NodeView{}
	for _, id := range wanted {
		n, ok := w.nodes[id]
		if !ok {
			continue
		}
		v := core.NodeView{Record: n.NodeRecord, Lease: fleet.LeaseReady}
		if n.Owner == ann {
			v.Report = &fleet.NodeReport{Endpoints: []fleet.Label{{Name: "publish", Value: "https://" + id}}}
		}
		live[id] = v
	}
	return live, w.down
}
