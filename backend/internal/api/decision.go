package api

import (
	"fmt"
	"net/http"
	"strings"
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
	job, err := a.store.Job(c.ctx(), id, c.owner())
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
	doc.Text = decisionText(&kept.Decision, &job.Spec)
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

// decisionText says a decision in words.
func decisionText(d *fleet.Decision, spec *fleet.JobSpec) string {
	if len(d.Pools) == 0 {
		return fmt.Sprintf("No pool was there for %s.", spec.App)
	}
	parts := make([]string, len(d.Pools))
	for i := range d.Pools {
		fallback := d.Fallback && i == len(d.Pools)-1 || i > 0 && d.Rule == fleet.RuleOwnerPool
		parts[i] = poolText(&d.Pools[i], ruleText(d.Rule, spec, i, fallback), spec)
	}
	return strings.Join(parts, "; then ") + outcomeText(d, spec)
}

// ruleText says why the pool at that place was asked.
func ruleText(rule fleet.ResolutionRule, spec *fleet.JobSpec, place int, fallback bool) string {
	switch {
	case fallback:
		return "the fallback"
	case rule == fleet.RuleBinding:
		return fmt.Sprintf("bound to %s, place %d", spec.App, place+1)
	case rule == fleet.RuleOwnerPool:
		return fmt.Sprintf("owner's pool of user %d", spec.Owner)
	}
	return spec.App + " has no owner"
}

func poolText(t *fleet.Tally, why string, spec *fleet.JobSpec) string {
	head := fmt.Sprintf("%s (%s): ", t.Pool, why)
	if t.Nodes == 0 {
		return head + "it has no nodes"
	}
	could := fmt.Sprintf("%d of %d nodes could take it", t.Candidates, t.Nodes)
	if t.Candidates == 0 {
		could = fmt.Sprintf("none of %d nodes could take it", t.Nodes)
	}
	var rejected []string
	for reason, nodes := range t.Rejected {
		if nodes > 0 {
			rejected = append(rejected, fmt.Sprintf("%d %s", nodes, reasonWords(fleet.Reason(reason), t, spec)))
		}
	}
	if len(rejected) == 0 {
		return head + could
	}
	return head + could + " (" + strings.Join(rejected, ", ") + ")"
}

// reasonWords follow a number of nodes, with what exactly was not there.
func reasonWords(r fleet.Reason, t *fleet.Tally, spec *fleet.JobSpec) string {
	var what string
	switch r {
	case fleet.NoRunner:
		what = spec.Runner
	case fleet.WrongBackend:
		what = spec.Backend
	case fleet.NoResource:
		what = t.Resource
	case fleet.NoMemory:
		what = t.Domain
	}
	if what == "" {
		return r.Words()
	}
	return r.Words() + " " + what
}

func outcomeText(d *fleet.Decision, spec *fleet.JobSpec) string {
	if d.Outcome == fleet.OutcomePlaced {
		text := fmt.Sprintf("; %s had the most free slots (%d)", d.Node, d.RemainingSlots+spec.Demands.Slots)
		if d.TieBreak {
			text += ", and the first id of those with as many"
		}
		return text + "."
	}
	text := ". It waits for one that can."
	if d.Outcome == fleet.OutcomeFailed {
		text = ". It failed, as it was asked to."
	}
	if !d.FallbackOK {
		text += fmt.Sprintf(" Fallback to default is off for %s.", spec.App)
	}
	return text
}
