package client

import (
	"context"
	"net/http"

	"rockpool/backend/internal/rest"
)

// PlacementFilter selects placements for a list; empty fields select everything.
type PlacementFilter struct {
	App   string
	Key   string
	State string
	Node  string
}

// Place reserves nodes for a client outside, or answers the lasting placement of the
// request's app, role and key. With an idempotency key (empty: none) the same call
// sent again answers the same placement, and is repeated over a 503.
func (c *Client) Place(ctx context.Context, req rest.PlacementRequest, key string) (rest.Placement, error) {
	var placed rest.Placement
	err := c.do(ctx, call{method: http.MethodPost, path: route("v1", "placements"), body: req, header: keyed(key)}, &placed)
	return placed, err
}

// Placement reads a placement as it is now.
func (c *Client) Placement(ctx context.Context, id string) (rest.Placement, error) {
	return get[rest.Placement](ctx, c, route("v1", "placements", id))
}

// Placements lists placements, the newest first.
func (c *Client) Placements(ctx context.Context, f PlacementFilter, page Page) (rest.List[rest.Placement], error) {
	return list[rest.Placement](ctx, c, route("v1", "placements"), page.query("app", f.App, "key", f.Key, "state", f.State, "node", f.Node))
}

// RenewPlacement lets a placement last for ttl (nil: as long as was asked for at
// first) from now on.
func (c *Client) RenewPlacement(ctx context.Context, id string, ttl *rest.Duration) (rest.Placement, error) {
	return post[rest.Placement](ctx, c, route("v1", "placements", id, "renew"), rest.RenewRequest{TTL: ttl})
}

// ReleasePlacement ends a placement; one that has ended stays as it is.
func (c *Client) ReleasePlacement(ctx context.Context, id string) (rest.Placement, error) {
	var placed rest.Placement
	err := c.do(ctx, call{method: http.MethodDelete, path: route("v1", "placements", id)}, &placed)
	return placed, err
}
