package main

import (
	"context"
	"strings"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

type appCommand struct {
	Create     appCreate     `cmd:"" help:"Create an app."`
	List       appList       `cmd:"" help:"List apps."`
	Get        appGet        `cmd:"" help:"Show an app."`
	Candidates appCandidates `cmd:"" help:"Say where an app's work would go now, and why; it leaves no trace."`
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

type appCandidates struct {
	ID      string `arg:"" help:"App."`
	Role    string `placeholder:"ROLE" help:"Role of the node."`
	Runner  string `placeholder:"RUNNER" help:"What runs the work (default: whichever)."`
	Slots   int64  `placeholder:"N" help:"Slots that it reserves."`
	Backend string `placeholder:"NAME" help:"Backend that its node must have."`
	Region  string `placeholder:"NAME" help:"Region that its node must be in."`
}

// Run prints the root cause, the decision in words, and every reason of every node.
func (c *appCandidates) Run(ctx context.Context, d *desk, server *client.Client) error {
	found, err := server.Candidates(ctx, c.ID, client.Preview{
		Role: c.Role, Runner: c.Runner, Backend: c.Backend, Region: c.Region, Slots: c.Slots,
	})
	if err != nil {
		return err
	}
	return showInWords(d, found, strings.TrimPrefix(found.Hint+"\n"+found.Decision.Text, "\n"), reasonsNow(found.Pools))
}

func showApp(d *desk, a rest.App) error {
	var g grid
	g.fact("id", a.ID)
	g.fact("owner", a.Owner)
	g.fact("weight", positive(int64(a.Share.Weight)))
	g.fact("open jobs at most", positive(a.Share.MaxOpenJobs))
	g.fact("placements at most", positive(a.Share.MaxPlacements))
	g.fact("slots at most", positive(a.Share.MaxSlots))
	g.fact("created", a.CreatedAt)
	g.fact("version", a.Version)
	return d.show(a, g)
}

// positive is a bound, or nothing: 0 is none.
func positive(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}
