package pool

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
)

func TestResolve(t *testing.T) {
	every := fleet.Binding{Pools: []string{"gpu-big", "pool-7"}}
	edges := fleet.Binding{Role: "edge", Pools: []string{"edges"}, AllowFallback: true}
	for _, c := range []struct {
		name     string
		app      fleet.App
		role     string
		hasNode  bool
		rule     fleet.ResolutionRule
		tries    []string
		fallback bool
	}{
		{"no owner: default", fleet.App{ID: "a"}, "worker", false, fleet.RuleNoOwner, []string{"default"}, false},
		{"owner with nodes: the owner's pool alone", fleet.App{ID: "a", Owner: 7}, "worker", true, fleet.RuleOwnerPool, []string{"pool-7"}, false},
		{"owner without a node: default as well", fleet.App{ID: "a", Owner: 7}, "worker", false, fleet.RuleOwnerPool, []string{"pool-7", "default"}, true},
		{"a binding for every role", fleet.App{ID: "a", Owner: 7, Bindings: []fleet.Binding{every}}, "worker", false, fleet.RuleBinding, []string{"gpu-big", "pool-7"}, false},
		{"a binding for the role wins", fleet.App{ID: "a", Owner: 7, Bindings: []fleet.Binding{every, edges}}, "edge", true, fleet.RuleBinding, []string{"edges", "default"}, true},
		{"in either order", fleet.App{ID: "a", Owner: 7, Bindings: []fleet.Binding{edges, every}}, "edge", true, fleet.RuleBinding, []string{"edges", "default"}, true},
		{"a binding for another role does not count", fleet.App{ID: "a", Owner: 7, Bindings: []fleet.Binding{edges}}, "worker", true, fleet.RuleOwnerPool, []string{"pool-7"}, false},
		{"bound to default: no fallback to it", fleet.App{ID: "a", Bindings: []fleet.Binding{{Pools: []string{"default", "b"}, AllowFallback: true}}}, "w", false, fleet.RuleBinding, []string{"default", "b"}, false},
		{"unassigned is never resolved to", fleet.App{ID: "a", Bindings: []fleet.Binding{{Pools: []string{"unassigned"}}}}, "w", false, fleet.RuleBinding, nil, false},
		{"nor among others", fleet.App{ID: "a", Bindings: []fleet.Binding{{Pools: []string{"unassigned", "b", "b"}}}}, "w", false, fleet.RuleBinding, []string{"b"}, false},
	} {
		chain := Resolve(&c.app, c.role, c.hasNode)
		if chain.Rule != c.rule || !slices.Equal(chain.Tries(), c.tries) || chain.Fallback != c.fallback {
			t.Errorf("%s: %+v tries %v", c.name, chain, chain.Tries())
		}
	}
}

func TestResolve_NeverLeavesWhatIsAllowed(t *testing.T) {
	names := []string{"default", "unassigned", "pool-1", "pool-2", "canary"}
	rapid.Check(t, func(t *rapid.T) {
		app := fleet.App{ID: "a", Owner: rapid.Int64Range(0, 2).Draw(t, "owner")}
		for range rapid.IntRange(0, 3).Draw(t, "bindings") {
			app.Bindings = append(app.Bindings, fleet.Binding{
				Role:          rapid.SampledFrom([]string{"", "edge", "worker"}).Draw(t, "role"),
				Pools:         rapid.SliceOfN(rapid.SampledFrom(names), 1, 8).Draw(t, "pools"),
				AllowFallback: rapid.Bool().Draw(t, "fallback"),
			})
		}
		chain := Resolve(&app, "edge", rapid.Bool().Draw(t, "has node"))
		for i, id := range chain.Tries() {
			if id == fleet.PoolUnassigned || !slices.Contains(chain.Pools, id) && !(chain.Fallback && id == fleet.PoolDefault) {
				t.Fatalf("%+v tries %s", chain, id)
			}
			if chain.IsFallback(i) != (id == fleet.PoolDefault && !slices.Contains(chain.Pools, id)) {
				t.Fatalf("%+v: is %d (%s) a fallback?", chain, i, id)
			}
		}
		if chain.Rule != fleet.RuleBinding && slices.Contains(chain.Pools, "canary") {
			t.Fatalf("nothing resolves to a named pool without a binding: %+v", chain)
		}
	})
}

func TestCanary_GoesWhereItIsSentAndNowhereElse(t *testing.T) {
	chain := Canary("canary")
	if chain.Rule != fleet.RuleCanary || chain.Fallback || !slices.Equal(chain.Tries(), []string{"canary"}) {
		t.Errorf("%+v", chain)
	}
	if chain := Canary(fleet.PoolUnassigned); len(chain.Tries()) != 0 {
		t.Errorf("unassigned is resolved to: %+v", chain)
	}
}

func TestResolutions_OneForEachRoleAndOneForTheRest(t *testing.T) {
	app := fleet.App{ID: "a", Owner: 7, Bindings: []fleet.Binding{
		{Role: "worker", Pools: []string{"w"}}, {Role: "edge", Pools: []string{"e"}, AllowFallback: true},
	}}
	got := Resolutions(&app, true)
	if len(got) != 3 || got[0].Role != "" || got[0].Rule != fleet.RuleOwnerPool || got[1].Role != "edge" || !got[1].Fallback || got[2].Pools[0] != "w" {
		t.Errorf("%+v", got)
	}
	app.Bindings = append(app.Bindings, fleet.Binding{Pools: []string{"rest"}})
	if got := Resolutions(&app, true); len(got) != 3 || got[0].Rule != fleet.RuleBinding || got[0].Pools[0] != "rest" {
		t.Errorf("%+v", got)
	}
}
