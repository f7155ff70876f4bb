package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

type adminCommand struct {
	Ready adminReady `cmd:"" help:"Say whether the server takes work; exits 1 when it does not."`
	Setup adminSetup `cmd:"" help:"Exchange the one-time setup token for the first superadmin and its API token, and keep that in the credentials."`
}

type adminReady struct{}

// Run asks as nobody: a server says so before anyone has a token.
func (c *adminReady) Run(ctx context.Context, d *desk) error {
	server, err := d.connection.anonymous("")
	if err != nil {
		return err
	}
	health, err := server.Ready(ctx)
	if err != nil {
		return err
	}
	var g grid
	g.fact("status", health.Status)
	g.fact("detail", health.Detail)
	if f := health.Frozen; f != nil {
		g.fact("fleet frozen since", f.Since)
		g.fact("fleet frozen by", f.By)
		g.fact("fleet frozen until", f.Until)
	}
	if err := d.show(health, g); err != nil || health.Status == "ok" {
		return err
	}
	return errors.New("the server does not take work")
}

type adminSetup struct {
	Token string `placeholder:"TOKEN" help:"Setup token or link that the server's first start printed; it works once. Without it, it is read from standard input."`
	Name  string `placeholder:"NAME" help:"Name of the superadmin (default: admin)."`
}

var setupToken = regexp.MustCompile(`rps_[A-Za-z0-9_-]{43}`)

// Run redeems the setup token. The credentials are written once before, so that
// the token is not used up when they can't be.
func (c *adminSetup) Run(ctx context.Context, d *desk) error {
	given, err := c.given(d.in)
	if err != nil {
		return err
	}
	secret := setupToken.FindString(given)
	if secret == "" {
		return errors.New("no setup token: it reads rps_ and 43 characters")
	}
	server, err := d.connection.anonymous(baseOf(given))
	if err != nil {
		return err
	}
	kept, err := readCredentials()
	if err != nil {
		return err
	}
	path, err := kept.write()
	if err != nil {
		return err
	}
	done, err := server.Setup(ctx, rest.SetupRequest{SetupToken: secret, Name: c.Name})
	if err != nil {
		return err
	}
	if done.Token == nil {
		return errors.New("the server gave no API token")
	}
	kept.Servers[server.Server()] = credential{User: done.User.Name, Token: done.Token.Secret}
	if _, err := kept.write(); err != nil {
		// The token exists nowhere else: better seen than lost.
		return errors.Join(d.showJSON(done), err)
	}
	return showSetup(d, server, done, path)
}

func (c *adminSetup) given(in io.Reader) (string, error) {
	if c.Token != "" {
		return c.Token, nil
	}
	line, err := bufio.NewReader(io.LimitReader(in, 4096)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", fmt.Errorf("read the setup token: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// baseOf is the server of a setup link; empty when it is a bare token.
func baseOf(given string) string {
	link, err := url.Parse(given)
	if err != nil || link.Host == "" {
		return ""
	}
	return link.Scheme + "://" + link.Host
}

func showSetup(d *desk, server *client.Client, done rest.SetupDone, path string) error {
	var g grid
	g.fact("user", done.User.ID)
	g.fact("name", done.User.Name)
	g.fact("roles", done.User.Roles)
	g.fact("server", server.Server())
	g.fact("token in", path)
	return d.show(done, g)
}
