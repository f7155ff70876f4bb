package main

import (
	"context"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

type usageCommand struct {
	Since string `placeholder:"30d" help:"A day, a time, or how long ago: 2026-11-29, 12h, 30d (default: 30d)."`
	Until string `placeholder:"1d" help:"As --since (default: now)."`
	App   string `placeholder:"APP" help:"Only of this app."`
	Pool  string `placeholder:"POOL" help:"Only in this pool."`
}

// Run adds up what work took.
func (c *usageCommand) Run(ctx context.Context, d *desk, server *client.Client) error {
	read := func(ctx context.Context, _ client.Page) (rest.List[rest.Usage], error) {
		return server.Usage(ctx, client.UsageFilter{Since: c.Since, Until: c.Until, App: c.App, Pool: c.Pool})
	}
	head := columns("DAY", "APP", "POOL", "ATTEMPTS", "SLOT SECONDS", "AS FALLBACK", "PLACEMENTS", "THEIR SLOT SECONDS")
	return showList(ctx, d, paging{}, read, head, func(g *grid, u rest.Usage) {
		g.row(u.Day, u.App, u.Pool, u.Attempts, u.SlotSeconds, u.FallbackSlotSeconds,
			u.Placements, u.PlacementSlotSeconds)
	})
}
