package api

import (
	"net/http"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/rest"
)

func (a *API) explainJob(c *call) error {
	id, err := c.jobID()
	if err != nil {
		return err
	}
	job, err := a.store.Job(c.ctx(), id, c.rows())
	if err != nil {
		return err
	}
	explained, open, err := a.dispatch.Explain(c.ctx(), id)
	if err != nil {
		return err
	}
	if !open {
		return fleet.Errorf(fleet.CodeConflict, "the job has ended: its decision and its attempts say why it went as it did")
	}
	// Whose nodes stand in a shared pool is not everybody's business.
	named := a.may(c, "read", "node-id")
	now, err := a.dispatch.Fleet(c.ctx())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, rest.Explanation{
		Hint: hintOf(&job.Spec, &explained.Now, now),
		Job:  id.String(), State: explained.Job.State.String(), At: rest.At(a.dispatch.WallAt(explained.Now.At)),
		Rule: string(explained.Now.Rule), Pools: poolExplanations(&explained.Now, explained.Nodes, named),
		Text: explained.Now.Text(job.Spec.App, job.Spec.Owner, job.Spec.Demands.Slots),
	})
}

// poolExplanations counts the nodes under every reason that they have, and names
// them where that is allowed.
func poolExplanations(d *fleet.Decision, nodes []core.NodeReasons, named bool) []rest.PoolExplanation {
	list := make([]rest.PoolExplanation, 0, len(d.Pools))
	for i := range d.Pools {
		list = append(list, poolExplanation(d.Pools[i].Pool, nodes, named))
	}
	return list
}

func poolExplanation(pool string, nodes []core.NodeReasons, named bool) rest.PoolExplanation {
	doc := rest.PoolExplanation{Pool: pool, Reasons: []rest.NodeExplanation{}}
	var byReason [fleet.NumReasons]rest.NodeExplanation
	for _, node := range nodes {
		if node.Pool != pool {
			continue
		}
		doc.Nodes++
		if len(node.Reasons) == 0 {
			doc.Candidates++
			if named {
				doc.CandidateNodes = append(doc.CandidateNodes, node.Node)
			}
		}
		for _, r := range node.Reasons {
			byReason[r].Nodes++
			if named {
				byReason[r].NodeIDs = append(byReason[r].NodeIDs, node.Node)
			}
		}
	}
	for r, counted := range byReason {
		if counted.Nodes > 0 {
			counted.Reason = fleet.Reason(r).String()
			doc.Reasons = append(doc.Reasons, counted)
		}
	}
	return doc
}
