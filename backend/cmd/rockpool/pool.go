package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

type poolCommand struct {
	List    poolList    `cmd:"" help:"List pools."`
	Get     poolGet     `cmd:"" help:"Show a pool, and who resolves to it."`
	History poolHistory `cmd:"" help:"Show how a pool's slots and queue were, a point a minute of the last six hours."`
	Create  poolCreate  `cmd:"" help:"Create a named pool; until something resolves to it, it is a canary pool."`
	Set     poolSet     `cmd:"" help:"Give a pool another name, state or thresholds; what is not named stays."`
	Delete  poolDelete  `cmd:"" help:"Delete a named pool that no node, binding or grant refers to."`
	Release poolRelease `cmd:"" help:"End a pool's mass loss: the work of its silent nodes goes elsewhere."`
	Promote poolPromote `cmd:"" help:"Move all nodes of a canary pool to another pool when the checks hold."`
}

type poolList struct{ paging }

// Run lists pools.
func (c *poolList) Run(ctx context.Context, d *desk, server *client.Client) error {
	head := columns("ID", "KIND", "STATE", "NODES", "READY", "HELD", "FREE SLOTS", "SLOTS", "RUNNING", "QUEUED")
	return showList(ctx, d, c.paging, server.Pools, head, func(g *grid, p rest.Pool) {
		g.row(p.ID, kindOf(p), p.State, p.Nodes, p.Leases.Ready, p.Held, p.FreeSlots, p.TotalSlots, p.Running, p.Queued)
	})
}

type poolGet struct {
	ID string `arg:"" help:"Pool."`
}

// Run shows the pool.
func (c *poolGet) Run(ctx context.Context, d *desk, server *client.Client) error {
	p, err := server.Pool(ctx, c.ID)
	if err != nil {
		return err
	}
	return showPool(d, p)
}

type poolHistory struct {
	ID string `arg:"" help:"Pool."`
}

// Run shows the points, the oldest first.
func (c *poolHistory) Run(ctx context.Context, d *desk, server *client.Client) error {
	read := func(ctx context.Context, _ client.Page) (rest.List[rest.PoolPoint], error) {
		return server.PoolHistory(ctx, c.ID)
	}
	head := columns("AT", "USED", "OUT OF USE", "SLOTS", "QUEUED")
	return showList(ctx, d, paging{}, read, head, func(g *grid, p rest.PoolPoint) {
		g.row(p.At, p.Used, p.OutOfUse, p.Total, p.Queued)
	})
}

type poolCreate struct {
	ID     string `arg:"" help:"Pool's id."`
	Name   string `placeholder:"TEXT" help:"Name for people (default: the id)."`
	Reason string `placeholder:"TEXT" help:"Why, for the audit entry."`
}

// Run creates the pool.
func (c *poolCreate) Run(ctx context.Context, d *desk, server *client.Client) error {
	p, err := server.CreatePool(ctx, rest.PoolRequest{ID: c.ID, Name: c.Name, Reason: c.Reason})
	if err != nil {
		return err
	}
	return showPool(d, p)
}

type poolSet struct {
	ID          string         `arg:"" help:"Pool."`
	Name        *string        `placeholder:"TEXT" help:"Name for people."`
	State       *string        `enum:"active,draining,disabled" placeholder:"active|draining|disabled" help:"active; draining: no new work; disabled: as if empty."`
	QueueWait   *time.Duration `placeholder:"60s" help:"Alarm when its oldest job has waited so long."`
	FreeSlots   *int64         `placeholder:"N" help:"Alarm when so few slots or fewer are free while work waits."`
	NotReadyPct *int32         `placeholder:"N" help:"Alarm when more than so many percent of its nodes are not ready; 100: never."`
	Reason      string         `placeholder:"TEXT" help:"Why, for the audit entry."`
	Version     int64          `placeholder:"N" help:"Only if the pool's version is still N (default: whatever it is)."`
	DryRun      bool           `help:"Say what it would do, and do nothing."`
}

// Validate refuses a change of nothing.
func (c *poolSet) Validate() error {
	if c.Name == nil && c.State == nil && !c.setsThresholds() {
		return errors.New("say what to set: --name, --state, --queue-wait, --free-slots or --not-ready-pct")
	}
	return nil
}

func (c *poolSet) setsThresholds() bool {
	return c.QueueWait != nil || c.FreeSlots != nil || c.NotReadyPct != nil
}

// Run changes the pool.
func (c *poolSet) Run(ctx context.Context, d *desk, server *client.Client) error {
	req := rest.PoolChange{Name: c.Name, State: c.State, Reason: c.Reason}
	if err := c.amendThresholds(ctx, server, &req); err != nil {
		return err
	}
	done, err := server.ChangePool(ctx, c.ID, req, c.Version, c.DryRun)
	if err != nil {
		return err
	}
	if c.DryRun {
		return showImpact(d, done, c.ID+" would change", done.Impact)
	}
	if d.json {
		return d.showJSON(done)
	}
	return showPool(d, done.Pool)
}

// amendThresholds puts what the flags say over the pool's thresholds, which the API
// takes as one; the change then counts for that version of the pool alone.
func (c *poolSet) amendThresholds(ctx context.Context, server *client.Client, req *rest.PoolChange) error {
	if !c.setsThresholds() {
		return nil
	}
	p, err := server.NodePool(ctx, c.ID)
	if err != nil {
		return err
	}
	c.Version = cmp.Or(c.Version, p.Version)
	t := &p.Thresholds
	assign(&t.QueueWait, (*rest.Duration)(c.QueueWait))
	assign(&t.FreeSlots, c.FreeSlots)
	assign(&t.NotReadyPct, c.NotReadyPct)
	req.Thresholds = t
	return nil
}

type poolDelete struct {
	ID      string `arg:"" help:"Pool."`
	Reason  string `placeholder:"TEXT" help:"Why, for the audit entry."`
	Version int64  `placeholder:"N" help:"Only if the pool's version is still N (default: whatever it is)."`
}

// Run deletes the pool; it prints nothing.
func (c *poolDelete) Run(ctx context.Context, server *client.Client) error {
	return server.DeletePool(ctx, c.ID, c.Reason, c.Version)
}

type poolRelease struct {
	ID     string `arg:"" help:"Pool."`
	Reason string `placeholder:"TEXT" help:"Why, for the audit entry."`
}

// Run releases the pool.
func (c *poolRelease) Run(ctx context.Context, d *desk, server *client.Client) error {
	p, err := server.ReleasePool(ctx, c.ID, c.Reason)
	if err != nil {
		return err
	}
	return showPool(d, p)
}

type poolPromote struct {
	ID        string         `arg:"" help:"Canary pool."`
	To        string         `required:"" placeholder:"POOL" help:"Pool to move its nodes to."`
	Jobs      int            `placeholder:"N" help:"Only if so many canary jobs succeeded on it."`
	NoRestart bool           `help:"Only if no node's agent began anew within --ready-for."`
	ReadyFor  *time.Duration `placeholder:"1h" help:"Only if every node has been ready for so long, without a break."`
	Reason    string         `placeholder:"TEXT" help:"Why, for the audit entry."`
	DryRun    bool           `help:"Say what it would do, and whether it would be refused; do nothing."`
}

// Run promotes the pool's nodes. A check that does not hold is a conflict that says why.
func (c *poolPromote) Run(ctx context.Context, d *desk, server *client.Client) error {
	checks := rest.PromoteChecks{Jobs: c.Jobs, NoRestart: c.NoRestart, ReadyFor: (*rest.Duration)(c.ReadyFor)}
	done, err := server.Promote(ctx, c.ID, rest.PromoteRequest{To: c.To, Checks: checks, Reason: c.Reason}, c.DryRun)
	if err != nil {
		return err
	}
	if c.DryRun && !d.json {
		for _, reason := range done.Reasons {
			if err := d.say("refused: " + reason); err != nil {
				return err
			}
		}
		return showImpact(d, done, cell(done.Nodes)+" would go from "+done.Pool+" to "+done.To, done.Impact)
	}
	var g grid
	g.fact("pool", done.Pool)
	g.fact("to", done.To)
	g.fact("nodes", done.Nodes)
	g.fact("applied", done.Applied)
	return d.show(done, g)
}

// showPool prints one pool.
func showPool(d *desk, p rest.Pool) error {
	var g grid
	g.fact("id", p.ID)
	g.fact("name", p.Name)
	g.fact("kind", kindOf(p))
	g.fact("state", p.State)
	if p.Sharing != nil {
		g.fact("sharing", p.Sharing.Text)
	}
	for _, r := range p.Resolvers {
		g.fact("resolver", resolverText(r))
	}
	g.fact("nodes", p.Nodes)
	g.fact("new", p.Leases.New)
	g.fact("ready", p.Leases.Ready)
	g.fact("suspect", p.Leases.Suspect)
	g.fact("lost", p.Leases.Lost)
	g.fact("left", p.Leases.Left)
	g.fact("held", p.Held)
	g.fact("free slots", p.FreeSlots)
	g.fact("slots", p.TotalSlots)
	g.fact("running", p.Running)
	g.fact("queued", p.Queued)
	g.fact("overdue", p.Overdue)
	if p.MassLossSince != nil {
		g.fact("mass loss since", p.MassLossSince)
	}
	g.fact("alarm: queue wait", p.Thresholds.QueueWait)
	g.fact("alarm: free slots", p.Thresholds.FreeSlots)
	g.fact("alarm: not ready %", p.Thresholds.NotReadyPct)
	g.fact("version", p.Version)
	return d.show(p, g)
}

func kindOf(p rest.Pool) string {
	if p.Canary {
		return p.Kind + " (canary)"
	}
	return p.Kind
}

// resolverText is an app, of which role, and by which rule it comes here.
func resolverText(r rest.Resolver) string {
	text := joinDetail(r.App, r.Rule)
	if r.Role != "" {
		text += ", role " + r.Role
	}
	if r.Fallback {
		text += ", by fallback alone"
	}
	return text
}
