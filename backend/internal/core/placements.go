package core

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/placement"
	"rockpool/backend/internal/core/schedule"
	"rockpool/shared/ids"
)

// holding is a placement. Its row is as it should be stored.
type holding struct {
	spec    *fleet.PlacementSpec
	row     PlacementRow
	ask     PlacementAsk
	request schedule.Request

	on    []*node    // that have reservations for it
	ends  fleet.Time // unless it is renewed
	timer fleet.Time // when that is looked at
	rev   uint64     // of the newest change that can be seen

	written bool   // some batch has it
	kept    bool   // the database has it
	gen     uint64 // of the newest batch that has it, and its place there
	at      int
	refused uint64               // the last batch that the database did not take it from
	avoid   []schedule.Exclusion // nodes that the database refused
}

// placementKey is what a lasting placement is found by.
type placementKey struct{ app, role, key string }

func keyOfPlacement(spec *fleet.PlacementSpec) placementKey {
	return placementKey{spec.App, spec.Role, spec.Key}
}

func (p *holding) routeKey() routeKey {
	return routeKey{app: p.spec.App, owner: p.spec.Owner, role: p.spec.Role}
}

func newPlacement(spec *fleet.PlacementSpec) *holding {
	return &holding{spec: spec, timer: fleet.Never, request: schedule.Request{
		Role: spec.Role, Backend: spec.Backend, Region: spec.Region, Demand: &spec.Demands,
	}}
}

// Place reserves nodes for an outside client, by the decision that places jobs; it
// never waits. A key whose placement lasts gets that one, wherever its nodes are
// now and without another reservation. A new one is good when it is committed.
func (d *Dispatch) Place(now fleet.Time, ask PlacementAsk, out *Effects) Placed {
	if p := d.byKey[keyOfPlacement(ask.Spec)]; p != nil {
		return Placed{View: p.view(), Existing: true}
	}
	if over := d.overShare(ask.Spec); over != "" {
		return Placed{Over: over}
	}
	p := newPlacement(ask.Spec)
	p.ask = ask
	defer d.settle(now, out)
	if dec := d.grant(now, p, out); dec != nil {
		return Placed{Exhausted: dec}
	}
	return Placed{View: p.view()}
}

// TryPlace decides on a placement without an effect, by the very function that
// places.
func (d *Dispatch) TryPlace(now fleet.Time, spec *fleet.PlacementSpec) Candidates {
	p := newPlacement(spec)
	r := d.quietRoute(p.routeKey())
	d.decideAll(now, r, &p.request, spec.Count, nil)
	return Candidates{Decision: *d.kept(), Nodes: d.nodeReasons(r, &p.request, nil)}
}

// grant gives the placement its nodes; without enough of them nothing is reserved,
// the alarm is raised, and the decision says why.
func (d *Dispatch) grant(now fleet.Time, p *holding, out *Effects) *fleet.Decision {
	r := d.routeBy(p.routeKey())
	nodes := d.decideAll(now, r, &p.request, p.spec.Count, p.avoid)
	dec := d.kept()
	if len(nodes) == 0 {
		dec.Outcome = fleet.OutcomeFailed
		d.notPlaced(now, d.cohortOn(p.spec.App, p.spec.Role, r), p.routeKey(), p.spec.Owner, dec, out)
		return dec
	}
	ttl := fleet.Time(p.spec.TTLMs)
	p.row = PlacementRow{Fallback: dec.Fallback, Decision: dec, CreatedAt: now, ExpiresAt: now + ttl}
	for _, n := range nodes {
		p.row.Nodes = append(p.row.Nodes, fleet.PlacedOn{Node: n.rec.ID, Pool: n.rec.Pool})
		d.index.Reserve(&n.slot, &p.spec.Demands)
		d.crowd(n.rec.Pool, &p.spec.Demands)
	}
	d.keep(p, slices.Clone(nodes))
	d.expireAt(p, p.row.ExpiresAt)
	d.writePlacement(p, out)
	for _, on := range p.row.Nodes {
		out.Reservations = append(out.Reservations, Reservation{Job: p.spec.ID, Node: on.Node, Pool: on.Pool, Demand: &p.spec.Demands})
	}
	if dec.Fallback {
		out.Fallbacks = append(out.Fallbacks, FallbackRecord{
			Job: p.spec.ID, App: p.spec.App, Role: p.spec.Role, From: r.chain.Pools, Node: dec.Node, At: now,
		})
	}
	if len(d.cohorts) > 0 {
		d.relieved(now, d.cohortOn(p.spec.App, p.spec.Role, r), out)
	}
	return nil
}

// keep takes a lasting placement into memory; the index has its reservations.
func (d *Dispatch) keep(p *holding, on []*node) {
	p.on = on
	for _, n := range on {
		n.placements = append(n.placements, p)
		d.seen(n)
	}
	d.useOf(p.spec.App).placements++
	d.useSlots(d.useOf(p.spec.App), slotsOf(p.spec))
	d.placements[p.spec.ID] = p
	at, _ := d.findPlaced(p.spec.ID)
	d.placed = slices.Insert(d.placed, at, p)
	if p.spec.Key != "" {
		d.byKey[keyOfPlacement(p.spec)] = p
	}
}

// letGo is the opposite of keep, and gives the reservations back; memory still
// knows of it.
func (d *Dispatch) letGo(p *holding) {
	for _, n := range p.on {
		d.index.Release(&n.slot, &p.spec.Demands)
		n.placements = slices.DeleteFunc(n.placements, func(other *holding) bool { return other == p })
		d.seen(n)
		d.free(n)
	}
	p.on = nil
	d.useOf(p.spec.App).placements--
	d.useSlots(d.useOf(p.spec.App), -slotsOf(p.spec))
	if at, found := d.findPlaced(p.spec.ID); found {
		d.placed = slices.Delete(d.placed, at, at+1)
	}
	if p.spec.Key != "" {
		delete(d.byKey, keyOfPlacement(p.spec))
	}
}

func (d *Dispatch) findPlaced(id ids.JobID) (at int, found bool) {
	return slices.BinarySearchFunc(d.placed, id, func(p *holding, id ids.JobID) int { return p.spec.ID.Compare(id) })
}

// Renew lets a lasting placement last so long from now, or with 0 as long as was
// asked for at first; false: it does not last.
func (d *Dispatch) Renew(now fleet.Time, id ids.JobID, ttlMs int64, out *Effects) (PlacementView, bool) {
	p := d.placements[id]
	if p == nil || p.row.State.Ended() {
		return PlacementView{}, false
	}
	if ttlMs == 0 {
		ttlMs = p.spec.TTLMs
	}
	p.row.ExpiresAt = now + fleet.Time(ttlMs)
	d.expireAt(p, p.row.ExpiresAt)
	d.writePlacement(p, out)
	d.settle(now, out)
	return p.view(), true
}

// Release ends a placement on its holder's word, once; false: it did not last any
// more, or never was.
func (d *Dispatch) Release(now fleet.Time, id ids.JobID, out *Effects) (PlacementView, bool) {
	p := d.placements[id]
	if p == nil {
		return PlacementView{}, false
	}
	d.endPlacement(now, p, placement.Released, out)
	d.settle(now, out)
	return p.view(), true
}

// endPlacement ends one that lasts. Of one that only the gathering batch has,
// nobody has heard: when its node goes it is placed anew, else it never was.
func (d *Dispatch) endPlacement(now fleet.Time, p *holding, why placement.Event, out *Effects) {
	next := placement.Next(p.row.State, why)
	switch {
	case p.row.State.Ended():
	case d.unheard(p, out) && why == placement.Gone:
		d.placeAgain(now, p, out)
	case d.unheard(p, out):
		d.withdrawPlacement(p, out)
		p.row.State, p.row.EndedAt = next, now
		out.Unplaced = append(out.Unplaced, Unplaced{ID: p.spec.ID})
	default:
		d.letGo(p)
		for _, on := range p.row.Nodes {
			out.Reservations = append(out.Reservations, Reservation{Job: p.spec.ID, Node: on.Node, Demand: &p.spec.Demands, Release: true})
		}
		p.row.State, p.row.EndedAt = next, now
		d.writePlacement(p, out)
		d.ended.add(p)
	}
}

// unheard reports that only the gathering batch has the placement.
func (d *Dispatch) unheard(p *holding, out *Effects) bool {
	return p.gen == d.number(out) && out.Placements[p.at].New
}

// placeAgain gives a placement that nobody has heard of other nodes.
func (d *Dispatch) placeAgain(now fleet.Time, p *holding, out *Effects) {
	d.withdrawPlacement(p, out)
	d.regrant(now, p, out)
}

// regrant is grant for one that is waited for: who waits is told when it comes to
// nothing.
func (d *Dispatch) regrant(now fleet.Time, p *holding, out *Effects) {
	if dec := d.grant(now, p, out); dec != nil {
		out.Unplaced = append(out.Unplaced, Unplaced{ID: p.spec.ID, Decision: dec})
	}
}

// withdrawPlacement forgets one that the database does not have, and all that the
// gathering batch has of it.
func (d *Dispatch) withdrawPlacement(p *holding, out *Effects) {
	id := p.spec.ID
	if p.row.State.Ended() {
		d.ended.drop(p)
	} else {
		d.letGo(p)
	}
	delete(d.placements, id)
	for i := len(out.Reservations) - 1; i >= 0; i-- {
		if out.Reservations[i].Job == id {
			d.dropReservation(i, out)
		}
	}
	out.Fallbacks = slices.DeleteFunc(out.Fallbacks, func(f FallbackRecord) bool { return f.Job == id })
	if p.gen == d.number(out) {
		last := len(out.Placements) - 1
		if p.at != last {
			out.Placements[p.at] = out.Placements[last]
			d.placements[out.Placements[p.at].Spec.ID].at = p.at
		}
		out.Placements[last] = PlacementWrite{}
		out.Placements = out.Placements[:last]
	}
	p.written, p.gen, p.timer = false, 0, fleet.Never
	d.rev++
}

// writePlacement brings the batch up to the placement as it is.
func (d *Dispatch) writePlacement(p *holding, out *Effects) {
	d.seenPlacement(p)
	if gen := d.number(out); p.gen != gen {
		p.gen, p.at = gen, len(out.Placements)
		w := PlacementWrite{Spec: p.spec, New: !p.written}
		if w.New {
			w.IdempotencyKey, w.RequestDigest = p.ask.IdempotencyKey, p.ask.RequestDigest
		}
		p.written = true
		out.Placements = append(out.Placements, w)
	}
	out.Placements[p.at].Row = p.row
}
