package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

type userCommand struct {
	Create   userCreate   `cmd:"" help:"Create a user and its pool."`
	List     userList     `cmd:"" help:"List users."`
	Get      userGet      `cmd:"" help:"Show a user."`
	Roles    userRoles    `cmd:"" help:"Replace a user's roles, for the whole fleet and for single pools."`
	Password userPassword `cmd:"" help:"Give a user a new password for the console."`
}

type userCreate struct {
	Name  string   `arg:"" help:"User's name."`
	Roles []string `name:"role" placeholder:"ROLE" help:"superadmin, operator, viewer or user (default: user). Repeat for more."`
}

// Run creates the user.
func (c *userCreate) Run(ctx context.Context, d *desk, server *client.Client) error {
	user, err := server.CreateUser(ctx, rest.UserRequest{Name: c.Name, Roles: c.Roles})
	if err != nil {
		return err
	}
	return showUser(d, user)
}

type userList struct{ paging }

// Run lists users.
func (c *userList) Run(ctx context.Context, d *desk, server *client.Client) error {
	head := columns("ID", "NAME", "ROLES", "DISABLED", "CREATED")
	return showList(ctx, d, c.paging, server.Users, head, func(g *grid, u rest.User) {
		g.row(u.ID, u.Name, u.Roles, u.Disabled, u.CreatedAt)
	})
}

type userGet struct {
	ID string `arg:"" help:"User's id."`
}

// Run shows the user.
func (c *userGet) Run(ctx context.Context, d *desk, server *client.Client) error {
	user, err := server.User(ctx, c.ID)
	if err != nil {
		return err
	}
	return showUser(d, user)
}

type userRoles struct {
	ID       string   `arg:"" help:"User's id."`
	Roles    []string `name:"role" placeholder:"ROLE" help:"superadmin, operator, viewer or user, for the whole fleet; those that are not named go. Repeat for more."`
	Grants   []grant  `name:"grant" placeholder:"ROLE=POOL" help:"operator or viewer of one pool (default: these grants stay). Repeat for more."`
	NoGrants bool     `help:"Take the grants of single pools away."`
	Reason   string   `placeholder:"TEXT" help:"Why, for the audit entry."`
}

// grant is a role for one pool as a flag has it.
type grant rest.Grant

// UnmarshalText reads ROLE=POOL.
func (g *grant) UnmarshalText(text []byte) error {
	role, pool, ok := strings.Cut(string(text), "=")
	if !ok || role == "" || pool == "" {
		return errors.New("give role and pool, such as operator=gpu-big")
	}
	*g = grant{Role: role, Pool: pool}
	return nil
}

// Validate refuses what would leave it open what is meant.
func (c *userRoles) Validate() error {
	switch {
	case len(c.Roles)+len(c.Grants) == 0:
		return errors.New("give the roles with --role or --grant")
	case c.NoGrants && len(c.Grants) > 0:
		return errors.New("--grant and --no-grants exclude each other")
	}
	return nil
}

// Run replaces the roles.
func (c *userRoles) Run(ctx context.Context, d *desk, server *client.Client) error {
	req := rest.RolesRequest{Roles: append([]string{}, c.Roles...), Reason: c.Reason}
	if c.NoGrants || len(c.Grants) > 0 {
		grants := make([]rest.Grant, len(c.Grants))
		for i, g := range c.Grants {
			grants[i] = rest.Grant(g)
		}
		req.Grants = &grants
	}
	user, err := server.SetRoles(ctx, c.ID, req)
	if err != nil {
		return err
	}
	return showUser(d, user)
}

type userPassword struct {
	ID     string `arg:"" help:"User's id."`
	File   string `placeholder:"FILE" help:"File with it, 12 to 128 bytes on one line (default: standard input)."`
	Reason string `placeholder:"TEXT" help:"Why, for the audit entry."`
}

// Run sets the password; it never stands on the command line.
func (c *userPassword) Run(ctx context.Context, d *desk, server *client.Client) error {
	in := d.in
	if c.File != "" {
		file, err := os.Open(c.File)
		if err != nil {
			return fmt.Errorf("read the password: %w", err)
		}
		defer file.Close()
		in = file
	}
	line, err := bufio.NewReader(io.LimitReader(in, 4096)).ReadString('\n')
	if err != nil && err != io.EOF {
		return fmt.Errorf("read the password: %w", err)
	}
	return server.SetPassword(ctx, c.ID, rest.PasswordRequest{Password: strings.TrimRight(line, "\r\n"), Reason: c.Reason})
}

func showUser(d *desk, u rest.User) error {
	var g grid
	g.fact("id", u.ID)
	g.fact("name", u.Name)
	g.fact("roles", u.Roles)
	for _, grant := range u.Grants {
		g.fact("grant", grant.Role+" of "+grant.Pool)
	}
	if u.Disabled {
		g.fact("disabled", "yes")
	}
	g.fact("created", u.CreatedAt)
	return d.show(u, g)
}
