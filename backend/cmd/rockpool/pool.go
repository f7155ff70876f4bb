package main

import (
	"context"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

type poolCommand struct {
	List poolList `cmd:"" help:"List pools."`
	Get  poolGet  `cmd:"" help:"Show a pool."`
}

type poolList struct{ paging }

// Run lists pools.
func (c *poolList) Run(ctx context.Context, d *desk, server *client.Client) error {
	head := columns("ID", "KIND", "STATE", "NODES", "READY", "FREE SLOTS", "SLOTS", "RUNNING", "QUEUED")
	return showList(ctx, d, c.paging, server.Pools, head, func(g *grid, p rest.Pool) {
		g.row(p.ID, p.Kind, p.State, p.Nodes, p.Leases.Ready, p.FreeSlots, p.TotalSlots, p.Running, p.Queued)
	})
}

type poolGet struct {
	ID string `arg:"" help:"Pool."`
}

// Run shows the pool.
func (c *poolGet) Run(ctx context.Context, d *desk, server *client.Client) error {
	p, err := server.Pool(ctx, c.ID)
	if err != nil {
		return err
	}
	var g grid
	g.fact("id", p.ID)
	g.fact("name", p.Name)
	g.fact("kind", p.Kind)
	g.fact("state", p.State)
	g.fact("nodes", p.Nodes)
	g.fact("new", p.Leases.New)
	g.fact("ready", p.Leases.Ready)
	g.fact("suspect", p.Leases.Suspect)
	g.fact("lost", p.Leases.Lost)
	g.fact("left", p.Leases.Left)
	g.fact("free slots", p.FreeSlots)
	g.fact("slots", p.TotalSlots)
	g.fact("running", p.Running)
	g.fact("queued", p.Queued)
	return d.show(p, g)
}
