package main

import (
	"context"
	"strconv"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

type alignmentCommand struct{}

// Run prints a line for each thing that will fail before a request does.
func (c *alignmentCommand) Run(ctx context.Context, d *desk, server *client.Client) error {
	found, err := server.Alignment(ctx)
	if err != nil {
		return err
	}
	if len(found.Apps)+len(found.Pools) == 0 && !d.json {
		return d.say("every app resolves to a usable node, and every pool with nodes is resolved to")
	}
	return d.show(found, alignmentRows(found))
}

func alignmentRows(found rest.Alignment) grid {
	g := columns("WHAT", "NODES", "ELSEWHERE", "DETAIL")
	for _, a := range found.Apps {
		g.row("app "+a.App, a.Nodes, a.Elsewhere, a.Text)
	}
	for _, p := range found.Pools {
		g.row("pool "+p.Pool, p.Nodes, "", "no app's work resolves to it: its "+strconv.Itoa(p.Nodes)+" nodes get none")
	}
	return g
}
