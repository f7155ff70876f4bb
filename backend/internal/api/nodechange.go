package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"rockpool/backend/internal/access"
	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
)

const (
	maxReason   = 500                // bytes of an administrative action's reason
	maxDeadline = 7 * 24 * time.Hour // of a drain
)

func etag(version int64) string { return strconv.Quote(strconv.FormatInt(version, 10)) }

// ifMatch reads the version that the client saw; nil: any will do.
func (c *call) ifMatch() (*int64, error) {
	values := c.Request().Header.Values("If-Match")
	if len(values) == 0 || len(values) == 1 && values[0] == "*" {
		return nil, nil
	}
	if len(values) == 1 {
		text, quoted := strings.CutPrefix(values[0], `"`)
		text, ended := strings.CutSuffix(text, `"`)
		if version, err := strconv.ParseInt(text, 10, 64); quoted && ended && err == nil {
			return &version, nil
		}
	}
	return nil, badRequest(`If-Match is the ETag that it came with, such as "17"`)
}

// maxRaces bounds how often a change is tried again because the record changed
// between the look whether the caller may see it and the change.
const maxRaces = 5

// nodeChange writes a change of a node's record, if that still has the version.
type nodeChange func(ctx context.Context, actor record.Actor, node, reason string, ifVersion *int64) (fleet.NodeRecord, error)

// changeNode changes the path's node, and the very next decision knows it. A caller
// who sees some pools only changes the record that was seen in one of them: who
// moves it away meanwhile wins.
func (a *API) changeNode(c *call, reason string, change nodeChange) (fleet.NodeRecord, error) {
	id, err := c.named("node")
	if err != nil {
		return fleet.NodeRecord{}, err
	}
	asked, err := c.ifMatch()
	if err != nil {
		return fleet.NodeRecord{}, err
	}
	if err := checkLine("reason", reason, maxReason); err != nil {
		return fleet.NodeRecord{}, err
	}
	for try := 1; ; try++ {
		row, err := a.node(c, id)
		if err != nil {
			return fleet.NodeRecord{}, err
		}
		version := asked
		if version == nil && !c.scope.All {
			version = &row.Version
		}
		changed, err := change(c.ctx(), c.actor(), id, reason, version)
		if access.CodeOf(err) == fleet.CodePreconditionFail && asked == nil && try < maxRaces {
			continue
		}
		if err != nil {
			return fleet.NodeRecord{}, err
		}
		return changed, a.dispatch.PutNode(context.WithoutCancel(c.ctx()), changed)
	}
}

// seenNode is the path's node, at the version that the client saw.
func (a *API) seenNode(c *call) (record.Node, error) {
	id, err := c.named("node")
	if err != nil {
		return record.Node{}, err
	}
	asked, err := c.ifMatch()
	if err != nil {
		return record.Node{}, err
	}
	row, err := a.node(c, id)
	if err == nil && asked != nil && *asked != row.Version {
		err = fleet.Errorf(fleet.CodePreconditionFail, "the node's record has another version: read it again")
	}
	return row, err
}

// moveNode puts a node into another pool; running work stays where it is.
func (a *API) moveNode(c *call, in *rest.MoveRequest) error {
	dry, err := c.dryRun()
	if err != nil {
		return err
	}
	if err := a.existingPool(c, in.Pool); err != nil {
		return err
	}
	if dry {
		return a.tryMove(c, in)
	}
	var from string
	moved, err := a.changeNode(c, in.Reason, func(ctx context.Context, actor record.Actor, node, reason string, ifVersion *int64) (fleet.NodeRecord, error) {
		was, rec, err := a.store.MoveNode(ctx, actor, node, in.Pool, reason, ifVersion)
		from = was
		return rec, err
	})
	if err != nil {
		return err
	}
	now, err := a.dispatch.Fleet(c.ctx())
	if err != nil {
		return err
	}
	doc := rest.Moved{Node: moved.ID, From: from, To: in.Pool, Applied: true, Version: moved.Version}
	if live := viewOf(now, moved.ID); live != nil {
		doc.Running = len(live.Running)
	}
	c.Response().Header().Set("ETag", etag(moved.Version))
	return c.JSON(http.StatusOK, doc)
}

// tryMove says what a move would do.
func (a *API) tryMove(c *call, in *rest.MoveRequest) error {
	row, err := a.seenNode(c)
	if err != nil {
		return err
	}
	impact, err := a.impact(c, core.Proposal{Kind: core.ProposeMove, Nodes: []string{row.ID}, Pool: in.Pool})
	if err != nil {
		return err
	}
	c.Response().Header().Set("ETag", etag(row.Version))
	return c.JSON(http.StatusOK, rest.Moved{
		Node: row.ID, From: row.Pool, To: in.Pool, Running: len(impact.Running), Version: row.Version,
		AppsExhausted: exhausted(impact), Impact: impact,
	})
}

// cordonNode keeps new work from a node; what runs there goes on.
func (a *API) cordonNode(c *call, in *rest.ReasonRequest) error {
	changed, err := a.changeNode(c, in.Reason, a.store.CordonNode)
	if err != nil {
		return err
	}
	return a.answerNode(c, changed.ID)
}

// drainNode keeps new work from a node and, at the deadline, takes away what runs
// there: it is placed anew in its own pool.
func (a *API) drainNode(c *call, in *rest.DrainRequest) error {
	dry, err := c.dryRun()
	if err != nil {
		return err
	}
	deadline, err := a.deadlineOf(in)
	if err != nil {
		return err
	}
	if dry {
		return a.tryDrain(c)
	}
	changed, err := a.changeNode(c, in.Reason, func(ctx context.Context, actor record.Actor, node, reason string, ifVersion *int64) (fleet.NodeRecord, error) {
		return a.store.DrainNode(ctx, actor, node, deadline, reason, ifVersion)
	})
	if err != nil {
		return err
	}
	row, err := a.store.Node(c.ctx(), changed.ID)
	if err != nil {
		return err
	}
	return a.answerDrain(c, &row, nil)
}

// deadlineOf is when a drain cancels what still runs; nil: never.
func (a *API) deadlineOf(in *rest.DrainRequest) (*time.Time, error) {
	if in.Deadline == nil {
		return nil, nil
	}
	after := time.Duration(*in.Deadline)
	if after < 0 || after > maxDeadline {
		return nil, badRequest("deadline must be 0s to %s from now", rest.Duration(maxDeadline))
	}
	at := a.now().Add(after)
	return &at, nil
}

func (a *API) tryDrain(c *call) error {
	row, err := a.seenNode(c)
	if err != nil {
		return err
	}
	impact, err := a.impact(c, core.Proposal{Kind: core.ProposeHold, Nodes: []string{row.ID}})
	if err != nil {
		return err
	}
	return a.answerDrain(c, &row, impact)
}

// answerDrain is the node with what a drain waits for; an impact makes it a dry run.
func (a *API) answerDrain(c *call, row *record.Node, impact *rest.Impact) error {
	now, err := a.dispatch.Fleet(c.ctx())
	if err != nil {
		return err
	}
	doc := rest.Drained{Node: a.nodeDoc(row, now), Applied: impact == nil, Running: []rest.Blocker{}, Impact: impact}
	if live := viewOf(now, row.ID); live != nil {
		doc.Running = blockers(live.Running)
	}
	c.Response().Header().Set("ETag", etag(row.Version))
	return c.JSON(http.StatusOK, doc)
}

// uncordonNode lifts the operator's cordon and drain; of a named kind the hold that
// the control plane put there.
func (a *API) uncordonNode(c *call, in *rest.UncordonRequest) error {
	if in.Kind != "" {
		return a.releaseNode(c, in)
	}
	changed, err := a.changeNode(c, in.Reason, a.store.UncordonNode)
	if err != nil {
		return err
	}
	return a.answerNode(c, changed.ID)
}

// releaseNode lifts a hold of the control plane's own before it ends by itself.
func (a *API) releaseNode(c *call, in *rest.UncordonRequest) error {
	kind := fleet.HoldKind(in.Kind)
	if kind != fleet.HoldAuto && kind != fleet.HoldDeaf && kind != fleet.HoldQuarantine {
		return badRequest("kind is auto, deaf or quarantine; without it the operator's own cordon and drain are lifted")
	}
	if err := checkLine("reason", in.Reason, maxReason); err != nil {
		return err
	}
	if !a.may(c, "release", "node") {
		return fleet.Errorf(fleet.CodeForbidden, "a hold that the control plane put there is lifted by its time or by a superadmin")
	}
	row, err := a.seenNode(c)
	if err != nil {
		return err
	}
	err = a.dispatch.LiftHold(c.ctx(), row.ID, kind, fleet.OwnerAuto, c.by(), in.Reason)
	if isNotFound(err) {
		return fleet.Errorf(fleet.CodeConflict, "no hold of kind "+in.Kind+" stands on "+row.ID)
	}
	if err != nil {
		return err
	}
	return a.answerNode(c, row.ID)
}

// leaveNode takes a node out of the fleet and frees its id; its work is handled by
// the jobs' policy.
func (a *API) leaveNode(c *call, in *rest.ReasonRequest) error {
	return a.endNode(c, in, a.store.LeaveNode, a.dispatch.LeaveNode)
}

func (a *API) revokeNode(c *call, in *rest.ReasonRequest) error {
	return a.endNode(c, in, a.store.RevokeNode, a.dispatch.RevokeNode)
}

// endNode writes a node's end, and then ends its session and its work.
func (a *API) endNode(c *call, in *rest.ReasonRequest, write func(context.Context, record.Actor, string, string) (fleet.NodeRecord, error),
	end func(ctx context.Context, node fleet.NodeRecord, reason string) error) error {
	id, err := c.named("node")
	if err != nil {
		return err
	}
	if err := checkLine("reason", in.Reason, maxReason); err != nil {
		return err
	}
	gone, err := write(c.ctx(), c.actor(), id, in.Reason)
	if err != nil {
		return err
	}
	if err := end(context.WithoutCancel(c.ctx()), gone, in.Reason); err != nil {
		return err
	}
	return a.answerNode(c, id)
}
