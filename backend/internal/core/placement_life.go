package core

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/hold"
	"rockpool/backend/internal/core/placement"
	"rockpool/backend/internal/core/schedule"
	"rockpool/shared/ids"
)

// expireAt lets the placement end then.
func (d *Dispatch) expireAt(p *holding, at fleet.Time) {
	p.ends = at
	if at < p.timer {
		p.timer = at
		d.timers.add(timer{at: at, kind: ttlDue, job: p.spec.ID})
	}
}

// ttlDue looks at a placement that nobody may have renewed.
func (d *Dispatch) ttlDue(now fleet.Time, t timer, out *Effects) {
	p := d.placements[t.job]
	if p == nil || p.row.State.Ended() || t.at != p.timer {
		return
	}
	p.timer = fleet.Never
	switch {
	case p.ends > now:
		d.expireAt(p, p.ends)
	case !d.freeze.lasts(): // else its holder can't renew it; Thaw spares it
		d.endPlacement(now, p, placement.Expired, out)
	}
}

// sparePlacements gives every holder time to renew, after a time in which this
// process stood still: its timers are that late.
func (d *Dispatch) sparePlacements(now, late fleet.Time) {
	for _, p := range d.placed {
		if p.timer != fleet.Never {
			p.timer += late
		}
		d.expireAt(p, placement.Spared(p.ends, now, fleet.Time(p.spec.TTLMs)))
		d.seenPlacement(p)
	}
}

// turnPlacements lets those on the node say whether a node of theirs is drained.
func (d *Dispatch) turnPlacements(now fleet.Time, n *node, out *Effects) {
	for _, p := range slices.Clone(n.placements) {
		why := placement.Lifted
		if p.drained(now) {
			why = placement.Drained
		}
		switch next := placement.Next(p.row.State, why); {
		case next == p.row.State:
		case d.unheard(p, out):
			d.placeAgain(now, p, out)
		default:
			p.row.State = next
			d.writePlacement(p, out)
		}
	}
}

// drained reports that a node of the placement is being drained, by whomever.
func (p *holding) drained(now fleet.Time) bool {
	return slices.ContainsFunc(p.on, func(n *node) bool {
		drains, _ := hold.Drains(n.rec.Holds, now)
		return drains
	})
}

// restorePlacements takes those that last from a snapshot. Their holders could not
// renew them meanwhile, and get time for it.
func (d *Dispatch) restorePlacements(now fleet.Time, open []OpenPlacement) {
	if byID := func(a, b OpenPlacement) int { return a.Spec.ID.Compare(b.Spec.ID) }; !slices.IsSortedFunc(open, byID) {
		open = slices.SortedFunc(slices.Values(open), byID)
	}
	for i := range open {
		p := newPlacement(open[i].Spec)
		p.row, p.written, p.kept = open[i].Row, true, true
		p.row.ExpiresAt = min(p.row.ExpiresAt, now+fleet.MaxTTLMs) // the wall clock may have been set back
		var on []*node
		for _, at := range p.row.Nodes {
			if n := d.nodes[at.Node]; n != nil {
				d.index.Charge(&n.slot, &p.spec.Demands)
				on = append(on, n)
			}
		}
		d.keep(p, on)
		d.expireAt(p, placement.Spared(p.row.ExpiresAt, now, fleet.Time(p.spec.TTLMs)))
		gone := func(n *node) bool { return n.lease.State == fleet.LeaseLeft }
		if len(on) < len(p.row.Nodes) || slices.ContainsFunc(on, gone) {
			d.resume.gone = append(d.resume.gone, p)
		}
	}
}

// placementCommitted notes that the database has the placement.
func (d *Dispatch) placementCommitted(batch *Effects, w *PlacementWrite) {
	p := d.placements[w.Spec.ID]
	if p == nil || p.refused == batch.gen {
		return
	}
	p.kept, p.avoid = true, nil
	if w.Row.State.Ended() {
		delete(d.placements, w.Spec.ID)
	}
}

// refusePlacement undoes what the database did not take. A new placement looks for
// other nodes, a few times; one that has ended since may be asked for anew.
func (d *Dispatch) refusePlacement(now fleet.Time, batch *Effects, r *Refusal, p *holding, out *Effects) {
	if p.refused == batch.gen {
		return // by another of its nodes
	}
	inBetween := p.gen != batch.gen && p.gen != d.number(out)
	if p.kept || inBetween || r.Why == RefusedStale {
		out.Reload = true
		return
	}
	p.refused = batch.gen
	ended, nodes := p.row.State.Ended(), p.on
	d.withdrawPlacement(p, out)
	switch {
	case r.Why != RefusedAssignment:
	case ended:
		out.Unplaced = append(out.Unplaced, Unplaced{ID: p.spec.ID})
	default:
		p.exclude(nodes, r.Node)
		d.regrant(now, p, out)
	}
}

// exclude keeps the placement from the node that refused it, or from all when
// nobody knows which did.
func (p *holding) exclude(nodes []*node, refused string) {
	for _, n := range nodes {
		if refused == "" || refused == n.rec.ID {
			p.avoid = append(p.avoid, schedule.Exclusion{Node: &n.slot, Until: fleet.Never})
		}
	}
}

// LivePlacement shows a placement as it is now; not kept: the database does not
// have it yet. False: it does not last, and its end is committed.
func (d *Dispatch) LivePlacement(id ids.JobID) (v PlacementView, kept, known bool) {
	p := d.placements[id]
	if p == nil {
		return PlacementView{}, false, false
	}
	return p.view(), p.kept, true
}

// Placements lists those that last, by id.
func (d *Dispatch) Placements() []PlacementView {
	list := make([]PlacementView, len(d.placed))
	for i, p := range d.placed {
		list[i] = p.view()
	}
	return list
}

func (p *holding) view() PlacementView {
	v := PlacementView{Spec: p.spec, Row: p.row}
	if !p.row.State.Ended() {
		v.Row.ExpiresAt = max(v.Row.ExpiresAt, p.ends)
	}
	return v
}

// seenPlacement notes a change of a placement that can be seen.
func (d *Dispatch) seenPlacement(p *holding) {
	d.rev++
	p.rev, d.ended.rev = d.rev, d.rev
}
