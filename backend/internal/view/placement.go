package view

import (
	"slices"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/shared/wire"
)

// placements are those that last, by id.
type placements map[string]core.PlacementView

// take brings them up to an answer of the loop. It is urgent that one comes, goes or
// is drained, not that it is renewed.
func (p placements) take(c *core.Changes) (list []changed) {
	if c.WholePlacements {
		list = p.forget(c.Placements)
	}
	for i := range c.Placements {
		now := &c.Placements[i]
		id := now.Spec.ID.String()
		was, there := p[id]
		if now.Row.State.Ended() {
			delete(p, id)
		} else {
			p[id] = *now
		}
		list = append(list, changed{id, !there || was.Row.State != now.Row.State})
	}
	return list
}

// forget drops those that are not among these.
func (p placements) forget(there []core.PlacementView) (gone []changed) {
	for id := range p {
		if !slices.ContainsFunc(there, func(v core.PlacementView) bool { return v.Spec.ID.String() == id }) {
			delete(p, id)
			gone = append(gone, changed{id, true})
		}
	}
	return gone
}

// count is how many are there within a scope.
func (p placements) count(scope record.Scope) (n int64) {
	if scope.All() {
		return int64(len(p))
	}
	for _, v := range p {
		if seesPlacement(scope, &v) {
			n++
		}
	}
	return n
}

func (v *View) placementRow(all *rows, f *feed, id string, l *look) bool {
	p, there := v.state.placed[id]
	if !there || !seesPlacement(f.scope, &p) {
		return false
	}
	all.placements = append(all.placements, placementRow(&p, v.cfg.Source.WallAt, l.at))
	return true
}

// seesPlacement reports one that is there within a scope: of the owner's app, or on a
// node of a pool that the scope names.
func seesPlacement(scope record.Scope, p *core.PlacementView) bool {
	return slices.ContainsFunc(p.Row.Nodes, func(on fleet.PlacedOn) bool { return scope.Sees(p.Spec.Owner, on.Pool) })
}

func placementRow(p *core.PlacementView, wall func(fleet.Time) time.Time, at fleet.Time) wire.PlacementRow {
	row := wire.PlacementRow{
		ID: p.Spec.ID.String(), App: p.Spec.App, Role: p.Spec.Role, Key: p.Spec.Key, Purpose: p.Spec.Purpose,
		State: p.Row.State.String(), Slots: p.Spec.Demands.Slots, Fallback: p.Row.Fallback,
		CreatedAt: wallMillis(p.Row.CreatedAt, wall), Left: max(0, left(p.Row.ExpiresAt, at)),
	}
	for _, on := range p.Row.Nodes {
		row.Nodes = append(row.Nodes, on.Node)
		row.Pools = append(row.Pools, on.Pool)
	}
	return row
}
