package main

import (
	"context"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

type roleCommand struct {
	List   roleList   `cmd:"" help:"List the roles that nodes and work may have."`
	Create roleCreate `cmd:"" help:"Add a role."`
}

type roleList struct{}

// Run lists roles.
func (c *roleList) Run(ctx context.Context, d *desk, server *client.Client) error {
	read := func(ctx context.Context, _ client.Page) (rest.List[rest.Role], error) { return server.Roles(ctx) }
	return showList(ctx, d, paging{}, read, columns("NAME", "BUILT IN"), func(g *grid, r rest.Role) { g.row(r.Name, r.BuiltIn) })
}

type roleCreate struct {
	Name string `arg:"" help:"Role's name."`
}

// Run adds the role.
func (c *roleCreate) Run(ctx context.Context, d *desk, server *client.Client) error {
	role, err := server.CreateRole(ctx, rest.RoleRequest{Name: c.Name})
	if err != nil {
		return err
	}
	var g grid
	g.fact("name", role.Name)
	return d.show(role, g)
}
