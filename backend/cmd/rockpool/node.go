package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

type nodeCommand struct {
	List     nodeList     `cmd:"" help:"List nodes."`
	Get      nodeGet      `cmd:"" help:"Show a node."`
	History  nodeHistory  `cmd:"" help:"Show what a node was chosen for lately, what waits because of it, and what happened on it."`
	Create   nodeCreate   `cmd:"" help:"Make a node's record; its secret is shown once."`
	Move     nodeMove     `cmd:"" help:"Move a node to another pool; the very next decision uses it."`
	Impact   nodeImpact   `cmd:"" help:"Say what a move, cordon or drain of several nodes together would do; nothing is done."`
	Cordon   nodeCordon   `cmd:"" help:"Keep new work from a node; what runs there goes on."`
	Drain    nodeDrain    `cmd:"" help:"Keep new work from a node, and at the deadline take away what still runs there."`
	Uncordon nodeUncordon `cmd:"" help:"Lift the operator's cordon and drain, or another hold."`
	Rotate   nodeRotate   `cmd:"" help:"Have a node make another secret; the old one is good until the new one was used."`
	Repair   nodeRepair   `cmd:"" help:"Choose which claimant of a node in quarantine is the node; the others are refused for good."`
	Leave    nodeLeave    `cmd:"" help:"Take a node out of the fleet; it comes back only by registering."`
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

type nodeHistory struct {
	ID string `arg:"" help:"Node."`
}

// Run shows what the server remembers of the node.
func (c *nodeHistory) Run(ctx context.Context, d *desk, server *client.Client) error {
	history, err := server.NodeHistory(ctx, c.ID)
	if err != nil {
		return err
	}
	decisions, log := columns("AT", "OUTCOME", "JOB", "APP", "REASON"), columns("AT", "EVENT")
	for _, dec := range history.Decisions {
		decisions.row(dec.At, dec.Outcome, dec.Job, dec.App, dec.Reason)
	}
	for _, line := range history.Log {
		log.row(line.At, line.Text)
	}
	if err := d.show(history, decisions); err != nil || d.json {
		return err
	}
	if err := d.say(""); err != nil {
		return err
	}
	return log.write(d.out)
}

type nodeCreate struct {
	ID       string `arg:"" help:"Node's id."`
	Role     string `default:"worker" placeholder:"ROLE" help:"Its role."`
	Owner    string `placeholder:"USER" help:"Id of the user that owns it (default: nobody, and it starts in pool default)."`
	MaxSlots int64  `placeholder:"N" help:"Slots that it may bring at most (default: what it says)."`
}

// Run makes the node's record.
func (c *nodeCreate) Run(ctx context.Context, d *desk, server *client.Client) error {
	node, err := server.CreateNode(ctx, rest.NodeRequest{ID: c.ID, Owner: c.Owner, Role: c.Role, MaxSlots: c.MaxSlots})
	if err != nil {
		return err
	}
	g := nodeFacts(node.Node)
	g.fact("secret", node.Secret)
	return d.show(node, g)
}

type nodeMove struct {
	ID      string `arg:"" help:"Node."`
	Pool    string `required:"" placeholder:"POOL" help:"Pool to move it to."`
	Reason  string `placeholder:"TEXT" help:"Why, for the audit entry."`
	Version int64  `placeholder:"N" help:"Move only if the node's version is still N (default: whatever it is)."`
	DryRun  bool   `help:"Say what it would do, and do nothing."`
}

// Run moves the node, or says what its move would do.
func (c *nodeMove) Run(ctx context.Context, d *desk, server *client.Client) error {
	move := server.MoveNode
	if c.DryRun {
		move = server.TryMove
	}
	moved, err := move(ctx, c.ID, rest.MoveRequest{Pool: c.Pool, Reason: c.Reason}, c.Version)
	if err != nil {
		return err
	}
	if c.DryRun {
		words := fmt.Sprintf("%s would go from %s to %s; attempts that stay there: %d", moved.Node, moved.From, moved.To, moved.Running)
		return showImpact(d, moved, words, moved.Impact)
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

type nodeImpact struct {
	IDs    []string `arg:"" name:"id" help:"Nodes."`
	Action string   `required:"" enum:"move,cordon,drain" placeholder:"move|cordon|drain" help:"What would be done to them."`
	Pool   string   `placeholder:"POOL" help:"Of a move: where to."`
}

// Run says what the action would do to the nodes together.
func (c *nodeImpact) Run(ctx context.Context, d *desk, server *client.Client) error {
	impact, err := server.Impact(ctx, rest.ImpactRequest{Action: c.Action, Nodes: c.IDs, Pool: c.Pool})
	if err != nil {
		return err
	}
	return showImpact(d, impact, fmt.Sprintf("%s of %s", c.Action, strings.Join(c.IDs, ", ")), &impact)
}

type nodeLeave struct {
	ID     string `arg:"" help:"Node."`
	Reason string `placeholder:"TEXT" help:"Why, for the audit entry."`
}

// Run takes the node out of the fleet.
func (c *nodeLeave) Run(ctx context.Context, d *desk, server *client.Client) error {
	node, err := server.LeaveNode(ctx, c.ID, c.Reason)
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
func showNode(d *desk, n rest.Node) error { return d.show(n, nodeFacts(n)) }

func nodeFacts(n rest.Node) grid {
	var g grid
	g.fact("id", n.ID)
	g.fact("owner", n.Owner)
	g.fact("pool", n.Pool)
	g.fact("role", n.Role)
	g.fact("region", n.Region)
	g.fact("lease", leaseOf(n))
	g.fact("health", n.HealthReasons)
	if !n.Accepting {
		g.fact("takes no work", n.AcceptReason)
	}
	for _, h := range n.Holds {
		g.fact("hold", holdText(h))
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
	g.fact("clock", clockText(n.ClockSkewMs))
	for _, l := range n.Labels {
		g.fact("label", l[0]+"="+l[1])
	}
	inventoryFacts(&g, n.Inventory)
	g.fact("created", n.CreatedAt)
	g.fact("last seen", n.LastSeenAt)
	identityFacts(&g, n)
	g.fact("version", n.Version)
	return g
}

// clockText says how far a node's clock is off; empty: not at all.
func clockText(skewMs int64) string {
	switch span := time.Duration(skewMs) * time.Millisecond; {
	case span > 0:
		return span.String() + " ahead of the server's"
	case span < 0:
		return (-span).String() + " behind the server's"
	}
	return ""
}

// holdText is a hold with who put it there, why, and when it ends.
func holdText(h rest.Hold) string {
	text := h.Kind + " by " + h.Owner
	if h.Until != nil {
		text += " until " + moment(h.Until)
	}
	if h.Deadline != nil {
		text += ", deadline " + moment(h.Deadline)
	}
	return joinDetail(text, h.Reason)
}

func leaseOf(n rest.Node) string {
	switch {
	case !n.Healthy:
		return n.Lease + " (unhealthy)"
	case n.AcceptReason != "":
		return n.Lease + " (takes no work: " + n.AcceptReason + ")"
	default:
		return n.Lease
	}
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
