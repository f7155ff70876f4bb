package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"rockpool/backend/internal/client"
	"rockpool/backend/internal/rest"
)

type jobExplain struct {
	ID  string `arg:"" help:"Job."`
	Now bool   `help:"Every reason of every node as it is now, instead of the decision that was made."`
}

// Run prints the decision, or the explanation, in words and as a table of reasons.
func (c *jobExplain) Run(ctx context.Context, d *desk, server *client.Client) error {
	if c.Now {
		explanation, err := server.Explanation(ctx, c.ID)
		if err != nil {
			return err
		}
		return showInWords(d, explanation, explanation.Text, reasonsNow(explanation.Pools))
	}
	decision, err := server.Decision(ctx, c.ID)
	if err != nil {
		return err
	}
	return showInWords(d, decision, decision.Text, reasonsThen(decision))
}

func showInWords(d *desk, document any, text string, reasons grid) error {
	if !d.json {
		if err := d.say(text); err != nil {
			return err
		}
	}
	return d.show(document, reasons)
}

// showCandidates prints where work would go now: the root cause first, the decision in
// words, every reason of every node.
func showCandidates(d *desk) func(rest.Candidates, error) error {
	return func(found rest.Candidates, err error) error {
		if err != nil {
			return err
		}
		text := strings.TrimPrefix(found.Hint+"\n"+found.Decision.Text, "\n")
		return showInWords(d, found, text, reasonsNow(found.Pools))
	}
}

// reasonsThen is a row per pool and reason of a decision; each node counts once.
func reasonsThen(decision rest.Decision) grid {
	g := columns("POOL", "NODES", "REASON")
	for _, p := range decision.Pools {
		g.row(p.Pool, p.Candidates, "candidate")
		names := slices.SortedFunc(maps.Keys(p.Rejected), func(a, b string) int {
			return cmp.Or(cmp.Compare(p.Rejected[b], p.Rejected[a]), cmp.Compare(a, b))
		})
		for _, name := range names {
			g.row(p.Pool, p.Rejected[name], name)
		}
	}
	return g
}

// reasonsNow is a row per pool and reason; a node counts under each of its own.
func reasonsNow(pools []rest.PoolExplanation) grid {
	g := columns("POOL", "NODES", "REASON", "WHICH")
	for _, p := range pools {
		g.row(p.Pool, p.Candidates, "candidate", p.CandidateNodes)
		for _, r := range p.Reasons {
			g.row(p.Pool, r.Nodes, r.Reason, r.NodeIDs)
		}
	}
	return g
}
