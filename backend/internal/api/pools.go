package api

import (
	"net/http"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
	"rockpool/shared/ids"
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

// poolFilter tells which pools the caller sees: those of which they have a role;
// a user their own, the shared one, and those that their nodes are in.
func (c *call) poolFilter(view *core.FleetView) func(pool string) bool {
	if c.scope.All {
		return func(string) bool { return true }
	}
	seen := map[string]bool{}
	for _, pool := range c.scope.Pools {
		seen[pool] = true
	}
	if !c.scope.Own {
		return func(pool string) bool { return seen[pool] }
	}
	user := c.who.User.ID
	seen[fleet.OwnerPool(user)], seen[fleet.PoolDefault] = true, true
	for i := range view.Nodes {
		if node := &view.Nodes[i].Record; node.Owner == user {
			seen[node.Pool] = true
		}
	}
	return func(pool string) bool { return seen[pool] }
}

// existingPool makes sure that a request names a pool that there is.
func (a *API) existingPool(c *call, id string) error {
	if ids.CheckName(id) != nil {
		return badRequest("pool is missing or no name")
	}
	_, err := a.store.Pool(c.ctx(), id)
	if isNotFound(err) {
		return unprocessable("there is no pool %s", id)
	}
	return err
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
