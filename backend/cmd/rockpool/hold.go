package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

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

type nodeUncordon struct {
	holdFlags
	Kind string `enum:",auto,deaf,quarantine" default:"" placeholder:"auto|deaf|quarantine" help:"Lift a hold that the control plane put there, before it ends by itself."`
}

// Run lifts cordon and drain, or the named hold.
func (c *nodeUncordon) Run(ctx context.Context, d *desk, server *client.Client) error {
	lift := server.UncordonNode
	if c.Kind != "" {
		lift = func(ctx context.Context, id, reason string, version int64) (rest.Node, error) {
			return server.LiftHold(ctx, id, c.Kind, reason, version)
		}
	}
	node, err := lift(ctx, c.ID, c.Reason, c.Version)
	if err != nil {
		return err
	}
	return showNode(d, node)
}

// drainSlack is how long after a drain's deadline what is told to stop may take: the
// grace that it has, and some more to say so.
const drainSlack = 15 * time.Second

type nodeDrain struct {
	holdFlags
	Deadline *time.Duration `placeholder:"10m" help:"What still runs after this time is canceled and placed anew (default: it runs to its end)."`
	DryRun   bool           `help:"Say what it would do, and do nothing."`
	Wait     bool           `help:"Wait until nothing runs there, and print what does meanwhile; exits 4 and names it when something still does ${drain_slack} after the deadline."`
	Every    time.Duration  `default:"3s" help:"How often to look, with --wait."`
	Timeout  time.Duration  `placeholder:"1h" help:"How long to wait at most, with --wait (default: as --wait says; without a deadline, as long as it takes)."`
}

// Validate refuses a wait that makes no sense.
func (c *nodeDrain) Validate() error {
	switch {
	case c.Deadline != nil && *c.Deadline < 0:
		return errors.New("--deadline must be 0s or more")
	case c.Every <= 0 || c.Timeout < 0:
		return errors.New("--every and --timeout must be above 0")
	case c.Wait && c.DryRun:
		return errors.New("--dry-run does nothing that one could --wait for")
	}
	return nil
}

// Run drains the node and says what runs there.
func (c *nodeDrain) Run(ctx context.Context, d *desk, server *client.Client) error {
	req := rest.DrainRequest{Deadline: (*rest.Duration)(c.Deadline), Reason: c.Reason}
	drained, err := server.DrainNode(ctx, c.ID, req, c.Version, c.DryRun)
	if err != nil {
		return err
	}
	if c.DryRun {
		return showImpact(d, drained, c.ID+" would get no new work", drained.Impact)
	}
	if c.Wait {
		tell := func(now rest.Drained) error { return tellBlockers(d, now) }
		if drained, err = server.WaitDrained(ctx, drained, c.Every, c.limit(), tell); err != nil {
			return fmt.Errorf("wait for the drain of %s: %w", c.ID, err)
		}
	}
	if err := showDrained(d, drained); err != nil || !c.Wait || len(drained.Running) == 0 {
		return err
	}
	return &outcome{exitTimedOut, stillRuns(drained)}
}

// limit is how long to wait; 0: as long as it takes.
func (c *nodeDrain) limit() time.Duration {
	if c.Timeout > 0 || c.Deadline == nil {
		return c.Timeout
	}
	return *c.Deadline + drainSlack
}

// tellBlockers prints one line of what a drain waits for. JSON is one document, and
// comes at the end.
func tellBlockers(d *desk, now rest.Drained) error {
	if d.json {
		return nil
	}
	return d.say(stillRuns(now))
}

func stillRuns(now rest.Drained) string {
	list := make([]string, len(now.Running))
	for i, b := range now.Running {
		list[i] = fmt.Sprintf("job %s attempt %d (%s, %d %%)", b.Job, b.Attempt, b.Phase, b.Percent)
	}
	return fmt.Sprintf("%s still runs %d: %s", now.Node.ID, len(list), strings.Join(list, ", "))
}

func showDrained(d *desk, drained rest.Drained) error {
	if d.json {
		return d.showJSON(drained)
	}
	if err := showNode(d, drained.Node); err != nil || len(drained.Running) == 0 {
		return err
	}
	running := blockerRows(drained.Running)
	return running.write(d.out)
}
