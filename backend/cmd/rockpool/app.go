package main

import (
	"context"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

type appCommand struct {
	Create appCreate `cmd:"" help:"Create an app."`
	List   appList   `cmd:"" help:"List apps."`
	Get    appGet    `cmd:"" help:"Show an app."`
}

type appCreate struct {
	ID    string  `arg:"" help:"App's name."`
	Owner *string `placeholder:"USER" help:"Id of the user that owns it (default: nobody)."`
}

// Run creates the app.
func (c *appCreate) Run(ctx context.Context, d *desk, server *client.Client) error {
	app, err := server.CreateApp(ctx, rest.AppRequest{ID: c.ID, Owner: c.Owner})
	if err != nil {
		return err
	}
	return showApp(d, app)
}

type appList struct{ paging }

// Run lists apps.
func (c *appList) Run(ctx context.Context, d *desk, server *client.Client) error {
	return showList(ctx, d, c.paging, server.Apps, columns("ID", "OWNER", "CREATED"), func(g *grid, a rest.App) {
		g.row(a.ID, a.Owner, a.CreatedAt)
	})
}

type appGet struct {
	ID string `arg:"" help:"App."`
}

// Run shows the app.
func (c *appGet) Run(ctx context.Context, d *desk, server *client.Client) error {
	app, err := server.App(ctx, c.ID)
	if err != nil {
		return err
	}
	return showApp(d, app)
}

func showApp(d *desk, a rest.App) error {
	var g grid
	g.fact("id", a.ID)
	g.fact("owner", a.Owner)
	g.fact("created", a.CreatedAt)
	g.fact("version", a.Version)
	return d.show(a, g)
}
