package api

import (
	"context"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

func (w *world) Node(_ context.Context, id string) (record.Node, error) {
	if n, ok := w.nodes[id]; ok {
		return *n, nil
	}
	return record.Node{}, none("node")
}

func (w *world) NodeInventory(_ context.Context, id string) (*record.Inventory, error) {
	if id != "node-7" {
		return nil, nil
	}
	return &record.Inventory{At: worldNow, Inventory: fleet.Inventory{
		Rev: 3, Platform: "Debian", Memory: []fleet.MemoryDomain{{Name: "ram", Kind: "ram", Total: 2048}},
		Links: []fleet.NodeLink{{Peer: "node-8", Kind: "lan", Bandwidth: 1000}}, DiskTotal: 100, DiskFree: 50, Stale: true,
	}}, nil
}

func (w *world) NodeFacts(_ context.Context, id string) (record.NodeFacts, error) {
	if id != "node-7" {
		return record.NodeFacts{}, nil
	}
	rotated := worldNow.Add(-time.Hour)
	return record.NodeFacts{RotatedAt: &rotated, Seat: 6, Seats: 20}, nil
}

func (w *world) Nodes(_ context.Context, scope record.Scope, p record.Page) ([]record.Node, error) {
	var list []record.Node
	for _, id := range sortedKeys(w.nodes) {
		if n := w.nodes[id]; scope.Sees(n.Owner, n.Pool) && id > p.After && len(list) < p.Limit {
			list = append(list, *n)
		}
	}
	return list, nil
}

func (w *world) MoveNode(_ context.Context, actor record.Actor, node, pool, _ string, ifVersion *int64) (string, fleet.NodeRecord, error) {
	w.actors = append(w.actors, actor)
	n, ok := w.nodes[node]
	if !ok {
		return "", fleet.NodeRecord{}, none("node")
	}
	if ifVersion != nil && *ifVersion != n.Version {
		return "", fleet.NodeRecord{}, fleet.Errorf(fleet.CodePreconditionFail, "it has changed")
	}
	from := n.Pool
	n.Pool, n.Version = pool, n.Version+1
	return from, n.NodeRecord, nil
}

func (w *world) RevokeNode(_ context.Context, actor record.Actor, node, _ string) (fleet.NodeRecord, error) {
	w.actors = append(w.actors, actor)
	if n, ok := w.nodes[node]; ok {
		n.Left = true
		return n.NodeRecord, nil
	}
	return fleet.NodeRecord{}, none("node")
}

func (w *world) LeaveNode(ctx context.Context, actor record.Actor, node, reason string) (fleet.NodeRecord, error) {
	return w.RevokeNode(ctx, actor, node, reason)
}

func (w *world) CordonNode(_ context.Context, actor record.Actor, node, reason string, ifVersion *int64) (fleet.NodeRecord, error) {
	w.actors = append(w.actors, actor)
	if before := w.beforeCordon; before != nil {
		w.beforeCordon = nil
		before()
	}
	n, ok := w.nodes[node]
	if !ok {
		return fleet.NodeRecord{}, none("node")
	}
	if ifVersion != nil && *ifVersion != n.Version {
		return fleet.NodeRecord{}, fleet.Errorf(fleet.CodePreconditionFail, "it has changed")
	}
	n.Holds = []fleet.Hold{{Kind: fleet.HoldCordon, Owner: "operator", Actor: actor.Subject, Reason: reason}}
	n.Version++
	return n.NodeRecord, nil
}

func (w *world) RotateNode(ctx context.Context, actor record.Actor, node, _ string, ifVersion *int64) (fleet.NodeRecord, error) {
	n, ok := w.nodes[node]
	if !ok {
		return fleet.NodeRecord{}, none("node")
	}
	w.actors = append(w.actors, actor)
	n.Identity.Rotation = "r-" + node
	return n.NodeRecord, nil
}

func (w *world) RepairNode(_ context.Context, actor record.Actor, node, keep, _ string, _ *int64) (fleet.NodeRecord, error) {
	n, ok := w.nodes[node]
	if !ok {
		return fleet.NodeRecord{}, none("node")
	}
	if _, there := n.Identity.Claimant(keep); !there {
		return fleet.NodeRecord{}, fleet.Errorf(fleet.CodeConflict, "it is not in quarantine")
	}
	w.actors = append(w.actors, actor)
	n.Identity.Keep, n.Identity.Rotation = keep, "r-"+node
	return n.NodeRecord, nil
}

func (w *world) SetNextSecret(_ context.Context, node, rotation string, sum [32]byte) (fleet.NodeRecord, error) {
	n, ok := w.nodes[node]
	if !ok || rotation == "" || n.Identity.Rotation != rotation {
		return fleet.NodeRecord{}, fleet.Errorf(fleet.CodeConflict, "no such rotation")
	}
	n.Identity.NextSecret = sum
	return n.NodeRecord, nil
}

func (w *world) UncordonNode(_ context.Context, actor record.Actor, node, _ string, _ *int64) (fleet.NodeRecord, error) {
	w.actors = append(w.actors, actor)
	n, ok := w.nodes[node]
	if !ok {
		return fleet.NodeRecord{}, none("node")
	}
	n.Holds = nil
	return n.NodeRecord, nil
}
