package core

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/schedule"
)

// decide finds the node for a request; nil: there is none.
func (d *Dispatch) decide(now fleet.Time, r *route, request *schedule.Request, avoid []schedule.Exclusion) *node {
	if nodes := d.decideAll(now, r, request, 1, avoid); len(nodes) > 0 {
		return nodes[0]
	}
	return nil
}

// decideAll finds so many distinct nodes for a request, best first, in the first
// pool of the route that has as many: pools are never mixed. It leaves the reasons
// in the scratch decision, which the next call overwrites, as it does what is
// returned. It changes nothing else: previews and placing call the same function.
func (d *Dispatch) decideAll(now fleet.Time, r *route, request *schedule.Request, count int32, avoid []schedule.Exclusion) []*node {
	dec := &d.scratch
	*dec = fleet.Decision{
		Outcome: fleet.OutcomeWaiting, At: now, Rule: r.chain.Rule, Pools: dec.Pools[:0],
		FallbackOK: r.chain.Fallback, Epoch: d.shard,
	}
	for i, p := range r.pools {
		dec.Pools = append(dec.Pools, fleet.Tally{})
		pick := p.Find(request, avoid, &dec.Pools[i])
		if pick.Node == nil || !d.pickAll(p, request, count, avoid, pick.Node) {
			continue
		}
		dec.Outcome, dec.Node, dec.TieBreak = fleet.OutcomePlaced, pick.Node.ID, pick.Tie
		dec.RemainingSlots = pick.Node.FreeSlots() - request.Demand.Slots
		dec.Fallback = r.chain.IsFallback(i)
		return d.picked
	}
	return nil
}

// pickAll completes the pool's best node to as many as are asked for; false: the
// pool does not have them.
func (d *Dispatch) pickAll(p *schedule.Pool, request *schedule.Request, count int32, avoid []schedule.Exclusion, best *schedule.Node) bool {
	d.picked = append(d.picked[:0], nodeOf(best))
	if count <= 1 {
		return true
	}
	taken := append(slices.Clone(avoid), schedule.Exclusion{Node: best})
	for int32(len(d.picked)) < count {
		var rest fleet.Tally
		next := p.Find(request, taken, &rest).Node
		if next == nil {
			return false
		}
		d.picked = append(d.picked, nodeOf(next))
		taken = append(taken, schedule.Exclusion{Node: next})
	}
	return true
}

// kept copies the scratch decision. One pool, as nearly all have, lies beside it.
func (d *Dispatch) kept() *fleet.Decision {
	kept := &struct {
		fleet.Decision
		first [1]fleet.Tally
	}{Decision: d.scratch}
	kept.Pools = append(kept.first[:0], d.scratch.Pools...)
	return &kept.Decision
}

// keptWaiting is kept for a job that waits: what came in one moment and waits for
// the same reasons has one decision, which nobody changes.
func (d *Dispatch) keptWaiting() *fleet.Decision {
	if last := d.waiting; last == nil || last.At != d.scratch.At || last.Rule != d.scratch.Rule ||
		last.FallbackOK != d.scratch.FallbackOK || last.Epoch != d.scratch.Epoch || !slices.Equal(last.Pools, d.scratch.Pools) {
		d.waiting = d.kept()
	}
	return d.waiting
}

// unchoose makes the scratch decision that of work which waits, also when a node
// could take it.
func (d *Dispatch) unchoose() {
	dec := &d.scratch
	dec.Outcome, dec.Node, dec.TieBreak, dec.RemainingSlots, dec.Fallback = fleet.OutcomeWaiting, "", false, 0, false
}

// placeable reports that a node could take new work now.
func (d *Dispatch) placeable(now fleet.Time, spec *fleet.JobSpec, r *route) bool {
	request := schedule.RequestOf(spec)
	return d.decide(now, r, &request, nil) != nil
}
