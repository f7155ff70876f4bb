package store_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/store/storetest"
	"rockpool/shared/ids"
)

// The placements of the writer's model.

// lasting is the placement that has a key, or none.
func (m *model) lasting(key string) (id ids.JobID, found bool) {
	for id, p := range m.placements {
		if p.Spec.Key == key && !p.Row.State.Ended() {
			return id, true
		}
	}
	return id, false
}

func (m *model) refusePlacements(e *core.Effects, refused map[ids.JobID]core.RefusedWhy, keys map[string]bool) {
	ended := map[ids.JobID]bool{}
	for _, p := range e.Placements {
		known, there := m.placements[p.Spec.ID]
		switch {
		case p.New:
		case !there || known.Row.State.Ended():
			refused[p.Spec.ID] = core.RefusedStale
		case p.Row.State.Ended():
			ended[p.Spec.ID] = true
		}
	}
	for _, p := range e.Placements {
		if _, out := refused[p.Spec.ID]; out || !p.New {
			continue
		}
		if holder, taken := m.lasting(p.Spec.Key); p.Spec.Key != "" && taken && !ended[holder] {
			refused[p.Spec.ID] = core.RefusedStale
		}
		if p.IdempotencyKey != "" && keys[p.IdempotencyKey] {
			refused[p.Spec.ID] = core.RefusedIdempotency
		} else if p.IdempotencyKey != "" {
			keys[p.IdempotencyKey] = true
		}
	}
}

func (m *model) applyPlacements(e *core.Effects, kept func(ids.JobID) bool) {
	for _, p := range e.Placements {
		if !kept(p.Spec.ID) {
			continue
		}
		m.placements[p.Spec.ID] = core.OpenPlacement{Spec: p.Spec, Row: p.Row}
		if p.New && p.IdempotencyKey != "" {
			m.keys[p.IdempotencyKey] = true
		}
	}
}

// place makes a placement, or gives one another state: sometimes one that ended.
func (r *history) place(e *core.Effects) {
	all := slices.SortedFunc(maps.Keys(r.m.placements), ids.JobID.Compare)
	if len(all) == 0 || rapid.Bool().Draw(r.T, "new placement") {
		r.placeNew(e)
		return
	}
	id := rapid.SampledFrom(all).Draw(r.T, "placement")
	if r.taken[id] {
		return
	}
	r.taken[id] = true
	p := core.PlacementWrite{Spec: r.m.placements[id].Spec, Row: r.m.placements[id].Row}
	over := p.Row.State.Ended()
	p.Row.State = rapid.SampledFrom([]fleet.PlacementState{fleet.PlacementActive, fleet.PlacementDraining, fleet.PlacementReleased, fleet.PlacementLost}).Draw(r.T, "becomes")
	p.Row.ExpiresAt, p.Row.EndedAt = now()+1000, 0
	if p.Row.State.Ended() {
		p.Row.EndedAt = now()
	}
	if p.Row.State.Ended() && !over {
		for _, on := range p.Row.Nodes {
			e.Reservations = append(e.Reservations, core.Reservation{Job: id, Node: on.Node, Demand: &p.Spec.Demands, Release: true})
		}
	}
	e.Placements = append(e.Placements, p)
}

func (r *history) placeNew(e *core.Effects) {
	spec := storetest.Placement(r.h.app, time.Now())
	spec.Key = rapid.SampledFrom([]string{"", "a", "b"}).Draw(r.T, "stream")
	if slices.ContainsFunc(e.Placements, func(p core.PlacementWrite) bool { return p.New && spec.Key != "" && p.Spec.Key == spec.Key }) {
		return // the deciding code has one for each key
	}
	spec.Demands.Slots = rapid.Int64Range(0, 2).Draw(r.T, "placed slots")
	spec.Count = int32(rapid.IntRange(1, 2).Draw(r.T, "count"))
	p := core.PlacementWrite{Spec: spec, New: true, Row: core.PlacementRow{CreatedAt: now(), ExpiresAt: now() + 300_000}}
	for _, name := range rapid.Permutation(r.names).Draw(r.T, "on")[:spec.Count] {
		pool := r.m.nodes[name].pool
		if rapid.IntRange(0, 9).Draw(r.T, "placed in a wrong pool") == 0 {
			pool = fleet.PoolDefault
		}
		p.Row.Nodes = append(p.Row.Nodes, fleet.PlacedOn{Node: name, Pool: pool})
		e.Reservations = append(e.Reservations, core.Reservation{Job: spec.ID, Node: name, Pool: pool, Demand: &spec.Demands})
	}
	p.Row.Decision = &fleet.Decision{Outcome: fleet.OutcomePlaced, Node: p.Row.Nodes[0].Node, At: now()}
	if rapid.IntRange(0, 3).Draw(r.T, "placed with key") == 0 {
		p.IdempotencyKey = fmt.Sprint("key ", rapid.IntRange(0, 20).Draw(r.T, "key"))
	}
	r.taken[spec.ID] = true
	e.Placements = append(e.Placements, p)
}

func (r *history) checkPlacements(snapshot *core.Snapshot) {
	got := map[ids.JobID]core.OpenPlacement{}
	for _, p := range snapshot.Placements {
		got[p.Spec.ID] = p
	}
	want := maps.Clone(r.m.placements)
	maps.DeleteFunc(want, func(_ ids.JobID, p core.OpenPlacement) bool { return p.Row.State.Ended() })
	for id, p := range want {
		p.Row.Decision = got[id].Row.Decision // compared where decisions are
		if !reflect.DeepEqual(got[id], p) {
			r.Fatalf("placement %s is %+v, the model says %+v", id, got[id], p)
		}
	}
	if len(got) != len(want) {
		r.Fatalf("%d placements last, the model says %d", len(got), len(want))
	}
}
