package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/pool"
	"rockpool/backend/internal/rest"
)

const (
	maxReadyFor   = 30 * 24 * time.Hour
	maxCanaryJobs = 1_000_000
)

// promotePool moves all nodes of a canary pool to another one when the chosen checks
// hold; otherwise it is a conflict with the reasons, and nothing moves.
func (a *API) promotePool(c *call, in *rest.PromoteRequest) error {
	id, err := c.named("pool")
	if err != nil {
		return err
	}
	dry, err := c.dryRun()
	if err != nil {
		return err
	}
	checks, err := a.checkPromotion(c, id, in)
	if err != nil {
		return err
	}
	nodes, reasons, err := a.promotable(c, id, checks)
	if err != nil {
		return err
	}
	doc := rest.Promoted{Pool: id, To: in.To, Nodes: nodes, Reasons: append([]string{}, reasons...)}
	switch {
	case dry:
		doc.Impact, err = a.impact(c, core.Proposal{Kind: core.ProposeMove, Nodes: nodes, Pool: in.To})
	case len(reasons) > 0:
		return refusedPromotion(id, reasons)
	default:
		doc.Applied, err = true, a.promote(c, id, in, nodes)
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, doc)
}

// checkPromotion checks the request: from a named pool to another one.
func (a *API) checkPromotion(c *call, id string, in *rest.PromoteRequest) (pool.Checks, error) {
	readyFor := time.Duration(deref(in.Checks.ReadyFor, 0))
	checks := pool.Checks{Jobs: int64(in.Checks.Jobs), NoRestart: in.Checks.NoRestart, ReadyFor: fleet.Time(readyFor.Milliseconds())}
	switch {
	case in.Checks.Jobs < 0 || in.Checks.Jobs > maxCanaryJobs:
		return checks, badRequest("checks.jobs must be 0 to %d", maxCanaryJobs)
	case readyFor < 0 || readyFor > maxReadyFor:
		return checks, badRequest("checks.readyFor must be 0s to %s", rest.Duration(maxReadyFor))
	}
	if err := checkLine("reason", in.Reason, maxReason); err != nil {
		return checks, err
	}
	from, err := a.store.Pool(c.ctx(), id)
	if isNotFound(err) {
		return checks, notFound("pool")
	}
	if err != nil {
		return checks, err
	}
	if err := a.existingPool(c, in.To); err != nil {
		return checks, err
	}
	switch {
	case from.Kind != fleet.KindNamed:
		return checks, unprocessable("%s is no named pool: move its nodes one by one", id)
	case in.To == id || in.To == fleet.PoolUnassigned:
		return checks, unprocessable("nodes are promoted to another pool that work can reach")
	}
	return checks, nil
}

// promotable looks at a canary pool: its nodes, and why they may not move on.
func (a *API) promotable(c *call, id string, checks pool.Checks) (nodes, reasons []string, err error) {
	view, err := a.dispatch.Fleet(c.ctx())
	if err != nil {
		return nil, nil, err
	}
	if row, there := poolView(view, id); !there || !row.Canary {
		return nil, nil, unprocessable("%s is no canary pool: an app's work resolves to it", id)
	}
	succeeded, err := a.store.CanaryJobs(c.ctx(), id, time.Time{})
	if err != nil {
		return nil, nil, err
	}
	facts := view.PromotionFacts(id, view.At, succeeded)
	nodes = make([]string, len(facts.Nodes))
	for i := range facts.Nodes {
		nodes[i] = facts.Nodes[i].ID
	}
	return nodes, pool.Promotable(checks, facts), nil
}

func refusedPromotion(pool string, reasons []string) error {
	return &refusal{known: fleet.Errorf(fleet.CodeConflict, pool+" can't be promoted: "+strings.Join(reasons, "; ")), checks: reasons}
}

// promote moves the nodes, and the very next decision knows it.
func (a *API) promote(c *call, id string, in *rest.PromoteRequest, nodes []string) error {
	moved, err := a.store.MoveNodes(c.ctx(), c.actor(), id, in.To, nodes, "node_promoted", in.Reason)
	if err != nil {
		return err
	}
	for _, node := range moved {
		if err := a.dispatch.PutNode(context.WithoutCancel(c.ctx()), node); err != nil {
			return err
		}
	}
	return nil
}
