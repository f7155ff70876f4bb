package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

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
	return c.JSON(http.StatusOK, listOf(rows, page, key, a.poolDoc))
}

func (a *API) getPool(c *call) error {
	id, err := c.named("pool")
	if err != nil {
		return err
	}
	doc, err := a.readPool(c, id)
	if err != nil {
		return err
	}
	if doc.ThresholdsChanged, err = a.thresholdsChanged(c, id); err != nil {
		return err
	}
	c.Response().Header().Set("ETag", etag(doc.Version))
	return c.JSON(http.StatusOK, doc)
}

// thresholdsChanged is for those who have a role for the pool.
func (a *API) thresholdsChanged(c *call, pool string) (*rest.Change, error) {
	if !c.sees(0, pool) {
		return nil, nil
	}
	last, err := a.store.ThresholdsChanged(c.ctx(), pool)
	if err != nil || last == nil {
		return nil, err
	}
	return &rest.Change{At: rest.At(last.At), By: last.By}, nil
}

// poolHistory is how a pool was until now.
func (a *API) poolHistory(c *call) error {
	id, err := c.named("pool")
	if err != nil {
		return err
	}
	now, err := a.dispatch.Fleet(c.ctx())
	if err != nil {
		return err
	}
	if _, there := poolView(now, id); !there || !c.poolFilter(now)(id) {
		return notFound("pool")
	}
	points := a.histories.PoolHistory(c.ctx(), id)
	doc := rest.List[rest.PoolPoint]{Items: make([]rest.PoolPoint, len(points))}
	for i, p := range points {
		doc.Items[i] = rest.PoolPoint{At: rest.At(p.At), Used: p.Used, OutOfUse: p.OutOfUse, Total: p.Total, Queued: p.Queued, Draining: p.Draining}
	}
	return c.JSON(http.StatusOK, doc)
}

// readPool is a pool that the caller may see, as it is now, with who resolves to it.
func (a *API) readPool(c *call, id string) (*rest.Pool, error) {
	view, err := a.dispatch.Fleet(c.ctx())
	if err != nil {
		return nil, err
	}
	row, there := poolView(view, id)
	if !there || !c.poolFilter(view)(id) {
		return nil, notFound("pool")
	}
	resolvers, err := a.dispatch.Resolvers(c.ctx(), id)
	if err != nil {
		return nil, err
	}
	doc := a.poolDoc(row)
	doc.Sharing = sharingOf(resolvers)
	for i := range resolvers {
		// Whoever may see the pool as a neighbor only is told of their own apps.
		if r := &resolvers[i]; c.sees(r.Owner, id) {
			doc.Resolvers = append(doc.Resolvers, resolverDoc(r))
		}
	}
	return &doc, nil
}

// releasePool lets the work of a pool's silent nodes go elsewhere before its mass loss
// ends by itself.
func (a *API) releasePool(c *call, in *rest.ReasonRequest) error {
	id, err := c.named("pool")
	if err != nil {
		return err
	}
	if err := checkLine("reason", in.Reason, maxReason); err != nil {
		return err
	}
	if _, err := a.readPool(c, id); err != nil {
		return err
	}
	err = a.dispatch.ReleasePool(c.ctx(), id, c.by(), in.Reason)
	if isNotFound(err) {
		return fleet.Errorf(fleet.CodeConflict, "no mass loss stands in pool "+id)
	}
	if err != nil {
		return err
	}
	doc, err := a.readPool(c, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, doc)
}

// poolView is a pool as it is now.
func poolView(now *core.FleetView, id string) (row *core.PoolView, there bool) {
	at := slices.IndexFunc(now.Pools, func(p core.PoolView) bool { return p.Pool.ID == id })
	if at < 0 {
		return nil, false
	}
	return &now.Pools[at], true
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
	for _, n := range view.Nodes {
		if node := &n.Record; node.Owner == user {
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

func (a *API) poolDoc(p *core.PoolView) rest.Pool {
	return rest.Pool{
		ID: p.Pool.ID, Name: p.Pool.Name, Kind: string(p.Pool.Kind), State: string(p.Pool.State), Nodes: int(p.Nodes),
		Leases: rest.LeaseCounts{
			New: int(p.New), Ready: int(p.Ready), Suspect: int(p.Suspect), Lost: int(p.Lost), Left: int(p.Left),
		},
		Held: int(p.Held), TotalSlots: p.SlotsTotal, FreeSlots: p.SlotsFree, Running: int(p.Running), Queued: int(p.Queued),
		Overdue: int(p.Overdue), Canary: p.Canary, Thresholds: thresholdsDoc(p.Pool.Thresholds),
		MassLossSince: rest.AtPtr(a.wall(p.MassLoss)), Version: p.Pool.Version,
	}
}

func thresholdsDoc(t fleet.Thresholds) rest.Thresholds {
	wait := time.Duration(t.QueueWaitMs) * time.Millisecond
	return rest.Thresholds{QueueWait: rest.Duration(wait), FreeSlots: t.FreeSlots, NotReadyPct: t.NotReadyPct}
}

func resolverDoc(r *core.Resolver) rest.Resolver {
	return rest.Resolver{
		App: r.App, Owner: ownerText(r.Owner), Role: r.Role, Rule: string(r.Rule), Place: r.Place, Fallback: r.Fallback,
		Allowed: r.Allowed, Running: int64(r.Running),
	}
}

// sharingOf counts the apps and owners that share a pool; an app without an owner
// counts as one more owner: nobody.
func sharingOf(resolvers []core.Resolver) *rest.Sharing {
	apps, owners, byFallback := map[string]bool{}, map[int64]bool{}, map[string]bool{}
	for _, r := range resolvers {
		if r.Fallback {
			byFallback[r.App] = true
			continue
		}
		apps[r.App], owners[r.Owner] = true, true
	}
	s := &rest.Sharing{Apps: len(apps), Owners: len(owners)}
	var text strings.Builder
	switch {
	case s.Apps == 0:
		text.WriteString("no app resolves here")
	case s.Apps == 1:
		text.WriteString("one app only")
	default:
		fmt.Fprintf(&text, "shared by %d apps of %s", s.Apps, counted(s.Owners, "owner"))
	}
	more := 0
	for app := range byFallback {
		if !apps[app] {
			more++
		}
	}
	if more > 0 {
		fmt.Fprintf(&text, "; %s more by fallback", counted(more, "app"))
	}
	s.Text = text.String()
	return s
}

// counted is a number with its noun: 1 owner, 2 owners.
func counted[N int | int32 | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
