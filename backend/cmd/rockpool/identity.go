package main

import (
	"context"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

type nodeRotate struct{ holdFlags }

// Run has the node make another secret.
func (c *nodeRotate) Run(ctx context.Context, d *desk, server *client.Client) error {
	node, err := server.RotateNode(ctx, c.ID, c.Reason, c.Version)
	if err != nil {
		return err
	}
	return showNode(d, node)
}

type nodeRepair struct {
	holdFlags
	Keep string `required:"" placeholder:"CLAIMANT" help:"The claimant that is the node, as rockpool node get names it."`
}

// Run chooses the claimant.
func (c *nodeRepair) Run(ctx context.Context, d *desk, server *client.Client) error {
	node, err := server.RepairNode(ctx, c.ID, rest.RepairRequest{Keep: c.Keep, Reason: c.Reason}, c.Version)
	if err != nil {
		return err
	}
	return showNode(d, node)
}

// identityFacts are who says that it is the node, and what is being done about it.
func identityFacts(g *grid, n rest.Node) {
	for _, c := range n.Claimants {
		g.fact("claimant", claimantText(c, n.Keep))
	}
	switch {
	case n.Keep != "":
		g.fact("repair", "under way: waits for "+n.Keep+" to come with another secret")
	case n.Rotating:
		g.fact("rotation", "under way: waits for the node to come with another secret")
	}
}

// claimantText is a claimant with where it is, since when, and what became of it.
func claimantText(c rest.Claimant, keep string) string {
	text := c.ID + " at " + c.Address
	if c.MachineID != "" {
		text += ", machine " + short(c.MachineID)
	}
	if c.BootID != "" {
		text += ", process " + short(c.BootID)
	}
	if c.AgentVersion != "" {
		text += ", agent " + c.AgentVersion
	}
	text += ", seen " + moment(&c.SeenAt)
	switch {
	case c.ID == keep:
		text += ", chosen"
	case c.Holder:
		text += ", has the newest state"
	}
	return text
}

// short is the beginning of an id that is long.
func short(id string) string { return id[:min(len(id), 12)] }
