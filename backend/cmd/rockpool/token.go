package main

import (
	"context"
	"time"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

type tokenCommand struct {
	Create tokenCreate `cmd:"" help:"Create an API token; it is shown once."`
	List   tokenList   `cmd:"" help:"List one's own API tokens."`
	Delete tokenDelete `cmd:"" help:"Delete one of one's own API tokens."`
}

type tokenCreate struct {
	Name   string   `arg:"" help:"Name to know it by."`
	User   string   `placeholder:"USER" help:"Id of the user that it is for (default: oneself)."`
	Scopes []string `name:"scope" placeholder:"SCOPE" help:"read: it changes nothing (default: all that the user may). Repeat for more."`
	expiry
}

// Run creates the token.
func (c *tokenCreate) Run(ctx context.Context, d *desk, server *client.Client) error {
	token, err := server.CreateToken(ctx, c.User, rest.TokenRequest{Name: c.Name, Scopes: c.Scopes, ExpiresAt: c.at(time.Now())})
	if err != nil {
		return err
	}
	var g grid
	g.fact("id", token.ID)
	g.fact("user", token.User)
	g.fact("name", token.Name)
	g.fact("scopes", token.Scopes)
	g.fact("expires", token.ExpiresAt)
	g.fact("token", token.Secret)
	return d.show(token, g)
}

type tokenList struct{ paging }

// Run lists tokens.
func (c *tokenList) Run(ctx context.Context, d *desk, server *client.Client) error {
	head := columns("ID", "NAME", "SCOPES", "EXPIRES", "LAST USED", "CREATED")
	return showList(ctx, d, c.paging, server.Tokens, head, func(g *grid, t rest.Token) {
		g.row(t.ID, t.Name, t.Scopes, t.ExpiresAt, t.LastUsedAt, t.CreatedAt)
	})
}

type tokenDelete struct {
	ID string `arg:"" help:"Token's id."`
}

// Run deletes the token; it prints nothing.
func (c *tokenDelete) Run(ctx context.Context, d *desk, server *client.Client) error {
	return server.DeleteToken(ctx, c.ID)
}
