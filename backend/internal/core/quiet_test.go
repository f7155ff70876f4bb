package core

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// looks are all the ways to read, each with its answer.
func (w *world) looks() []any {
	d := w.d
	answers := []any{d.Fleet(w.now), d.Changed(w.now, 0, true), d.Alignment(), d.Alarms(), d.Totals(), d.Rev(), d.Next()}
	for _, spec := range append(w.jobs, w.askedFor()...) {
		v, open := d.LiveJob(w.now, spec.ID)
		e, _ := d.Explain(w.now, spec.ID)
		answers = append(answers, v, open, e, d.Preview(w.now, spec))
	}
	for _, app := range append(w.store.apps, fleet.App{ID: "nobody's", Owner: 99}) {
		for _, role := range append(worldRoles, "", "unheard-of") {
			answers = append(answers, d.Usable(app, role))
		}
	}
	for _, p := range append(w.store.pools, fleet.Pool{ID: "nowhere"}) {
		answers = append(answers, d.Resolvers(p.ID))
		for _, state := range []fleet.PoolState{fleet.PoolActive, fleet.PoolDrains, fleet.PoolIsClosed} {
			answers = append(answers, d.Impact(w.now, Proposal{Kind: ProposePoolState, Pool: p.ID, State: state}))
		}
		some := []string{w.agents[0].id, w.agents[len(w.agents)/2].id, "nobody"}
		answers = append(answers, d.Impact(w.now, Proposal{Kind: ProposeMove, Nodes: some, Pool: p.ID}))
	}
	return append(answers, d.Impact(w.now, Proposal{Kind: ProposeHold, Nodes: []string{w.agents[0].id}}))
}

// askedFor is work that nobody has submitted.
func (w *world) askedFor() []*fleet.JobSpec {
	var list []*fleet.JobSpec
	for i, app := range []string{"a1", "a0", "unheard-of"} {
		for j, role := range append(worldRoles, "unheard-of") {
			spec := &fleet.JobSpec{ID: ids.JobID{9, byte(i), byte(j)}, App: app, Owner: 55, Role: role, Demands: fleet.Vector{Slots: 1}}
			list = append(list, spec)
			canary := *spec
			canary.Pool = []string{"canary", "nowhere", fleet.PoolUnassigned}[i]
			list = append(list, &canary)
		}
	}
	return list
}

// Nobody who looks changes anything, and who looks twice sees the same.
func TestLooks_HaveNoEffect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(func(name string, n int) int { return rapid.IntRange(0, n-1).Draw(t, name) }, t.Fatalf)
		w.found(6)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			w.step()
		}
		before, batch := stateOf(w.d), *w.pending
		first := w.looks()
		if after := stateOf(w.d); after != before {
			t.Fatalf("looking changed memory:\n%s\n%s", before, after)
		}
		if !reflect.DeepEqual(batch, *w.pending) {
			t.Fatal("looking has an effect")
		}
		for i, second := range w.looks() {
			if !reflect.DeepEqual(first[i], second) {
				t.Fatalf("look %d differs: %+v and %+v", i, first[i], second)
			}
		}
	})
}

// What a dry run says is what happens.
func TestImpact_IsWhatHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(name string, n int) int { return rapid.IntRange(0, n-1).Draw(t, name) }
		w := newWorld(pick, t.Fatalf)
		w.found(8)
		for _, a := range w.agents {
			w.join(a)
		}
		for range rapid.IntRange(0, 20).Draw(t, "changes") {
			w.change()
		}
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			w.step()
		}
		for len(w.admin) > 0 {
			w.listen()
		}
		p := Proposal{Kind: ProposalKind(pick("kind", 3)), Pool: w.store.pools[pick("pool", len(w.store.pools))].ID}
		p.State = []fleet.PoolState{fleet.PoolActive, fleet.PoolDrains, fleet.PoolIsClosed}[pick("state", 3)]
		for _, a := range w.agents {
			if pick("meant", 2) == 0 {
				p.Nodes = append(p.Nodes, a.id)
			}
		}
		before := w.d.supplyOf(asIs)
		said := w.d.Impact(w.now, p)
		w.carryOut(p)
		w.compare(p, said, before)
	})
}

func (w *world) carryOut(p Proposal) {
	if p.Kind == ProposePoolState {
		for i := range w.store.pools {
			if w.store.pools[i].ID == p.Pool {
				w.store.pools[i].State = p.State
				w.d.PutPool(w.now, w.store.pools[i], w.pending)
			}
		}
		return
	}
	for _, id := range p.Nodes {
		w.move(id, func(r *fleet.NodeRecord) {
			if p.Kind == ProposeMove {
				r.Pool = p.Pool
			} else {
				r.Holds = []fleet.Hold{{Kind: fleet.HoldCordon, Owner: fleet.OwnerOperator}}
			}
		})
	}
}

func (w *world) compare(p Proposal, said Impact, before *supply) {
	is := w.d.supplyOf(asIs)
	changed := map[string]PoolImpact{}
	for _, row := range said.Pools {
		changed[row.Pool] = row
	}
	for _, id := range is.ids {
		was, now := before.pool(id).shape, is.pool(id).shape
		row, listed := changed[id]
		if !listed {
			row = PoolImpact{UsableBefore: was.usable, Usable: was.usable, SlotsBefore: was.slots, Slots: was.slots}
		}
		if row.UsableBefore != was.usable || row.SlotsBefore != was.slots || row.Usable != now.usable || row.Slots != now.slots {
			w.fail("%+v: %s was %+v, is %+v, and the dry run said %+v", p, id, was, now, row)
		}
	}
	for _, row := range said.Apps {
		if got := w.d.Usable(*w.d.apps[row.App], row.Role); got != row.Usable {
			w.fail("%+v: %s has %d usable nodes for %s, the dry run said %+v", p, row.App, got, row.Role, row)
		}
	}
	for _, app := range w.store.apps {
		for _, role := range worldRoles {
			listed := false
			for _, row := range said.Apps {
				listed = listed || row.App == app.ID && row.Role == role
			}
			if !listed && w.d.Usable(app, role) != before.reach(w.d.chainIf(routeKey{app: app.ID, role: role}, before.owners), role) {
				w.fail("%+v: what %s has for %s changed, and the dry run has no row of it: %+v", p, app.ID, role, said.Apps)
			}
		}
	}
}
