package api

import (
	"net/http"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
)

func (a *API) jobDecision(c *call) error {
	id, err := c.jobID()
	if err != nil {
		return err
	}
	job, err := a.store.Job(c.ctx(), id, c.rows())
	if err != nil {
		return err
	}
	if len(job.Decision) == 0 {
		return fleet.Errorf(fleet.CodeNotFound, "nothing has been decided about this job yet")
	}
	kept, err := record.DecodeDecision(job.Decision)
	if err != nil {
		return err
	}
	doc := decisionDoc(&kept.Decision, kept.At)
	doc.Text = kept.Decision.Text(job.Spec.App, job.Spec.Owner, job.Spec.Demands.Slots)
	return c.JSON(http.StatusOK, doc)
}

func decisionDoc(d *fleet.Decision, at time.Time) rest.Decision {
	doc := rest.Decision{
		Outcome: string(d.Outcome), At: rest.At(at), Rule: string(d.Rule), Pools: make([]rest.PoolDecision, len(d.Pools)),
		Node: d.Node, RemainingSlots: d.RemainingSlots, TieBreak: d.TieBreak, Fallback: d.Fallback,
		FallbackOK: d.FallbackOK, Epoch: d.Epoch,
	}
	for i := range d.Pools {
		t := &d.Pools[i]
		pool := rest.PoolDecision{Pool: t.Pool, Nodes: t.Nodes, Candidates: t.Candidates, Rejected: map[string]int32{}}
		for reason, nodes := range t.Rejected {
			if nodes > 0 {
				pool.Rejected[reasonName(fleet.Reason(reason), t)] = nodes
			}
		}
		doc.Pools[i] = pool
	}
	return doc
}

// reasonsOf lists what a refusal counts, pool by pool, in the reasons' order.
func reasonsOf(d *fleet.Decision) []rest.Reason {
	var list []rest.Reason
	for i := range d.Pools {
		t := &d.Pools[i]
		for reason, nodes := range t.Rejected {
			if nodes > 0 {
				list = append(list, rest.Reason{Pool: t.Pool, Reason: reasonName(fleet.Reason(reason), t), Nodes: nodes})
			}
		}
	}
	return list
}

// reasonName is a reason as it is printed, with what was short where a name goes with it.
func reasonName(r fleet.Reason, t *fleet.Tally) string {
	switch r {
	case fleet.NoResource:
		return r.String() + ":" + t.Resource
	case fleet.NoMemory:
		return r.String() + ":" + t.Domain
	}
	return r.String()
}
