// Package pool resolves an app's work to pools: the set of nodes that may be
// candidates at all. It is pure, and the only place where the rules stand.
package pool

import (
	"slices"
	"strings"

	"rockpool/backend/internal/core/fleet"
)

// Chain is where work may run: Pools in order, then default if Fallback says so.
type Chain struct {
	Rule     fleet.ResolutionRule
	Pools    []string
	Fallback bool // default may be tried after Pools, with a record
}

// Resolve applies the rules in their order: an explicit binding (one for the
// role wins over one for every role); else the owner's pool, with fallback only
// while the owner has no node of their own; else default. unassigned is never
// resolved to, not even by a binding.
func Resolve(app *fleet.App, role string, ownerHasNode bool) Chain {
	if b := bindingFor(app.Bindings, role); b != nil {
		return chain(fleet.RuleBinding, b.Pools, b.AllowFallback)
	}
	if app.Owner != 0 {
		return chain(fleet.RuleOwnerPool, []string{fleet.OwnerPool(app.Owner)}, !ownerHasNode)
	}
	return chain(fleet.RuleNoOwner, []string{fleet.PoolDefault}, false)
}

// Resolution is where an app's work of one role goes. The empty role stands for
// every role that no other resolution of the app names.
type Resolution struct {
	Role string
	Chain
}

// Resolutions lists what an app resolves to: its bindings by role, the one for
// every other role first.
func Resolutions(app *fleet.App, ownerHasNode bool) []Resolution {
	all := []Resolution{{Chain: Resolve(app, "", ownerHasNode)}}
	for i := range app.Bindings {
		if role := app.Bindings[i].Role; role != "" {
			all = append(all, Resolution{Role: role, Chain: Resolve(app, role, ownerHasNode)})
		}
	}
	slices.SortStableFunc(all, func(a, b Resolution) int { return strings.Compare(a.Role, b.Role) })
	return slices.CompactFunc(all, func(a, b Resolution) bool { return a.Role == b.Role })
}

func bindingFor(bindings []fleet.Binding, role string) *fleet.Binding {
	var every *fleet.Binding
	for i := range bindings {
		switch bindings[i].Role {
		case role:
			return &bindings[i]
		case "":
			every = &bindings[i]
		}
	}
	return every
}

func chain(rule fleet.ResolutionRule, pools []string, fallback bool) Chain {
	c := Chain{Rule: rule, Fallback: fallback && !slices.Contains(pools, fleet.PoolDefault)}
	for _, id := range pools {
		if id != fleet.PoolUnassigned && !slices.Contains(c.Pools, id) {
			c.Pools = append(c.Pools, id)
		}
	}
	return c
}

// Canary is the chain of a canary job: the pool that a superadmin named, and
// nothing else whatever the app resolves to.
func Canary(id string) Chain { return chain(fleet.RuleCanary, []string{id}, false) }

// Tries lists the pools in the order in which they are tried.
func (c Chain) Tries() []string {
	if c.Fallback {
		return append(slices.Clone(c.Pools), fleet.PoolDefault)
	}
	return c.Pools
}

// IsFallback reports that the i-th of Tries is default by fallback.
func (c Chain) IsFallback(i int) bool { return i >= len(c.Pools) }
