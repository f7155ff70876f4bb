package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
	"rockpool/shared/ids"
)

const (
	maxPoolName  = 100 // bytes
	maxQueueWait = 7 * 24 * time.Hour
)

func (a *API) createPool(c *call, in *rest.PoolRequest) error {
	if err := ids.CheckName(in.ID); err != nil {
		return badRequest("id: %s", err)
	}
	made := fleet.Pool{ID: in.ID, Name: in.Name, Thresholds: fleet.DefaultThresholds()}
	for _, check := range []func() error{
		func() error { return checkLine("name", in.Name, maxPoolName) },
		func() error { return setThresholds(&made, in.Thresholds) },
		func() error { return checkLine("reason", in.Reason, maxReason) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	unlock, err := a.pools.lock(c.ctx(), made.ID)
	if err != nil {
		return err
	}
	defer unlock()
	made, err = a.store.CreatePool(c.ctx(), c.actor(), made, in.Reason)
	if err != nil {
		return err
	}
	if err := a.dispatch.PutPool(context.WithoutCancel(c.ctx()), made); err != nil {
		return err
	}
	doc, err := a.readPool(c, made.ID)
	if err != nil {
		return err
	}
	c.Response().Header().Set("ETag", etag(doc.Version))
	return c.created("/v1/admin/node-pools/"+made.ID, doc)
}

// changePool gives a pool another name, state or thresholds; what is absent stays.
func (a *API) changePool(c *call, in *rest.PoolChange) error {
	id, err := c.named("pool")
	if err != nil {
		return err
	}
	version, err := c.ifMatch()
	if err != nil {
		return err
	}
	dry, err := c.dryRun()
	if err != nil {
		return err
	}
	edit := func(p *fleet.Pool) error { return editPool(p, in) }
	if err := edit(&fleet.Pool{}); err != nil { // whatever the pool is like
		return err
	}
	if dry {
		return a.tryPoolChange(c, id, version, edit)
	}
	unlock, err := a.pools.lock(c.ctx(), id)
	if err != nil {
		return err
	}
	defer unlock()
	changed, err := a.store.ChangePool(c.ctx(), c.actor(), id, edit, in.Reason, version)
	if err != nil {
		return err
	}
	if err := a.dispatch.PutPool(context.WithoutCancel(c.ctx()), changed); err != nil {
		return err
	}
	doc, err := a.readPool(c, id)
	if err != nil {
		return err
	}
	c.Response().Header().Set("ETag", etag(doc.Version))
	return c.JSON(http.StatusOK, rest.PoolChanged{Pool: *doc, Applied: true})
}

// tryPoolChange says what a change of the pool would do: the pool as it is, and the
// impact of the state that it would have.
func (a *API) tryPoolChange(c *call, id string, version *int64, edit func(*fleet.Pool) error) error {
	now, err := a.store.Pool(c.ctx(), id)
	if err != nil {
		return err
	}
	if version != nil && *version != now.Version {
		return fleet.Errorf(fleet.CodePreconditionFail, "the pool has another version: read it again")
	}
	if now.Kind == fleet.KindDefault || now.Kind == fleet.KindUnassigned {
		return fleet.Errorf(fleet.CodeConflict, "pool "+id+" is built in: it can't be changed or deleted")
	}
	after := now
	if err := edit(&after); err != nil {
		return err
	}
	doc, err := a.readPool(c, id)
	if err != nil {
		return err
	}
	impact, err := a.impact(c, core.Proposal{Kind: core.ProposePoolState, Pool: id, State: after.State})
	if err != nil {
		return err
	}
	c.Response().Header().Set("ETag", etag(now.Version))
	return c.JSON(http.StatusOK, rest.PoolChanged{Pool: *doc, Impact: impact})
}

func editPool(p *fleet.Pool, in *rest.PoolChange) error {
	if in.Name != nil {
		if *in.Name == "" {
			return badRequest("name is empty")
		}
		if err := checkLine("name", *in.Name, maxPoolName); err != nil {
			return err
		}
		p.Name = *in.Name
	}
	if in.State != nil {
		states := []fleet.PoolState{fleet.PoolActive, fleet.PoolDrains, fleet.PoolIsClosed}
		if !slices.Contains(states, fleet.PoolState(*in.State)) {
			return badRequest("state must be active, draining or disabled")
		}
		p.State = fleet.PoolState(*in.State)
	}
	if err := setThresholds(p, in.Thresholds); err != nil {
		return err
	}
	return checkLine("reason", in.Reason, maxReason)
}

func setThresholds(p *fleet.Pool, in *rest.Thresholds) error {
	if in == nil {
		return nil
	}
	wait := time.Duration(in.QueueWait)
	switch {
	case wait < 0 || wait > maxQueueWait:
		return badRequest("thresholds.queueWait must be 0s to %s", rest.Duration(maxQueueWait))
	case in.FreeSlots < 0:
		return badRequest("thresholds.freeSlots must be 0 or more")
	case in.NotReadyPct < 0 || in.NotReadyPct > 100:
		return badRequest("thresholds.notReadyPct must be 0 to 100")
	}
	p.Thresholds = fleet.Thresholds{QueueWaitMs: wait.Milliseconds(), FreeSlots: in.FreeSlots, NotReadyPct: in.NotReadyPct}
	return nil
}

func (a *API) deletePool(c *call) error {
	id, err := c.named("pool")
	if err != nil {
		return err
	}
	version, err := c.ifMatch()
	if err != nil {
		return err
	}
	unlock, err := a.pools.lock(c.ctx(), id)
	if err != nil {
		return err
	}
	defer unlock()
	if err := a.store.DeletePool(c.ctx(), c.actor(), id, c.QueryParam("reason"), version); err != nil {
		return err
	}
	if err := a.dispatch.RemovePool(context.WithoutCancel(c.ctx()), id); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
