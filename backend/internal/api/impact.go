package api

import (
	"slices"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/rest"
)

// dryRun reads ?dryRun: true says what the change would do, and does nothing.
func (c *call) dryRun() (bool, error) { return c.flag("dryRun") }

// impact asks what a change would do, without doing it. Whoever sees some pools only
// gets what concerns these.
func (a *API) impact(c *call, p core.Proposal) (*rest.Impact, error) {
	found, err := a.dispatch.Impact(c.ctx(), p)
	if err != nil {
		return nil, err
	}
	if !c.scope.All {
		sees, err := a.appFilter(c)
		if err != nil {
			return nil, err
		}
		found.Pools = slices.DeleteFunc(found.Pools, func(p core.PoolImpact) bool { return !c.sees(0, p.Pool) })
		found.Apps = slices.DeleteFunc(found.Apps, func(row core.AppImpact) bool { return !sees(row.App, row.Owner) })
	}
	doc := a.impactDoc(&found)
	return &doc, nil
}

func (a *API) impactDoc(i *core.Impact) rest.Impact {
	doc := rest.Impact{
		At: rest.At(a.dispatch.WallAt(i.At)), Waiting: i.Waiting, Placements: i.Placements, Running: blockers(i.Running),
		Pools: make([]rest.PoolImpact, len(i.Pools)), Apps: make([]rest.AppImpact, len(i.Apps)),
	}
	for n := range i.Pools {
		p := &i.Pools[n]
		doc.Pools[n] = rest.PoolImpact{
			Pool:   p.Pool,
			Before: rest.PoolShape{Usable: p.UsableBefore, Slots: p.SlotsBefore, Free: p.FreeBefore, OutOfUse: p.OutOfUseBefore},
			After:  rest.PoolShape{Usable: p.Usable, Slots: p.Slots, Free: p.Free, OutOfUse: p.OutOfUse},
		}
	}
	for n := range i.Apps {
		row := &i.Apps[n]
		doc.Apps[n] = rest.AppImpact{
			App: row.App, Owner: ownerText(row.Owner), Role: row.Role, Before: row.UsableBefore, After: row.Usable,
			Waiting: row.Waiting, FallbackAllowed: row.Fallback,
		}
	}
	return doc
}

// exhausted lists the apps that have a usable node now and would have none.
func exhausted(i *rest.Impact) []string {
	var apps []string
	for _, row := range i.Apps {
		if row.After == 0 && row.Before > 0 && !slices.Contains(apps, row.App) {
			apps = append(apps, row.App)
		}
	}
	return apps
}

var phases = [...]string{core.PhaseAccepted: "accepted", core.PhaseRunning: "running", core.PhaseStopping: "stopping"}

func blockers(running []core.Held) []rest.Blocker {
	list := make([]rest.Blocker, len(running))
	for i, r := range running {
		list[i] = rest.Blocker{Job: r.Job.String(), Attempt: r.Attempt, Phase: phases[r.Phase], Percent: r.Percent}
	}
	return list
}
