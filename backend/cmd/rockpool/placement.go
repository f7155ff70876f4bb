package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

type placementCommand struct {
	Create  placementCreate  `cmd:"" help:"Reserve nodes for a client outside; the lasting placement of the same app, role and key is answered as it is."`
	Get     placementGet     `cmd:"" help:"Show a placement, its nodes and why they are these."`
	List    placementList    `cmd:"" help:"List placements, the newest first."`
	Renew   placementRenew   `cmd:"" help:"Let a placement last its time from now on."`
	Release placementRelease `cmd:"" help:"End a placement and give its nodes back."`
}

// placementCreate is a placement in a file, in flags, or in a file that flags amend.
type placementCreate struct {
	File      string         `short:"f" placeholder:"FILE" help:"The placement as a REST document; - reads standard input. Flags amend it."`
	App       string         `placeholder:"APP" help:"App that it belongs to."`
	Role      string         `placeholder:"ROLE" help:"Role of its nodes."`
	Key       string         `placeholder:"KEY" help:"What it is for, such as a stream: the same key gets the same nodes while it lasts."`
	Purpose   string         `placeholder:"TEXT" help:"One line for people."`
	Slots     *int64         `placeholder:"N" help:"Slots that it reserves of each node."`
	MemoryMib *int64         `placeholder:"N" help:"Memory that it reserves of each node, in MiB."`
	Count     *int32         `placeholder:"N" help:"How many distinct nodes, all or none."`
	TTL       *time.Duration `placeholder:"5m" help:"How long it lasts without a renewal."`
	Backend   *string        `placeholder:"NAME" help:"Backend that its nodes must have."`
	Region    *string        `placeholder:"NAME" help:"Region that its nodes must be in."`

	IdempotencyKey string `placeholder:"KEY" help:"The same key again answers the same placement (default: a new one)."`
}

// Validate refuses what no placement can do without.
func (c *placementCreate) Validate() error {
	if c.File == "" && (c.App == "" || c.Role == "") {
		return errors.New("give the placement with -f, or --app and --role")
	}
	return nil
}

// Run creates the placement; exits 2 when no node of its pools can take it.
func (c *placementCreate) Run(ctx context.Context, d *desk, server *client.Client) error {
	req, err := readDocument[rest.PlacementRequest](c.File, "placement", d.in)
	if err != nil {
		return err
	}
	c.amend(&req)
	placed, err := server.Place(ctx, req, newKey(c.IdempotencyKey))
	if err != nil {
		return err
	}
	return showPlacement(d, placed)
}

// amend puts what the flags say over the placement.
func (c *placementCreate) amend(req *rest.PlacementRequest) {
	replace(&req.App, c.App)
	replace(&req.Role, c.Role)
	replace(&req.Key, c.Key)
	replace(&req.Purpose, c.Purpose)
	override(&req.Slots, c.Slots)
	override(&req.MemoryMib, c.MemoryMib)
	override(&req.Count, c.Count)
	override(&req.TTL, (*rest.Duration)(c.TTL))
	override(&req.Backend, c.Backend)
	override(&req.Region, c.Region)
}

type placementGet struct {
	ID string `arg:"" help:"Placement."`
}

// Run shows the placement.
func (c *placementGet) Run(ctx context.Context, d *desk, server *client.Client) error {
	placed, err := server.Placement(ctx, c.ID)
	if err != nil {
		return err
	}
	return showPlacement(d, placed)
}

type placementList struct {
	App   string `placeholder:"APP" help:"Only of this app."`
	Key   string `placeholder:"KEY" help:"Only with this key."`
	State string `placeholder:"STATE" help:"Only in this state: active, draining, released, expired or lost."`
	Node  string `placeholder:"NODE" help:"Only on this node."`
	paging
}

// Run lists placements.
func (c *placementList) Run(ctx context.Context, d *desk, server *client.Client) error {
	read := func(ctx context.Context, page client.Page) (rest.List[rest.Placement], error) {
		return server.Placements(ctx, client.PlacementFilter{App: c.App, Key: c.Key, State: c.State, Node: c.Node}, page)
	}
	head := columns("ID", "APP", "ROLE", "KEY", "STATE", "SLOTS", "NODES", "EXPIRES", "ENDED")
	return showList(ctx, d, c.paging, read, head, func(g *grid, p rest.Placement) {
		var nodes []string
		for _, n := range p.Nodes {
			nodes = append(nodes, n.ID)
		}
		g.row(p.ID, p.App, p.Role, p.Key, p.State, p.Slots, nodes, p.ExpiresAt, p.EndedAt)
	})
}

type placementRenew struct {
	ID  string         `arg:"" help:"Placement."`
	TTL *time.Duration `placeholder:"5m" help:"How long it lasts from now on (default: as long as was asked for at first)."`
}

// Run renews the placement.
func (c *placementRenew) Run(ctx context.Context, d *desk, server *client.Client) error {
	placed, err := server.RenewPlacement(ctx, c.ID, (*rest.Duration)(c.TTL))
	if err != nil {
		return err
	}
	return showPlacement(d, placed)
}

type placementRelease struct {
	ID string `arg:"" help:"Placement."`
}

// Run releases the placement.
func (c *placementRelease) Run(ctx context.Context, d *desk, server *client.Client) error {
	placed, err := server.ReleasePlacement(ctx, c.ID)
	if err != nil {
		return err
	}
	return showPlacement(d, placed)
}

// showPlacement prints a placement: its nodes with where the client goes.
func showPlacement(d *desk, p rest.Placement) error {
	var g grid
	g.fact("id", p.ID)
	g.fact("app", p.App)
	g.fact("role", p.Role)
	g.fact("key", p.Key)
	g.fact("purpose", p.Purpose)
	g.fact("state", p.State)
	g.fact("slots", p.Slots)
	for _, n := range p.Nodes {
		g.fact("node", n.ID+" of "+n.Pool+" ("+n.Lease+")")
		for _, name := range slices.Sorted(maps.Keys(n.Endpoints)) {
			g.fact("endpoint", name+" "+n.Endpoints[name])
		}
	}
	if p.Fallback {
		g.fact("fallback", "yes")
	}
	g.fact("created", p.CreatedAt)
	g.fact("expires", p.ExpiresAt)
	g.fact("ended", p.EndedAt)
	if p.Decision != nil {
		g.fact("decision", p.Decision.Text)
	}
	return d.show(p, g)
}
