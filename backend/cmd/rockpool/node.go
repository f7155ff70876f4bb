package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

type nodeCommand struct {
	List     nodeList     `cmd:"" help:"List nodes."`
	Get      nodeGet      `cmd:"" help:"Show a node."`
	Move     nodeMove     `cmd:"" help:"Move a node to another pool."`
	Cordon   nodeCordon   `cmd:"" help:"Keep new work from a node; what runs there goes on."`
	Uncordon nodeUncordon `cmd:"" help:"Lift the operator's cordon."`
	Revoke   nodeRevoke   `cmd:"" help:"Take a node's secret away: it has left."`
}

type nodeList struct {
	Pool  string `placeholder:"POOL" help:"Only in this pool."`
	Lease string `placeholder:"LEASE" help:"Only with this lease: new, ready, suspect, lost or left."`
	paging
}

// Run lists nodes.
func (c *nodeList) Run(ctx context.Context, d *desk, server *client.Client) error {
	read := func(ctx context.Context, page client.Page) (rest.List[rest.Node], error) {
		return server.Nodes(ctx, client.NodeFilter{Pool: c.Pool, Lease: c.Lease}, page)
	}
	head := columns("ID", "POOL", "ROLE", "REGION", "LEASE", "HOLDS", "SLOTS", "RUNNING", "LAST SEEN")
	return showList(ctx, d, c.paging, read, head, func(g *grid, n rest.Node) {
		g.row(n.ID, n.Pool, n.Role, n.Region, leaseOf(n), holdKinds(n), slotsOf(n), n.Running, n.LastSeenAt)
	})
}

type nodeGet struct {
	ID string `arg:"" help:"Node."`
}

// Run shows the node.
func (c *nodeGet) Run(ctx context.Context, d *desk, server *client.Client) error {
	node, err := server.Node(ctx, c.ID)
	if err != nil {
		return err
	}
	return showNode(d, node)
}

type nodeMove struct {
	ID      string `arg:"" help:"Node."`
	Pool    string `required:"" placeholder:"POOL" help:"Pool to move it to."`
	Reason  string `placeholder:"TEXT" help:"Why, for the audit entry."`
	Version int64  `placeholder:"N" help:"Move only if the node's version is still N (default: whatever it is)."`
}

// Run moves the node.
func (c *nodeMove) Run(ctx context.Context, d *desk, server *client.Client) error {
	moved, err := server.MoveNode(ctx, c.ID, rest.MoveRequest{Pool: c.Pool, Reason: c.Reason}, c.Version)
	if err != nil {
		return err
	}
	var g grid
	g.fact("node", moved.Node)
	g.fact("from", moved.From)
	g.fact("to", moved.To)
	g.fact("running", moved.Running)
	g.fact("applied", moved.Applied)
	g.fact("version", moved.Version)
	return d.show(moved, g)
}

// holdFlags are those of a change of a node's holds.
type holdFlags struct {
	ID      string `arg:"" help:"Node."`
	Reason  string `placeholder:"TEXT" help:"Why, for the audit entry."`
	Version int64  `placeholder:"N" help:"Only if the node's version is still N (default: whatever it is)."`
}

type nodeCordon struct{ holdFlags }

// Run cordons the node.
func (c *nodeCordon) Run(ctx context.Context, d *desk, server *client.Client) error {
	node, err := server.CordonNode(ctx, c.ID, c.Reason, c.Version)
	if err != nil {
		return err
	}
	return showNode(d, node)
}

type nodeUncordon struct{ holdFlags }

// Run lifts the cordon.
func (c *nodeUncordon) Run(ctx context.Context, d *desk, server *client.Client) error {
	node, err := server.UncordonNode(ctx, c.ID, c.Reason, c.Version)
	if err != nil {
		return err
	}
	return showNode(d, node)
}

type nodeRevoke struct {
	ID     string `arg:"" help:"Node."`
	Reason string `placeholder:"TEXT" help:"Why, for the audit entry."`
}

// Run revokes the node.
func (c *nodeRevoke) Run(ctx context.Context, d *desk, server *client.Client) error {
	node, err := server.RevokeNode(ctx, c.ID, c.Reason)
	if err != nil {
		return err
	}
	return showNode(d, node)
}

// showNode prints one node.
func showNode(d *desk, n rest.Node) error {
	var g grid
	g.fact("id", n.ID)
	g.fact("owner", n.Owner)
	g.fact("pool", n.Pool)
	g.fact("role", n.Role)
	g.fact("region", n.Region)
	g.fact("lease", leaseOf(n))
	g.fact("health", n.HealthReasons)
	for _, h := range n.Holds {
		g.fact("hold", joinDetail(h.Kind+" by "+h.Owner, h.Reason))
	}
	g.fact("slots", slotsOf(n))
	for _, name := range slices.Sorted(maps.Keys(n.Capacity.MemoryMib)) {
		g.fact("memory", fmt.Sprintf("%s: %d of %d MiB reserved", name, n.Reserved.MemoryMib[name], n.Capacity.MemoryMib[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(n.Capacity.Resources)) {
		g.fact("resource", fmt.Sprintf("%s: %d of %d reserved", name, n.Reserved.Resources[name], n.Capacity.Resources[name]))
	}
	g.fact("running", n.Running)
	g.fact("backend", n.Backend)
	g.fact("runners", n.Runners)
	g.fact("license", n.License)
	g.fact("agent", n.AgentVersion)
	g.fact("platform", join(n.OS, "/", n.Arch))
	g.fact("address", n.Address)
	for _, l := range n.Labels {
		g.fact("label", l[0]+"="+l[1])
	}
	g.fact("created", n.CreatedAt)
	g.fact("last seen", n.LastSeenAt)
	g.fact("version", n.Version)
	return d.show(n, g)
}

func leaseOf(n rest.Node) string {
	if n.Healthy {
		return n.Lease
	}
	return n.Lease + " (unhealthy)"
}

// slotsOf is reserved of all.
func slotsOf(n rest.Node) string {
	return fmt.Sprintf("%d/%d", n.Reserved.Slots, n.Capacity.Slots)
}

func holdKinds(n rest.Node) []string {
	var kinds []string
	for _, h := range n.Holds {
		if !slices.Contains(kinds, h.Kind) {
			kinds = append(kinds, h.Kind)
		}
	}
	return kinds
}

func join(a, between, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + between + b
}
