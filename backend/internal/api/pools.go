package api

import (
	"net/http"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
)

func (a *API) listPools(c *call) error {
	page, err := c.page(afterName)
	if err != nil {
		return err
	}
	view, err := a.dispatch.Fleet(c.ctx())
	if err != nil {
		return err
	}
	sees := c.poolFilter(view)
	rows := make([]core.PoolView, 0, page.Limit)
	for _, pool := range view.Pools {
		if pool.Pool.ID > page.After && sees(pool.Pool.ID) && len(rows) < page.Limit {
			rows = append(rows, pool)
		}
	}
	key := func(p *core.PoolView) string { return p.Pool.ID }
	return c.JSON(http.StatusOK, listOf(rows, page, key, poolDoc))
}

func (a *API) getPool(c *call) error {
	id, err := c.named("pool")
	if err != nil {
		return err
	}
	view, err := a.dispatch.Fleet(c.ctx())
	if err != nil {
		return err
	}
	sees := c.poolFilter(view)
	for i := range view.Pools {
		if view.Pools[i].Pool.ID == id && sees(id) {
			return c.JSON(http.StatusOK, poolDoc(&view.Pools[i]))
		}
	}
	return notFound("pool")
}

// poolFilter tells which pools the caller sees: a user their own, the shared
// one, and those that their nodes are in.
func (c *call) poolFilter(view *core.FleetView) func(pool string) bool {
	owner := c.owner()
	if owner == nil {
		return func(string) bool { return true }
	}
	mine := map[string]bool{fleet.OwnerPool(*owner): true, fleet.PoolDefault: true}
	for i := range view.Nodes {
		if node := &view.Nodes[i].Record; node.Owner == *owner {
			mine[node.Pool] = true
		}
	}
	return func(pool string) bool { return mine[pool] }
}

func poolDoc(p *core.PoolView) rest.Pool {
	return rest.Pool{
		ID: p.Pool.ID, Name: p.Pool.Name, Kind: string(p.Pool.Kind), State: string(p.Pool.State), Nodes: int(p.Nodes),
		Leases: rest.LeaseCounts{
			New: int(p.New), Ready: int(p.Ready), Suspect: int(p.Suspect), Lost: int(p.Lost), Left: int(p.Left),
		},
		Held: int(p.Held), TotalSlots: p.SlotsTotal, FreeSlots: p.SlotsFree, Running: int(p.Running), Queued: int(p.Queued),
	}
}
