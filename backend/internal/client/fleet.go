package client

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
)

// NodeFilter selects nodes for a list; empty fields select everything.
type NodeFilter struct {
	Pool  string
	Lease string
}

// Node reads a node.
func (c *Client) Node(ctx context.Context, id string) (rest.Node, error) {
	return get[rest.Node](ctx, c, route("v1", "nodes", id))
}

// NodeHistory reads what the server remembers of a node since it started.
func (c *Client) NodeHistory(ctx context.Context, id string) (rest.NodeHistory, error) {
	return get[rest.NodeHistory](ctx, c, route("v1", "nodes", id, "history"))
}

// Nodes lists nodes.
func (c *Client) Nodes(ctx context.Context, f NodeFilter, page Page) (rest.List[rest.Node], error) {
	return list[rest.Node](ctx, c, route("v1", "nodes"), page.query("pool", f.Pool, "lease", f.Lease))
}

// MoveNode moves a node to another pool. A version above 0 is what the node's
// record must still have; else the move is refused with precondition_failed.
func (c *Client) MoveNode(ctx context.Context, id string, req rest.MoveRequest, version int64) (rest.Moved, error) {
	return c.move(ctx, id, req, version, false)
}

// TryMove says what a move would do, and does nothing.
func (c *Client) TryMove(ctx context.Context, id string, req rest.MoveRequest, version int64) (rest.Moved, error) {
	return c.move(ctx, id, req, version, true)
}

func (c *Client) move(ctx context.Context, id string, req rest.MoveRequest, version int64, dry bool) (rest.Moved, error) {
	in := call{method: http.MethodPut, path: route("v1", "admin", "nodes", id, "pool"), body: req}
	return changing[rest.Moved](ctx, c, in, version, dry)
}

// CreateNode makes a node's record; its secret is in this answer only.
func (c *Client) CreateNode(ctx context.Context, req rest.NodeRequest) (rest.NewNode, error) {
	return post[rest.NewNode](ctx, c, route("v1", "admin", "nodes"), req)
}

// DrainNode keeps new work from a node and says what runs there; a dry run says what
// a drain would do.
func (c *Client) DrainNode(ctx context.Context, id string, req rest.DrainRequest, version int64, dry bool) (rest.Drained, error) {
	in := call{method: http.MethodPost, path: route("v1", "admin", "nodes", id, "drain"), body: req}
	return changing[rest.Drained](ctx, c, in, version, dry)
}

// ErrDrainLifted ends a wait for a drain that somebody lifted.
var ErrDrainLifted = errors.New("the drain was lifted")

// WaitDrained looks every so often until nothing runs on a drained node any more or
// limit (0: none) is over, and returns the drain as it was last seen. tell gets each
// look that found something. The error is a failed read's, tell's, ctx's, or
// ErrDrainLifted.
func (c *Client) WaitDrained(ctx context.Context, drained rest.Drained, every, limit time.Duration, tell func(rest.Drained) error) (rest.Drained, error) {
	for begun := time.Now(); len(drained.Running) > 0; {
		if err := tell(drained); err != nil {
			return drained, err
		}
		left := every
		if limit > 0 {
			left = min(every, limit-time.Since(begun))
		}
		if left <= 0 {
			return drained, nil
		}
		if !pause(ctx, left) {
			return drained, ctx.Err()
		}
		now, err := c.DrainNode(ctx, drained.Node.ID, rest.DrainRequest{}, 0, true)
		if err != nil {
			return drained, err
		}
		if drained.Node, drained.Running = now.Node, now.Running; !drains(now.Node) {
			return drained, ErrDrainLifted
		}
	}
	return drained, nil
}

// drains reports an operator's drain on the node.
func drains(n rest.Node) bool {
	return slices.ContainsFunc(n.Holds, func(h rest.Hold) bool {
		return h.Kind == string(fleet.HoldDrain) && h.Owner == string(fleet.OwnerOperator)
	})
}

// CordonNode keeps new work from a node. A version above 0 is as in MoveNode.
func (c *Client) CordonNode(ctx context.Context, id, reason string, version int64) (rest.Node, error) {
	return c.changeNode(ctx, id, "cordon", rest.ReasonRequest{Reason: reason}, version)
}

// UncordonNode lifts the operator's cordon and drain. A version above 0 is as in
// MoveNode.
func (c *Client) UncordonNode(ctx context.Context, id, reason string, version int64) (rest.Node, error) {
	return c.changeNode(ctx, id, "uncordon", rest.UncordonRequest{Reason: reason}, version)
}

// ReleasePool ends a pool's mass loss.
func (c *Client) ReleasePool(ctx context.Context, id, reason string) (rest.Pool, error) {
	return post[rest.Pool](ctx, c, route("v1", "pools", id, "release"), rest.ReasonRequest{Reason: reason})
}

// LiftHold lifts a hold of kind auto, deaf or quarantine; that is for superadmins.
func (c *Client) LiftHold(ctx context.Context, id, kind, reason string, version int64) (rest.Node, error) {
	return c.changeNode(ctx, id, "uncordon", rest.UncordonRequest{Kind: kind, Reason: reason}, version)
}

func (c *Client) changeNode(ctx context.Context, id, verb string, body any, version int64) (rest.Node, error) {
	in := call{method: http.MethodPost, path: route("v1", "admin", "nodes", id, verb), body: body}
	return changing[rest.Node](ctx, c, in, version, false)
}

func ifMatch(version int64) map[string]string {
	return map[string]string{"If-Match": strconv.Quote(strconv.FormatInt(version, 10))}
}

// RotateNode has a node make another secret; the old one is good until a session was
// opened with the new one. A version above 0 is as in MoveNode.
func (c *Client) RotateNode(ctx context.Context, id, reason string, version int64) (rest.Node, error) {
	return c.changeNode(ctx, id, "rotate", rest.ReasonRequest{Reason: reason}, version)
}

// RepairNode chooses the claimant that is the node. A version above 0 is as in
// MoveNode.
func (c *Client) RepairNode(ctx context.Context, id string, req rest.RepairRequest, version int64) (rest.Node, error) {
	return c.changeNode(ctx, id, "repair", req, version)
}

// LeaveNode takes a node out of the fleet; it comes back only by registering.
func (c *Client) LeaveNode(ctx context.Context, id, reason string) (rest.Node, error) {
	return post[rest.Node](ctx, c, route("v1", "admin", "nodes", id, "leave"), rest.ReasonRequest{Reason: reason})
}

// RevokeNode takes a node's secret away and ends its session: it has left.
func (c *Client) RevokeNode(ctx context.Context, id, reason string) (rest.Node, error) {
	return post[rest.Node](ctx, c, route("v1", "admin", "nodes", id, "revoke"), rest.ReasonRequest{Reason: reason})
}

// Impact says what a move, cordon or drain of several nodes together would do.
func (c *Client) Impact(ctx context.Context, req rest.ImpactRequest) (rest.Impact, error) {
	return post[rest.Impact](ctx, c, route("v1", "admin", "nodes", "impact"), req)
}

// PoolHistory reads how a pool's slots and queue were, the oldest point first.
func (c *Client) PoolHistory(ctx context.Context, id string) (rest.List[rest.PoolPoint], error) {
	return list[rest.PoolPoint](ctx, c, route("v1", "pools", id, "history"), nil)
}

// Pool reads a pool.
func (c *Client) Pool(ctx context.Context, id string) (rest.Pool, error) {
	return get[rest.Pool](ctx, c, route("v1", "pools", id))
}

// Pools lists pools.
func (c *Client) Pools(ctx context.Context, page Page) (rest.List[rest.Pool], error) {
	return list[rest.Pool](ctx, c, route("v1", "pools"), page.query())
}
