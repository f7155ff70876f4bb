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
	rows, err := a.store.Apps(c.ctx(), c.owner(), page)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, listOf(rows, page, func(r *record.App) string { return r.ID }, appDoc))
}

func (a *API) getApp(c *call) error {
	id, err := c.named("app")
	if err != nil {
		return err
	}
	row, err := a.store.App(c.ctx(), id)
	if isNotFound(err) || err == nil && !c.owns(row.Owner) {
		return notFound("app")
	}
	if err != nil {
		return err
	}
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
	if err := a.dispatch.PutApp(context.WithoutCancel(c.ctx()), fleet.App{ID: row.ID, Owner: row.Owner}); err != nil {
		return err
	}
	return c.created("/v1/apps/"+row.ID, appDoc(&row))
}

func appDoc(row *record.App) rest.App {
	return rest.App{ID: row.ID, Owner: ownerText(row.Owner), CreatedAt: rest.At(row.CreatedAt), Version: row.Version}
}
