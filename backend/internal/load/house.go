package load

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

// house is what a part of the load belongs to: a user with a pool, an app and a
// license.
type house struct {
	client  *client.Client // as that user
	pool    string
	app     string
	license string
}

// readyWait is how long a server that has printed its link may take to begin.
const readyWait = 30 * time.Second

// awaitReady waits until the server takes work: it prints its link a moment earlier.
func awaitReady(ctx context.Context, server *client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, readyWait)
	defer cancel()
	for {
		health, err := server.Ready(ctx)
		if err != nil || health.Status == "ok" {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("the server is not ready: %s: %w", health.Detail, ctx.Err())
		}
	}
}

// claim makes the first superadmin, and returns a client of it.
func (s *server) claim(ctx context.Context, setupToken string) (*client.Client, error) {
	nobody, err := client.New(client.Options{Server: s.url})
	if err != nil {
		return nil, err
	}
	if err := awaitReady(ctx, nobody); err != nil {
		return nil, err
	}
	done, err := nobody.Setup(ctx, rest.SetupRequest{SetupToken: setupToken})
	if err != nil {
		return nil, fmt.Errorf("set the server up: %w", err)
	}
	return client.New(client.Options{Server: s.url, Token: done.Token.Secret})
}

// furnish makes a house for so many nodes.
func (s *server) furnish(ctx context.Context, admin *client.Client, name string, nodes int64) (h house, err error) {
	user, err := admin.CreateUser(ctx, rest.UserRequest{Name: name})
	if err != nil {
		return h, fmt.Errorf("create a user: %w", err)
	}
	app, err := admin.CreateApp(ctx, rest.AppRequest{ID: name, Owner: &user.ID})
	if err != nil {
		return h, fmt.Errorf("create an app: %w", err)
	}
	license, err := admin.CreateLicense(ctx, rest.LicenseRequest{User: user.ID, Nodes: &nodes})
	if err != nil {
		return h, fmt.Errorf("create a license: %w", err)
	}
	token, err := admin.CreateToken(ctx, user.ID, rest.TokenRequest{Name: name})
	if err != nil {
		return h, fmt.Errorf("create a token: %w", err)
	}
	h = house{pool: "pool-" + user.ID, app: app.ID, license: license.LicenseCode}
	h.client, err = client.New(client.Options{Server: s.url, Token: token.Secret, Transport: callersTransport()})
	return h, err
}

// callersTransport keeps as many connections as there are callers.
func callersTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 10_000
	return t
}
