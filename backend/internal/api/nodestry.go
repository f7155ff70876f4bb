package api

import (
	"net/http"
	"slices"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
)

// maxTried is how many nodes one dry run may name.
const maxTried = 1000

// tryNodes says what a move, cordon or drain of several nodes together would do:
// two nodes can be an app's last ones where neither alone is.
func (a *API) tryNodes(c *call, in *rest.ImpactRequest) error {
	if len(in.Nodes) == 0 || len(in.Nodes) > maxTried {
		return badRequest("nodes: 1 to %d ids", maxTried)
	}
	p, err := a.proposalOf(c, in)
	if err != nil {
		return err
	}
	now, err := a.dispatch.Fleet(c.ctx())
	if err != nil {
		return err
	}
	for _, id := range p.Nodes {
		if n := viewOf(now, id); n == nil || !c.sees(n.Record.Owner, n.Record.Pool) {
			return notFound("node " + id)
		}
	}
	doc, err := a.impact(c, p)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, doc)
}

// proposalOf is what the request would have done; a move is tried by those who may
// move.
func (a *API) proposalOf(c *call, in *rest.ImpactRequest) (core.Proposal, error) {
	p := core.Proposal{Kind: core.ProposeHold, Nodes: slices.Compact(slices.Sorted(slices.Values(in.Nodes)))}
	switch {
	case in.Action == "move" && !a.may(c, "move", "node"):
		return p, fleet.Errorf(fleet.CodeForbidden, "this credential may not move a node")
	case in.Action == "move":
		p.Kind, p.Pool = core.ProposeMove, in.Pool
		return p, a.existingPool(c, in.Pool)
	case in.Action != "cordon" && in.Action != "drain":
		return p, badRequest("action is move, cordon or drain")
	case in.Pool != "":
		return p, badRequest("pool is of a move")
	}
	return p, nil
}
