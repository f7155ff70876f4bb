package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"rockpool/backend/internal/rest"
)

// changing is a call that changes a record. A version above 0 is what the record
// must still have, else precondition_failed; a dry run says what it would do.
func changing[T any](ctx context.Context, c *Client, in call, version int64, dry bool) (T, error) {
	if version > 0 {
		in.header = ifMatch(version)
	}
	if dry {
		in.query = url.Values{"dryRun": {"true"}}
	}
	var out T
	err := c.do(ctx, in, &out)
	return out, err
}

func nodePool(segments ...string) string {
	return route(append([]string{"v1", "admin", "node-pools"}, segments...)...)
}

// NodePools lists the pools for those who steer them.
func (c *Client) NodePools(ctx context.Context, page Page) (rest.List[rest.Pool], error) {
	return list[rest.Pool](ctx, c, nodePool(), page.query())
}

// NodePool reads a pool with who resolves to it.
func (c *Client) NodePool(ctx context.Context, id string) (rest.Pool, error) {
	return get[rest.Pool](ctx, c, nodePool(id))
}

// CreatePool creates a named pool.
func (c *Client) CreatePool(ctx context.Context, req rest.PoolRequest) (rest.Pool, error) {
	return post[rest.Pool](ctx, c, nodePool(), req)
}

// ChangePool gives a pool another name, state or thresholds.
func (c *Client) ChangePool(ctx context.Context, id string, req rest.PoolChange, version int64, dry bool) (rest.PoolChanged, error) {
	return changing[rest.PoolChanged](ctx, c, call{method: http.MethodPut, path: nodePool(id), body: req}, version, dry)
}

// DeletePool deletes a named pool that nothing refers to; the reason may be empty.
func (c *Client) DeletePool(ctx context.Context, id, reason string, version int64) error {
	in := call{method: http.MethodDelete, path: nodePool(id)}
	if reason != "" {
		in.query = url.Values{"reason": {reason}}
	}
	if version > 0 {
		in.header = ifMatch(version)
	}
	return c.do(ctx, in, nil)
}

// Promote moves the nodes of a canary pool to another when the checks hold.
func (c *Client) Promote(ctx context.Context, id string, req rest.PromoteRequest, dry bool) (rest.Promoted, error) {
	return changing[rest.Promoted](ctx, c, call{method: http.MethodPost, path: nodePool(id, "promote"), body: req}, 0, dry)
}

// AllBindings lists apps with their bindings.
func (c *Client) AllBindings(ctx context.Context, page Page) (rest.List[rest.AppBindings], error) {
	return list[rest.AppBindings](ctx, c, route("v1", "admin", "app-pool-bindings"), page.query())
}

// Bindings reads an app's bindings, and where its work goes.
func (c *Client) Bindings(ctx context.Context, app string) (rest.AppBindings, error) {
	return get[rest.AppBindings](ctx, c, route("v1", "admin", "app-pool-bindings", app))
}

// PutBinding sets an app's binding for one role or for every role; without pools it
// takes it away. The version is the app's.
func (c *Client) PutBinding(ctx context.Context, app string, req rest.BindingRequest, version int64) (rest.AppBindings, error) {
	in := call{method: http.MethodPut, path: route("v1", "admin", "app-pool-bindings", app), body: req}
	return changing[rest.AppBindings](ctx, c, in, version, false)
}

// Roles lists the roles that nodes and work may have.
func (c *Client) Roles(ctx context.Context) (rest.List[rest.Role], error) {
	return list[rest.Role](ctx, c, route("v1", "admin", "roles"), nil)
}

// CreateRole adds a role.
func (c *Client) CreateRole(ctx context.Context, req rest.RoleRequest) (rest.Role, error) {
	return post[rest.Role](ctx, c, route("v1", "admin", "roles"), req)
}

// Alignment reads what will fail before a request does.
func (c *Client) Alignment(ctx context.Context) (rest.Alignment, error) {
	return get[rest.Alignment](ctx, c, route("v1", "admin", "alignment"))
}

// Preview is the work that Candidates asks about; empty fields take a submit's
// defaults, an empty runner is whichever.
type Preview struct {
	Role, Runner, Backend, Region string
	Slots                         int64
}

// Candidates shows where an app's work would go now, without a trace.
func (c *Client) Candidates(ctx context.Context, app string, of Preview) (rest.Candidates, error) {
	q := Page{}.query("role", of.Role, "runner", of.Runner, "backend", of.Backend, "region", of.Region)
	if of.Slots > 0 {
		q.Set("slots", strconv.FormatInt(of.Slots, 10))
	}
	var out rest.Candidates
	err := c.do(ctx, call{method: http.MethodGet, path: route("v1", "apps", app, "candidates"), query: q}, &out)
	return out, err
}
