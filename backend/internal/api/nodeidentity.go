package api

import (
	"context"
	"net/http"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/enroll"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
)

// maxShort bounds ids that the control plane makes.
const maxShort = 64

// rotateNode has a node make another secret.
func (a *API) rotateNode(c *call, in *rest.ReasonRequest) error {
	changed, err := a.changeNode(c, in.Reason, a.store.RotateNode)
	if err != nil {
		return err
	}
	return a.answerNode(c, changed.ID)
}

// repairNode chooses the claimant that is the node.
func (a *API) repairNode(c *call, in *rest.RepairRequest) error {
	if err := checkLine("keep", in.Keep, maxShort); err != nil {
		return err
	}
	if in.Keep == "" {
		return badRequest("keep: the id of a claimant of the node")
	}
	changed, err := a.changeNode(c, in.Reason, func(ctx context.Context, actor record.Actor, node, reason string, ifVersion *int64) (fleet.NodeRecord, error) {
		return a.store.RepairNode(ctx, actor, node, in.Keep, reason, ifVersion)
	})
	if err != nil {
		return err
	}
	return a.answerNode(c, changed.ID)
}

// putNodeSecret keeps what the asking node made for a rotation. When it is answered
// the next session may come with it.
func (a *API) putNodeSecret(c *call, in *rest.NodeSecretRequest) error {
	sum, ok := enroll.ParseNodeSecret(in.Secret)
	if !ok {
		return badRequest("a node secret is 43 characters of base64url")
	}
	if err := checkLine("id", in.ID, maxShort); err != nil {
		return err
	}
	changed, err := a.store.SetNextSecret(c.ctx(), c.who.Node.ID, in.ID, sum)
	if err != nil {
		return err
	}
	if err := a.dispatch.PutNode(context.WithoutCancel(c.ctx()), changed); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func (a *API) claimantDocs(claimants []fleet.Claimant) []rest.Claimant {
	if len(claimants) == 0 {
		return nil
	}
	list := make([]rest.Claimant, len(claimants))
	for i, cl := range claimants {
		list[i] = rest.Claimant{
			ID: cl.ID, Holder: cl.Holder, Address: cl.Address, MachineID: cl.MachineID, BootID: cl.BootID, AgentVersion: cl.AgentVersion,
			SeenAt: rest.At(a.dispatch.WallAt(cl.Seen)),
		}
	}
	return list
}
