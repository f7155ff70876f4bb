package api

import (
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
	"rockpool/shared/ids"
)

const (
	maxPlacementKey = 200 // visible characters
	maxPurpose      = 200 // bytes
	defaultCount    = 1
)

// createPlacement reserves nodes for a client outside. Where the app's key has a
// placement that lasts, that one is the answer.
func (a *API) createPlacement(c *call, in *rest.PlacementRequest) error {
	spec, err := placementSpec(in)
	if err != nil {
		return err
	}
	posted, err := c.posted(placementsPath, in)
	if err != nil {
		return err
	}
	unlock, err := a.alone(c, posted)
	if err != nil {
		return err
	}
	defer unlock()
	if earlier, found, err := a.before(c, posted); found || err != nil {
		return a.replayPlacement(c, &earlier, err)
	}
	owner, err := a.newFinder(c).owner(spec.App)
	if err != nil {
		return err
	}
	if err := a.existingRole(c.ctx(), spec.Role); err != nil {
		return err
	}
	spec.ID, spec.Owner, spec.Submitter = a.jobIDs.next(), owner, c.who.User.ID
	placed, err := a.dispatch.Place(c.ctx(), core.PlacementAsk{Spec: spec, IdempotencyKey: posted.key, RequestDigest: posted.digest})
	if err != nil {
		return err
	}
	return a.answerPlaced(c, spec, &placed, posted)
}

// answerPlaced says what came of an ask.
func (a *API) answerPlaced(c *call, spec *fleet.PlacementSpec, placed *core.Placed, posted posting) error {
	switch {
	case placed.Exhausted != nil:
		return noNodes(placed.Exhausted, spec.App, spec.Owner, spec.Demands.Slots)
	case placed.Refused != nil && *placed.Refused == core.RefusedIdempotency: // another process took the key meanwhile
		earlier, found, err := a.before(c, posted)
		if found || err != nil {
			return a.replayPlacement(c, &earlier, err)
		}
		return refusedInsert(*placed.Refused, 0)
	case placed.Refused != nil:
		return refusedInsert(*placed.Refused, 0)
	}
	doc, err := a.livePlacementDoc(c, &placed.View)
	if err != nil {
		return err
	}
	if placed.Existing {
		c.Response().Header().Set(echo.HeaderLocation, placementPath(doc.ID))
		return c.JSON(http.StatusOK, doc)
	}
	return c.created(placementPath(doc.ID), doc)
}

// replayPlacement answers the placement of an earlier POST with the same key.
func (a *API) replayPlacement(c *call, earlier *record.Idempotent, err error) error {
	if err != nil {
		return err
	}
	row, err := a.store.Placement(c.ctx(), earlier.Placement, c.rows())
	if err != nil {
		return err
	}
	doc, err := a.placementDoc(c, &row)
	if err != nil {
		return err
	}
	c.Response().Header().Set(rest.HeaderIdempotencyReplayed, "true")
	c.Response().Header().Set(echo.HeaderLocation, placementPath(doc.ID))
	return c.JSON(http.StatusOK, doc)
}

// placementSpec checks a request by itself and fills in what it leaves out.
func placementSpec(in *rest.PlacementRequest) (*fleet.PlacementSpec, error) {
	spec := &fleet.PlacementSpec{
		App: in.App, Role: in.Role, Key: in.Key, Purpose: in.Purpose, Count: deref(in.Count, defaultCount),
		TTLMs: fleet.DefaultTTLMs, Backend: deref(in.Backend, ""), Region: deref(in.Region, ""),
	}
	if err := checkPlacement(in, spec); err != nil {
		return nil, err
	}
	var err error
	spec.Demands, err = demandsOf("", deref(in.Slots, 0), deref(in.MemoryMib, 0))
	if err != nil {
		return nil, err
	}
	if in.TTL != nil {
		spec.TTLMs, err = ttlOf(*in.TTL)
	}
	return spec, err
}

func checkPlacement(in *rest.PlacementRequest, spec *fleet.PlacementSpec) error {
	if in.Role == "" {
		return badRequest("role is missing")
	}
	if err := checkNames(&rest.JobRequest{Backend: in.Backend, Region: in.Region}, &fleet.JobSpec{App: in.App, Role: in.Role}); err != nil {
		return err
	}
	if err := checkPlacementKey(in.Key); err != nil {
		return err
	}
	if spec.Count < 1 || spec.Count > fleet.MaxPlacementNodes {
		return badRequest("count must be 1 to %d", fleet.MaxPlacementNodes)
	}
	return checkLine("purpose", in.Purpose, maxPurpose)
}

func checkPlacementKey(key string) error {
	hidden := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(key) > maxPlacementKey || strings.ContainsFunc(key, hidden) {
		return badRequest("key must be 1 to %d visible characters, or absent", maxPlacementKey)
	}
	return nil
}

// ttlOf is a time to last, in milliseconds.
func ttlOf(d rest.Duration) (int64, error) {
	ms := time.Duration(d).Milliseconds()
	if ms < fleet.MinTTLMs || ms > fleet.MaxTTLMs {
		return 0, badRequest("ttl must be %s to %s", rest.Duration(fleet.MinTTLMs*time.Millisecond), rest.Duration(fleet.MaxTTLMs*time.Millisecond))
	}
	return ms, nil
}

func (a *API) listPlacements(c *call) error {
	page, err := c.page(afterJob)
	if err != nil {
		return err
	}
	filter, err := c.placementFilter()
	if err != nil {
		return err
	}
	rows, err := a.store.Placements(c.ctx(), filter, page)
	if err != nil {
		return err
	}
	docs, err := a.placementDocs(c, rows)
	if err != nil {
		return err
	}
	key := func(p *rest.Placement) string { return p.ID }
	return c.JSON(http.StatusOK, listOf(docs, page, key, func(p *rest.Placement) *rest.Placement { return p }))
}

func (c *call) placementFilter() (record.PlacementFilter, error) {
	filter := record.PlacementFilter{Scope: c.rows(), App: c.QueryParam("app"), Key: c.QueryParam("key"), Node: c.QueryParam("node")}
	for _, n := range []struct{ key, value string }{{"app", filter.App}, {"node", filter.Node}} {
		if n.value != "" && ids.CheckName(n.value) != nil {
			return filter, badRequest("%s is no name", n.key)
		}
	}
	if err := checkPlacementKey(filter.Key); err != nil {
		return filter, err
	}
	if text := c.QueryParam("state"); text != "" {
		state, known := fleet.ParsePlacementState(text)
		if !known {
			return filter, badRequest("state must be active, draining, released, expired or lost")
		}
		filter.State = &state
	}
	return filter, nil
}

func (a *API) getPlacement(c *call) error {
	row, err := a.placement(c)
	if err != nil {
		return err
	}
	doc, err := a.placementDoc(c, &row)
	if err != nil {
		return err
	}
	if len(row.Decision) > 0 {
		kept, err := record.DecodeDecision(row.Decision)
		if err != nil {
			return err
		}
		why := decisionDoc(&kept.Decision, kept.At)
		why.Text = kept.Decision.Text(row.Spec.App, row.Spec.Owner, row.Spec.Demands.Slots)
		doc.Decision = &why
	}
	return c.JSON(http.StatusOK, doc)
}

// placement is the path's placement, if the caller may see it.
func (a *API) placement(c *call) (record.Placement, error) {
	id, err := ids.ParseJobID(c.param("id"))
	if err != nil {
		return record.Placement{}, notFound("placement")
	}
	row, err := a.store.Placement(c.ctx(), id, c.rows())
	if isNotFound(err) {
		return row, notFound("placement")
	}
	return row, err
}

func (a *API) renewPlacement(c *call, in *rest.RenewRequest) error {
	var ttl int64
	if in.TTL != nil {
		var err error
		if ttl, err = ttlOf(*in.TTL); err != nil {
			return err
		}
	}
	row, err := a.placement(c)
	if err != nil {
		return err
	}
	now, err := a.dispatch.RenewPlacement(c.ctx(), row.Spec.ID, ttl)
	if isNotFound(err) {
		if row, err = a.placement(c); err == nil {
			err = fleet.Errorf(fleet.CodeConflict, "the placement has ended: it is "+row.State.String())
		}
	}
	if err != nil {
		return err
	}
	doc, err := a.livePlacementDoc(c, &now)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, doc)
}

// releasePlacement gives the nodes back. One that has ended stays as it is, and says
// so by its state.
func (a *API) releasePlacement(c *call) error {
	row, err := a.placement(c)
	if err != nil {
		return err
	}
	if _, err := a.dispatch.ReleasePlacement(c.ctx(), row.Spec.ID); err != nil && !isNotFound(err) {
		return err
	}
	if row, err = a.placement(c); err != nil {
		return err
	}
	doc, err := a.placementDoc(c, &row)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, doc)
}

const placementsPath = "/v1/placements"

func placementPath(id string) string { return placementsPath + "/" + id }
