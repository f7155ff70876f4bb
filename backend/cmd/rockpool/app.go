package main

import (
	"cmp"
	"context"
	"errors"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

type appCommand struct {
	Create     appCreate     `cmd:"" help:"Create an app."`
	List       appList       `cmd:"" help:"List apps."`
	Get        appGet        `cmd:"" help:"Show an app."`
	Share      appShare      `cmd:"" help:"Set an app's weight and bounds; what is not named stays."`
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
	return showCandidates(d)(server.Candidates(ctx, c.ID, client.Preview{
		Role: c.Role, Runner: c.Runner, Backend: c.Backend, Region: c.Region, Slots: c.Slots,
	}))
}

type appShare struct {
	ID            string `arg:"" help:"App."`
	Weight        *int32 `placeholder:"N" help:"Its weight against other apps that wait for the same pool: 1 to 1000, 100 is usual."`
	MaxOpenJobs   *int64 `placeholder:"N" help:"Open jobs at most; a submit past it is refused. 0: no bound."`
	MaxPlacements *int64 `placeholder:"N" help:"Placements at most; one past it is refused. 0: no bound."`
	MaxSlots      *int64 `placeholder:"N" help:"Slots of jobs and placements together; past it jobs wait and placements are refused. 0: no bound."`
	Reason        string `placeholder:"TEXT" help:"Why, for the audit entry."`
	Version       int64  `placeholder:"N" help:"Only if the app's version is still N (default: whatever it is)."`
}

// Validate refuses a change of nothing.
func (c *appShare) Validate() error {
	if c.Weight == nil && c.MaxOpenJobs == nil && c.MaxPlacements == nil && c.MaxSlots == nil {
		return errors.New("say what to set: --weight, --max-open-jobs, --max-placements or --max-slots")
	}
	return nil
}

// Run puts what the flags say over the app's share, which the API takes as one; the
// change counts for that version of the app alone.
func (c *appShare) Run(ctx context.Context, d *desk, server *client.Client) error {
	app, err := server.App(ctx, c.ID)
	if err != nil {
		return err
	}
	share := app.Share
	assign(&share.Weight, c.Weight)
	assign(&share.MaxOpenJobs, c.MaxOpenJobs)
	assign(&share.MaxPlacements, c.MaxPlacements)
	assign(&share.MaxSlots, c.MaxSlots)
	app, err = server.SetShare(ctx, c.ID, rest.ShareRequest{Share: share, Reason: c.Reason}, cmp.Or(c.Version, app.Version))
	if err != nil {
		return err
	}
	return showApp(d, app)
}

// assign puts a flag that was given over a value.
func assign[T any](into *T, flag *T) {
	if flag != nil {
		*into = *flag
	}
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
