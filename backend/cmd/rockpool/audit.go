package main

import (
	"context"
	"errors"
	"fmt"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

type auditCommand struct {
	List      auditList      `cmd:"" help:"List audit entries, the newest first."`
	Verify    auditVerify    `cmd:"" help:"Check the whole chain of audit entries; exits 1 and names the first bad one."`
	Isolation auditIsolation `cmd:"" help:"Read the kept history again: did work run on a node outside its pools without a record? Exits 1 and names what did."`
}

type auditList struct {
	paging
	Action string `placeholder:"TEXT" help:"Only with this in their action."`
	Object string `placeholder:"TEXT" help:"Only with this in their object, such as node:ams-edge-01."`
	Actor  string `placeholder:"TEXT" help:"Only of this actor, such as u:1."`
	Reason string `placeholder:"TEXT" help:"Only with this in their reason."`
	Text   string `placeholder:"TEXT" help:"Only with this anywhere."`
}

// Run lists audit entries.
func (c *auditList) Run(ctx context.Context, d *desk, server *client.Client) error {
	head := columns("SEQ", "AT", "ACTOR", "ADDRESS", "ACTION", "OBJECT", "BEFORE", "AFTER", "REASON")
	filter := client.AuditFilter{Action: c.Action, Object: c.Object, Actor: c.Actor, Reason: c.Reason, Text: c.Text}
	read := func(ctx context.Context, page client.Page) (rest.List[rest.AuditEntry], error) {
		return server.Audit(ctx, filter, page)
	}
	return showList(ctx, d, c.paging, read, head, func(g *grid, e rest.AuditEntry) {
		g.row(e.Seq, e.At, e.Actor, e.Address, e.Action, e.Object, string(e.Before), string(e.After), e.Reason)
	})
}

type auditVerify struct{}

// Run lets the server check its chain.
func (c *auditVerify) Run(ctx context.Context, d *desk, server *client.Client) error {
	verified, err := server.VerifyAudit(ctx)
	if err != nil {
		return err
	}
	var g grid
	g.fact("ok", verified.OK)
	g.fact("entries", verified.Seq)
	g.fact("head", verified.Sum)
	g.fact("first bad", verified.BadSeq)
	if err := d.show(verified, g); err != nil || verified.OK {
		return err
	}
	if verified.BadSeq == nil {
		return errors.New("the chain of audit entries is broken")
	}
	return fmt.Errorf("the chain of audit entries is broken at %d", *verified.BadSeq)
}

type auditIsolation struct {
	Since string `placeholder:"30d" help:"A day, a time, or how long ago: 2026-11-29, 12h, 30d (default: all that is kept)."`
}

// Run has the server read its history again.
func (c *auditIsolation) Run(ctx context.Context, d *desk, server *client.Client) error {
	found, err := server.Isolation(ctx, c.Since)
	if err != nil {
		return err
	}
	if err := d.show(found, isolationFacts(found)); err != nil || found.Holds {
		return err
	}
	if !d.json {
		crossings := crossingRows(found)
		if err := crossings.write(d.out); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("isolation does not hold: %d attempts ran outside their pools without a record", found.Found)
	if len(found.Crossings) > 0 {
		x := found.Crossings[0]
		text += fmt.Sprintf("; the first: %s on %s of %s", crossed(x), x.Node, x.Pool)
	}
	return errors.New(text)
}

// crossed names what is where it should not be.
func crossed(x rest.Crossing) string {
	if x.Placement != "" {
		return "placement " + x.Placement
	}
	return fmt.Sprintf("job %s attempt %d", x.Job, x.Attempt)
}

func isolationFacts(found rest.Isolation) grid {
	var g grid
	g.fact("holds", found.Holds)
	g.fact("from", found.From)
	g.fact("to", found.To)
	g.fact("jobs", found.Jobs)
	g.fact("attempts", found.Attempts)
	g.fact("placements", found.Placements)
	g.fact("fallbacks", found.Fallbacks)
	g.fact("undecided", found.Undecided)
	g.fact("tolerance", found.Tolerance)
	g.fact("crossings", found.Found)
	return g
}

func crossingRows(found rest.Isolation) grid {
	g := columns("WORK", "NODE", "POOL", "DETAIL")
	for _, x := range found.Crossings {
		g.row(crossed(x), x.Node, x.Pool, x.Detail)
	}
	return g
}
