package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

type licenseCommand struct {
	Create licenseCreate `cmd:"" help:"Create a license; its code is shown once."`
	List   licenseList   `cmd:"" help:"List licenses."`
	Get    licenseGet    `cmd:"" help:"Show a license."`
	Revoke licenseRevoke `cmd:"" help:"Revoke a license: no node joins with it any more."`
}

type licenseCreate struct {
	User     string   `required:"" placeholder:"USER" help:"Id of the user that its nodes belong to."`
	Roles    []string `name:"role" placeholder:"ROLE" help:"Role that its nodes may take, the first is the default (default: worker). Repeat for more."`
	Nodes    *int64   `placeholder:"N" help:"Nodes at most (default: 1)."`
	MaxSlots *int64   `placeholder:"N" help:"Slots per node at most."`
	expiry
}

// expiry is the flag of what ends by itself.
type expiry struct {
	Expires *time.Duration `placeholder:"720h" help:"End it after this time (default: never)."`
}

// Validate refuses an end in the past; 0 would look like one that never comes.
func (e expiry) Validate() error {
	if e.Expires != nil && *e.Expires <= 0 {
		return errors.New("--expires must be above 0")
	}
	return nil
}

func (e expiry) at(now time.Time) *rest.Time {
	if e.Expires == nil {
		return nil
	}
	end := rest.At(now.Add(*e.Expires))
	return &end
}

// Run creates the license.
func (c *licenseCreate) Run(ctx context.Context, d *desk, server *client.Client) error {
	license, err := server.CreateLicense(ctx, rest.LicenseRequest{
		User: c.User, Roles: c.Roles, Nodes: c.Nodes, MaxSlots: c.MaxSlots, ExpiresAt: c.at(time.Now()),
	})
	if err != nil {
		return err
	}
	g := licenseFacts(license.License)
	g.fact("license code", license.LicenseCode)
	return d.show(license, g)
}

type licenseList struct{ paging }

// Run lists licenses.
func (c *licenseList) Run(ctx context.Context, d *desk, server *client.Client) error {
	head := columns("ID", "USER", "ROLES", "NODES", "EXPIRES", "REVOKED", "CREATED")
	return showList(ctx, d, c.paging, server.Licenses, head, func(g *grid, l rest.License) {
		g.row(l.ID, l.User, l.Roles, seats(l), l.ExpiresAt, l.RevokedAt, l.CreatedAt)
	})
}

type licenseGet struct {
	ID string `arg:"" help:"License."`
}

// Run shows the license.
func (c *licenseGet) Run(ctx context.Context, d *desk, server *client.Client) error {
	license, err := server.License(ctx, c.ID)
	if err != nil {
		return err
	}
	return d.show(license, licenseFacts(license))
}

type licenseRevoke struct {
	ID     string `arg:"" help:"License."`
	Reason string `placeholder:"TEXT" help:"Why, for the audit entry."`
}

// Run revokes the license.
func (c *licenseRevoke) Run(ctx context.Context, d *desk, server *client.Client) error {
	license, err := server.RevokeLicense(ctx, c.ID, c.Reason)
	if err != nil {
		return err
	}
	return d.show(license, licenseFacts(license))
}

func licenseFacts(l rest.License) grid {
	var g grid
	g.fact("id", l.ID)
	g.fact("user", l.User)
	g.fact("roles", l.Roles)
	g.fact("nodes", seats(l))
	if l.MaxSlots > 0 {
		g.fact("slots per node", l.MaxSlots)
	}
	g.fact("expires", l.ExpiresAt)
	g.fact("revoked", l.RevokedAt)
	g.fact("created", l.CreatedAt)
	return g
}

// seats is taken of all.
func seats(l rest.License) string { return fmt.Sprintf("%d/%d", l.Used, l.Nodes) }
