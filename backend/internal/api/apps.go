package api

import (
	"context"
	"net/http"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
	"rockpool/shared/ids"
)

func (a *API) listApps(c *call) error {
	page, err := c.page(afterName)
	if err != nil {
		return err
	}
	rows, err := a.appRows(c, page)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, listOf(rows, page, appID, appDoc))
}

func appID(r *record.App) string { return r.ID }

// appRows reads on, page by page, until apps that the caller may see fill one page.
func (a *API) appRows(c *call, page record.Page) ([]record.App, error) {
	if len(c.scope.Pools) == 0 {
		return a.store.Apps(c.ctx(), c.owner(), page)
	}
	sees, err := a.appFilter(c)
	if err != nil {
		return nil, err
	}
	seen := make([]record.App, 0, page.Limit)
	for read := (record.Page{Limit: record.MaxPage, After: page.After}); ; {
		rows, err := a.store.Apps(c.ctx(), nil, read)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			if sees(rows[i].ID, rows[i].Owner) {
				seen = append(seen, rows[i])
			}
			if len(seen) == page.Limit {
				return seen, nil
			}
		}
		if len(rows) < read.Limit {
			return seen, nil
		}
		read.After = rows[len(rows)-1].ID
	}
}

// appFilter tells which apps the caller sees: their own, and those that resolve to
// a pool of which they have a role, by more than fallback.
func (a *API) appFilter(c *call) (func(app string, owner int64) bool, error) {
	if c.scope.All {
		return func(string, int64) bool { return true }, nil
	}
	resolving := map[string]bool{}
	for _, pool := range c.scope.Pools {
		resolvers, err := a.dispatch.Resolvers(c.ctx(), pool)
		if err != nil {
			return nil, err
		}
		for _, r := range resolvers {
			if !r.Fallback {
				resolving[r.App] = true
			}
		}
	}
	return func(app string, owner int64) bool { return c.sees(owner, "") || resolving[app] }, nil
}

// app reads an app that the caller may see; its id is the path's.
func (a *API) app(c *call) (record.App, error) {
	id, err := c.named("app")
	if err != nil {
		return record.App{}, err
	}
	row, err := a.store.App(c.ctx(), id)
	if isNotFound(err) {
		return row, notFound("app")
	}
	if err != nil || c.sees(row.Owner, "") {
		return row, err
	}
	sees, err := a.appFilter(c)
	if err == nil && !sees(id, row.Owner) {
		err = notFound("app")
	}
	return row, err
}

func (a *API) getApp(c *call) error {
	row, err := a.app(c)
	if err != nil {
		return err
	}
	c.Response().Header().Set("ETag", etag(row.Version))
	return c.JSON(http.StatusOK, appDoc(&row))
}

// setShare gives an app another weight and other bounds: the very next decision uses
// them.
func (a *API) setShare(c *call, in *rest.ShareRequest) error {
	version, err := c.ifMatch()
	if err != nil {
		return err
	}
	if err := checkLine("reason", in.Reason, maxReason); err != nil {
		return err
	}
	row, err := a.app(c)
	if err != nil {
		return err
	}
	app, after, err := a.store.SetShare(c.ctx(), c.actor(), row.ID, fleet.Share(in.Share), in.Reason, version)
	if err != nil {
		return err
	}
	if err := a.dispatch.PutApp(context.WithoutCancel(c.ctx()), app); err != nil {
		return err
	}
	row.Share, row.Version = app.Share, after
	c.Response().Header().Set("ETag", etag(after))
	return c.JSON(http.StatusOK, appDoc(&row))
}

func (a *API) createApp(c *call, in *rest.AppRequest) error {
	if err := ids.CheckName(in.ID); err != nil {
		return badRequest("id: %s", err)
	}
	app := record.App{ID: in.ID}
	if in.Owner != nil {
		owner, err := a.existingUser(c, "owner", *in.Owner)
		if err != nil {
			return err
		}
		app.Owner = owner
	}
	row, err := a.store.CreateApp(c.ctx(), c.actor(), app)
	if err != nil {
		return err
	}
	told := fleet.App{ID: row.ID, Owner: row.Owner, Version: row.Version, Share: row.Share}
	if err := a.dispatch.PutApp(context.WithoutCancel(c.ctx()), told); err != nil {
		return err
	}
	return c.created("/v1/apps/"+row.ID, appDoc(&row))
}

func appDoc(row *record.App) rest.App {
	return rest.App{ID: row.ID, Owner: ownerText(row.Owner), Share: rest.Share(row.Share), CreatedAt: rest.At(row.CreatedAt), Version: row.Version}
}
