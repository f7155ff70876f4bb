package client

import (
	"context"
	"fmt"
	"net/http"

	"rockpool/backend/internal/rest"
)

// CreateApp makes an app.
func (c *Client) CreateApp(ctx context.Context, req rest.AppRequest) (rest.App, error) {
	return post[rest.App](ctx, c, route("v1", "admin", "apps"), req)
}

// App reads an app.
func (c *Client) App(ctx context.Context, id string) (rest.App, error) {
	return get[rest.App](ctx, c, route("v1", "apps", id))
}

// Apps lists apps.
func (c *Client) Apps(ctx context.Context, page Page) (rest.List[rest.App], error) {
	return list[rest.App](ctx, c, route("v1", "apps"), page.query())
}

// SetShare sets an app's weight and bounds. A version above 0 is what the app's record
// must still have; else it is refused with precondition_failed.
func (c *Client) SetShare(ctx context.Context, app string, req rest.ShareRequest, version int64) (rest.App, error) {
	in := call{method: http.MethodPut, path: route("v1", "admin", "apps", app, "share"), body: req}
	return changing[rest.App](ctx, c, in, version, false)
}

// CreateLicense makes a license; its code is in this answer only.
func (c *Client) CreateLicense(ctx context.Context, req rest.LicenseRequest) (rest.NewLicense, error) {
	return post[rest.NewLicense](ctx, c, route("v1", "admin", "licenses"), req)
}

// License reads a license.
func (c *Client) License(ctx context.Context, id string) (rest.License, error) {
	return get[rest.License](ctx, c, route("v1", "licenses", id))
}

// Licenses lists licenses.
func (c *Client) Licenses(ctx context.Context, page Page) (rest.List[rest.License], error) {
	return list[rest.License](ctx, c, route("v1", "licenses"), page.query())
}

// RevokeLicense ends a license: no node joins with it any more.
func (c *Client) RevokeLicense(ctx context.Context, id, reason string) (rest.License, error) {
	return post[rest.License](ctx, c, route("v1", "admin", "licenses", id, "revoke"), rest.ReasonRequest{Reason: reason})
}

// CreateUser makes a user and its pool.
func (c *Client) CreateUser(ctx context.Context, req rest.UserRequest) (rest.User, error) {
	return post[rest.User](ctx, c, route("v1", "admin", "users"), req)
}

// User reads a user.
func (c *Client) User(ctx context.Context, id string) (rest.User, error) {
	return get[rest.User](ctx, c, route("v1", "admin", "users", id))
}

// Users lists users.
func (c *Client) Users(ctx context.Context, page Page) (rest.List[rest.User], error) {
	return list[rest.User](ctx, c, route("v1", "admin", "users"), page.query())
}

// SetRoles replaces a user's fleet-wide roles.
func (c *Client) SetRoles(ctx context.Context, id string, req rest.RolesRequest) (rest.User, error) {
	var user rest.User
	err := c.do(ctx, call{method: http.MethodPut, path: route("v1", "admin", "users", id, "roles"), body: req}, &user)
	return user, err
}

// SetPassword gives a user a new password for the console. ErrPlainHTTP when it
// would travel readable.
func (c *Client) SetPassword(ctx context.Context, id string, req rest.PasswordRequest) error {
	if c.open {
		return fmt.Errorf("server %s: %w", c.server, ErrPlainHTTP)
	}
	return c.do(ctx, call{method: http.MethodPut, path: route("v1", "admin", "users", id, "password"), body: req}, nil)
}

// CreateToken makes an API token for a user (empty: the asking one); its secret
// is in this answer only.
func (c *Client) CreateToken(ctx context.Context, user string, req rest.TokenRequest) (rest.NewToken, error) {
	if user == "" {
		return post[rest.NewToken](ctx, c, route("v1", "tokens"), req)
	}
	return post[rest.NewToken](ctx, c, route("v1", "admin", "users", user, "tokens"), req)
}

// Tokens lists one's own API tokens.
func (c *Client) Tokens(ctx context.Context, page Page) (rest.List[rest.Token], error) {
	return list[rest.Token](ctx, c, route("v1", "tokens"), page.query())
}

// DeleteToken ends one of one's own API tokens.
func (c *Client) DeleteToken(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: route("v1", "tokens", id)}, nil)
}

// Setup exchanges the one-time setup token for the first superadmin and its API
// token. ErrPlainHTTP when it would travel readable.
func (c *Client) Setup(ctx context.Context, req rest.SetupRequest) (rest.SetupDone, error) {
	if c.open {
		return rest.SetupDone{}, fmt.Errorf("server %s: %w", c.server, ErrPlainHTTP)
	}
	return post[rest.SetupDone](ctx, c, route("v1", "setup"), req)
}
