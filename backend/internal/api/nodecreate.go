package api

import (
	"context"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/enroll"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
	"rockpool/shared/ids"
)

// createNode makes the record of a node and hands out its secret, once. It starts in
// its owner's pool, without an owner in default.
func (a *API) createNode(c *call, in *rest.NodeRequest) error {
	if err := ids.CheckName(in.ID); err != nil {
		return badRequest("id: %s", err)
	}
	if err := ids.CheckName(in.Role); err != nil {
		return badRequest("role: %s", err)
	}
	if in.MaxSlots < 0 || in.MaxSlots > fleet.MaxSlots {
		return badRequest("maxSlots must be 0 to %d", fleet.MaxSlots)
	}
	node := record.Node{NodeRecord: fleet.NodeRecord{ID: in.ID, Role: in.Role, MaxSlots: in.MaxSlots}}
	if in.Owner != "" {
		owner, err := a.existingUser(c, "owner", in.Owner)
		if err != nil {
			return err
		}
		node.Owner = owner
	}
	secret := enroll.NewNodeSecret()
	row, err := a.store.CreateNode(c.ctx(), c.actor(), node, secret.Sum)
	if err != nil {
		return err
	}
	if err := a.dispatch.PutNode(context.WithoutCancel(c.ctx()), row.NodeRecord); err != nil {
		return err
	}
	now, err := a.dispatch.Fleet(c.ctx())
	if err != nil {
		return err
	}
	return c.created("/v1/nodes/"+row.ID, rest.NewNode{Node: a.nodeDoc(&row, now), Secret: secret.Text})
}
