package schedule

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
)

// scan is Find without an index.
func scan(nodes []*Node, p *Pool, r *Request, excluded []Exclusion) (Pick, fleet.Tally) {
	tally := fleet.Tally{Pool: p.ID}
	var best Pick
	ranked := slices.Clone(nodes)
	slices.SortFunc(ranked, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(min(b.FreeSlots(), 64), min(a.FreeSlots(), 64)), cmp.Compare(a.ID, b.ID))
	})
	for _, n := range ranked {
		if n.pool != p {
			continue
		}
		tally.Nodes++
		reason, name := firstReason(n, r, excluded)
		switch {
		case reason != Admitted:
			reject(&tally, reason, name)
		case best.Node == nil:
			best.Node = n
		case best.Node.FreeSlots() == n.FreeSlots():
			best.Tie = true
		}
		if reason == Admitted {
			tally.Candidates++
		}
	}
	return best, tally
}

// hoped is Could without an index.
func hoped(nodes []*Node, p *Pool, r *Request) bool {
	if p.State == fleet.PoolIsClosed {
		return false
	}
	for _, n := range nodes {
		empty := &Node{pool: &Pool{State: fleet.PoolActive}, group: n.group, capacity: n.capacity}
		if n.pool != p || n.blocks.Has(gone) {
			continue
		}
		if reason, _ := firstReason(empty, r, nil); reason == Admitted {
			return true
		}
	}
	return false
}

func freeSlots(nodes []*Node, p *Pool) (sum int64) {
	for _, n := range nodes {
		if n.pool == p && n.Eligible() {
			sum += n.FreeSlots()
		}
	}
	return sum
}

func firstReason(n *Node, r *Request, excluded []Exclusion) (fleet.Reason, string) {
	switch {
	case n.pool.State == fleet.PoolIsClosed:
		return fleet.PoolDisabled, ""
	case n.pool.State == fleet.PoolDrains:
		return fleet.PoolDraining, ""
	case n.group.attrs.Role != r.Role:
		return fleet.WrongRole, ""
	case n.blocks != 0:
		return n.blocks.First(), ""
	case n.kept:
		return fleet.Reserved, ""
	case r.Runner != "" && !slices.Contains(n.group.attrs.Runners, r.Runner):
		return fleet.NoRunner, ""
	case r.Backend != "" && r.Backend != n.group.attrs.Backend:
		return fleet.WrongBackend, ""
	case r.Region != "" && r.Region != n.group.attrs.Region:
		return fleet.WrongRegion, ""
	case slices.ContainsFunc(excluded, func(e Exclusion) bool { return e.Node == n }):
		return fleet.Excluded, ""
	}
	return short(&n.capacity, &n.reserved, r.Demand)
}

var (
	testRoles    = []string{"edge", "worker"}
	testBackends = []string{"cpu", "cuda"}
	testRegions  = []string{"ams", "fra"}
	testRunners  = [][]string{{"noop"}, {"checksum", "noop"}, {"checksum"}}
)

func anyVector(t *rapid.T, most int64) fleet.Vector {
	v := fleet.Vector{Slots: rapid.Int64Range(0, most).Draw(t, "slots")}
	if rapid.IntRange(0, 3).Draw(t, "more") == 0 {
		v.Resources = append(v.Resources, fleet.Quantity{Name: "gpu", Amount: rapid.Int64Range(1, 4).Draw(t, "gpu")})
	}
	if rapid.IntRange(0, 3).Draw(t, "memory") == 0 {
		v.Memory = append(v.Memory, fleet.Quantity{Name: "main", Amount: rapid.Int64Range(1, 4).Draw(t, "main")})
	}
	return v
}

// fleetOf is some nodes with what is held on them.
type fleetOf struct {
	x     *Index
	nodes []*Node
	held  []hold
}

type hold struct {
	n *Node
	v *fleet.Vector
}

func (f *fleetOf) change(t *rapid.T) {
	n := f.nodes[rapid.IntRange(0, len(f.nodes)-1).Draw(t, "node")]
	switch rapid.IntRange(0, 6).Draw(t, "change") {
	case 0, 1:
		f.x.Put(n, rapid.SampledFrom([]string{"a", "b"}).Draw(t, "pool"), Attrs{
			Role:    rapid.SampledFrom(testRoles).Draw(t, "role"),
			Backend: rapid.SampledFrom(testBackends).Draw(t, "backend"),
			Region:  rapid.SampledFrom(testRegions).Draw(t, "region"),
			Runners: rapid.SampledFrom(testRunners).Draw(t, "runners"),
		}, anyVector(t, fleet.MaxSlots), anyBlocks(t))
	case 2:
		f.x.Block(n, anyBlocks(t))
	case 3, 4:
		v := anyVector(t, 4)
		if f.x.Reserve(n, &v) {
			f.held = append(f.held, hold{n, &v})
		}
	case 5:
		if len(f.held) > 0 {
			last := f.held[len(f.held)-1]
			f.held = f.held[:len(f.held)-1]
			f.x.Release(last.n, last.v)
		}
	case 6:
		f.x.Remove(n)
	}
}

func anyBlocks(t *rapid.T) Blocks {
	var b Blocks
	if rapid.IntRange(0, 4).Draw(t, "gone") == 0 {
		return b.With(fleet.LeaseNotReady).Gone()
	}
	if rapid.IntRange(0, 2).Draw(t, "blocked") == 0 {
		b = b.With(fleet.Reason(rapid.IntRange(int(fleet.LeaseNotReady), int(fleet.AutoHold)).Draw(t, "block")))
	}
	return b
}

func TestFind_EqualsTheScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &fleetOf{x: NewIndex()}
		for i := range rapid.IntRange(1, 40).Draw(t, "nodes") {
			f.nodes = append(f.nodes, &Node{ID: fmt.Sprintf("n%02d", i*7%40)})
		}
		for range rapid.IntRange(1, 120).Draw(t, "changes") {
			f.change(t)
		}
		p := f.x.Pool("a")
		p.State = rapid.SampledFrom([]fleet.PoolState{fleet.PoolActive, fleet.PoolActive, fleet.PoolActive, fleet.PoolDrains, fleet.PoolIsClosed}).Draw(t, "state")
		demand := anyVector(t, 6)
		r := &Request{
			Role:    rapid.SampledFrom(testRoles).Draw(t, "role"),
			Runner:  rapid.SampledFrom([]string{"", "noop", "checksum"}).Draw(t, "runner"),
			Backend: rapid.SampledFrom([]string{"", "", "cuda"}).Draw(t, "backend"),
			Region:  rapid.SampledFrom([]string{"", "", "fra"}).Draw(t, "region"),
			Demand:  &demand,
		}
		var excluded []Exclusion
		for range rapid.IntRange(0, 3).Draw(t, "excluded") {
			excluded = append(excluded, Exclusion{Node: rapid.SampledFrom(f.nodes).Draw(t, "exclude")})
		}
		want, wantTally := scan(f.nodes, p, r, excluded)
		var tally fleet.Tally
		got := p.Find(r, excluded, &tally)
		if got.Node != nil { // then it has not looked at everybody
			tally.Resource, tally.Domain = wantTally.Resource, wantTally.Domain
		}
		if got != want || tally != wantTally {
			t.Fatalf("index %+v %+v\nscan  %+v %+v", got.Node, tally, want.Node, wantTally)
		}
		if got, want := p.Could(r), hoped(f.nodes, p, r); got != want {
			t.Fatalf("could it ever: the index says %v, the scan %v", got, want)
		}
		if got, want := p.FreeSlots(), freeSlots(f.nodes, p); got != want {
			t.Fatalf("the index has %d slots free, the scan %d", got, want)
		}
		for _, n := range f.nodes {
			if n.pool == nil {
				continue
			}
			first, _ := firstReason(n, r, excluded)
			all := n.Reasons(r, excluded)
			if first == Admitted && len(all) > 0 || first != Admitted && !slices.Contains(all, first) {
				t.Fatalf("first reason %v, all %v", first, all)
			}
			if len(excluded) == 0 && n.Admits(r) != (first == Admitted) {
				t.Fatalf("admits %v, first reason %v", n.Admits(r), first)
			}
		}
	})
}

// Enough nodes for three tiers of words, put in shuffled order.
func TestFind_LowestIDOfManyNodes(t *testing.T) {
	x := NewIndex()
	const many = 5000
	nodes := make([]*Node, many)
	for i, at := range rand.New(rand.NewPCG(1, 1)).Perm(many) {
		nodes[at] = &Node{ID: fmt.Sprintf("n%05d", at)}
		x.Put(nodes[at], "p", Attrs{Role: "r"}, fleet.Vector{Slots: 2}, 0)
		if i == many/2 {
			x.Pool("p").Find(&Request{Role: "r", Demand: &fleet.Vector{Slots: 1}}, nil, &fleet.Tally{})
		}
	}
	one := &fleet.Vector{Slots: 1}
	var tally fleet.Tally
	for round := range 2 {
		for i := range many {
			pick := x.Pool("p").Find(&Request{Role: "r", Demand: one}, nil, &tally)
			if pick.Node != nodes[i] {
				t.Fatalf("round %d: picked %s, want %s", round, pick.Node.ID, nodes[i].ID)
			}
			x.Reserve(pick.Node, one)
		}
	}
	if pick := x.Pool("p").Find(&Request{Role: "r", Demand: one}, nil, &tally); pick.Node != nil || tally.Rejected[fleet.NoSlots] != many {
		t.Fatalf("full: %+v %+v", pick, tally)
	}
}

func TestFind_AllocatesNothing(t *testing.T) {
	for name, run := range map[string]func(){"a decision": deciding(1000), "a refusal": refusing(1000, 1), "another": refusing(1000, 17)} {
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}
