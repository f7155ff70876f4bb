package api

import (
	"net/http"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
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
	standing, err := a.standingDoc(c, explained.Standing, &job, named)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, rest.Explanation{
		Hint: hintOf(&job.Spec, &explained.Now, now),
		Job:  id.String(), State: explained.Job.State.String(), At: rest.At(a.dispatch.WallAt(explained.Now.At)),
		Rule: string(explained.Now.Rule), Pools: poolExplanations(&explained.Now, explained.Nodes, &asks{&job.Spec, now}, named),
		Queue: standing,
		Text:  explained.Now.Text(job.Spec.App, job.Spec.Owner, job.Spec.Demands.Slots),
	})
}

// standingDoc names the reserved node where that is allowed.
func (a *API) standingDoc(c *call, s *core.Standing, job *record.Job, named bool) (*rest.Standing, error) {
	if s == nil {
		return nil, nil
	}
	passed, err := a.store.Passed(c.ctx(), job, s.Pool)
	if err != nil {
		return nil, err
	}
	doc := &rest.Standing{
		Passed: passed.Jobs, PassedAt: rest.AtPtr(passed.At),
		Pool: s.Pool, Position: s.AheadAlike + s.AheadOther + 1, Of: s.Of, AheadAlike: s.AheadAlike, AheadOther: s.AheadOther,
		OtherApps: s.Apps, OtherWork: s.OtherWork, Weight: s.Weight, Weights: s.Weights,
	}
	if named {
		doc.Reserved = s.Reserved
	}
	return doc, nil
}

// poolExplanations counts the nodes under every reason that they have, and names
// them where that is allowed.
func poolExplanations(d *fleet.Decision, nodes []core.NodeReasons, a *asks, named bool) []rest.PoolExplanation {
	list := make([]rest.PoolExplanation, 0, len(d.Pools))
	for i := range d.Pools {
		list = append(list, poolExplanation(d.Pools[i].Pool, nodes, a, named))
	}
	return list
}

func poolExplanation(pool string, nodes []core.NodeReasons, a *asks, named bool) rest.PoolExplanation {
	doc := rest.PoolExplanation{Pool: pool}
	var reasons, first, alone tally
	var under [fleet.NumReasons][]core.NodeReasons // by first reason
	for _, node := range nodes {
		if node.Pool != pool {
			continue
		}
		name := node.Node
		if !named {
			name = ""
		}
		doc.Nodes++
		if len(node.Reasons) == 0 {
			doc.Candidates++
			if named {
				doc.CandidateNodes = append(doc.CandidateNodes, name)
			}
		}
		for _, r := range node.Reasons {
			reasons.add(r, name)
		}
		if len(node.Reasons) > 0 {
			first.add(node.Reasons[0], name)
			under[node.Reasons[0]] = append(under[node.Reasons[0]], node)
		}
		if len(node.Reasons) == 1 {
			alone.add(node.Reasons[0], name)
			if node.Reasons[0] == fleet.NoSlots {
				doc.Roomiest = roomier(doc.Roomiest, name, node.FreeSlots)
			}
			if node.Reasons[0] == fleet.NoSlots && node.Suffices {
				doc.Nearest = roomier(doc.Nearest, name, node.FreeSlots)
			}
		}
	}
	for r, nodes := range under {
		if named && len(nodes) > 0 {
			first[r].Words = a.words(fleet.Reason(r), nodes)
		}
	}
	doc.Reasons, doc.First, doc.Alone = reasons.list(), first.list(), alone.list()
	return doc
}

func roomier(than *rest.Roomiest, node string, free int64) *rest.Roomiest {
	if than != nil && than.FreeSlots >= free {
		return than
	}
	return &rest.Roomiest{Node: node, FreeSlots: free}
}

// tally counts nodes by reason, with the names of those that have one.
type tally [fleet.NumReasons]rest.NodeExplanation

func (t *tally) add(r fleet.Reason, node string) {
	t[r].Nodes++
	if node != "" {
		t[r].NodeIDs = append(t[r].NodeIDs, node)
	}
}

func (t *tally) list() []rest.NodeExplanation {
	list := []rest.NodeExplanation{}
	for r, counted := range t {
		if counted.Nodes > 0 {
			counted.Reason = fleet.Reason(r).String()
			list = append(list, counted)
		}
	}
	return list
}
