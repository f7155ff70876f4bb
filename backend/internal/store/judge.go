package store

import (
	"slices"
	"strconv"
	"strings"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/pool"
	"rockpool/backend/internal/record"
)

// judge says what is wrong with an attempt or a node of a placement, in words; empty: nothing. decided: its
// decision is there.
func judge(r *ran, past *history) (wrong string, decided bool) {
	var d *record.Decision
	if r.decision != nil {
		read, err := record.DecodeDecision(r.decision)
		if err != nil {
			return "its decision can't be read: " + err.Error(), true
		}
		// a job that waits for its next attempt has the decision that made it wait
		if read.Outcome == fleet.OutcomePlaced {
			d = &read
		}
	}
	for _, check := range []func() string{
		r.checkRow,
		func() string { return r.checkDecision(d) },
		func() string { return r.checkChain(d, past) },
		func() string { return r.checkNode(past) },
	} {
		if wrong := check(); wrong != "" {
			return wrong, d != nil
		}
	}
	return "", d != nil
}

// checkRow compares the attempt with the record of its fallback.
func (r *ran) checkRow() string {
	switch {
	case !r.known:
		return "its job is gone"
	case r.node == "" || r.pool == "":
		return "its node or pool was taken away"
	case r.pool == fleet.PoolUnassigned:
		return "nothing may run in " + r.pool
	case r.at == nil:
		return "it does not say when it was assigned"
	case r.fallback && !r.recorded:
		return "it ran as a fallback without a record of that"
	case !r.fallback && r.recorded:
		return "there is a record of a fallback, and the attempt does not say so"
	case r.recorded && r.recordedNode != r.node && r.rank == 0:
		return "the record of its fallback names the node " + r.recordedNode
	case r.fallback && r.pool != fleet.PoolDefault:
		return "it ran as a fallback, which leads to " + fleet.PoolDefault + " alone"
	case r.recorded && slices.Contains(r.recordedPools, fleet.PoolDefault):
		return "the record of its fallback says that it resolved to " + fleet.PoolDefault
	}
	return ""
}

// checkDecision compares it with its decision; nil: that is not kept.
func (r *ran) checkDecision(d *record.Decision) string {
	if d == nil {
		return ""
	}
	switch {
	case len(d.Pools) == 0:
		return "its decision tried no pool"
	case d.Node != r.node && r.rank == 0:
		return "its decision chose the node " + d.Node
	case d.Pools[len(d.Pools)-1].Pool != r.pool:
		return "its decision chose the pool " + d.Pools[len(d.Pools)-1].Pool
	case d.Fallback != r.fallback:
		return "its decision and the attempt differ on whether it was a fallback"
	case d.Fallback && !d.FallbackOK:
		return "it was a fallback, which its decision did not allow"
	case r.canary == "" && d.Rule == fleet.RuleCanary, r.canary != "" && d.Rule != fleet.RuleCanary:
		return "it is no canary job, or its decision does not take it for one"
	}
	return ""
}

// checkChain resolves anew, with the bindings that the app had then: the pools that
// were tried must be among those, in their order. Where the decision is not kept
// that is the one it ran in. The decision's word that the owner had no node of
// their own does not count against the chain's.
func (r *ran) checkChain(d *record.Decision, past *history) string {
	tried, by, fallbackOK := []string{r.pool}, "", true
	if d != nil {
		tried, by, fallbackOK = make([]string, len(d.Pools)), " by "+string(d.Rule), d.FallbackOK
		for i := range d.Pools {
			tried[i] = d.Pools[i].Pool
		}
	}
	if r.canary != "" {
		if within(tried, pool.Canary(r.canary).Tries()) {
			return ""
		}
		return "it tried " + strings.Join(tried, ", ") + ", and the canary job named " + r.canary
	}
	allowed, owns := "", !fallbackOK || past.own.had(r.owner, *r.at)
	for _, bindings := range past.bindingsOf(r.app, *r.at) {
		chain := pool.Resolve(&fleet.App{ID: r.app, Owner: r.owner, Bindings: bindings}, r.role, owns)
		tries := chain.Tries()
		last := slices.Index(tries, r.pool)
		if (d == nil || chain.Rule == d.Rule) && within(tried, tries) && last >= 0 && chain.IsFallback(last) == r.fallback {
			return ""
		}
		allowed = string(chain.Rule) + " to " + strings.Join(tries, ", ")
	}
	return "it tried " + strings.Join(tried, ", ") + by + ", and its app (owner " +
		strconv.FormatInt(r.owner, 10) + ") resolved by " + allowed
}

// within reports that the tried pools are among the allowed ones, in their order.
func within(tried, allowed []string) bool {
	for _, pool := range tried {
		at := slices.Index(allowed, pool)
		if at < 0 {
			return false
		}
		allowed = allowed[at+1:]
	}
	return true
}

// checkNode asks the audit chain where the node was.
func (r *ran) checkNode(past *history) string {
	in := past.poolsOf(r.node, *r.at)
	switch {
	case len(in) == 0:
		return "the node " + r.node + " was not registered then"
	case !slices.Contains(in, r.pool):
		return "the node " + r.node + " was in " + strings.Join(in, ", then ") + " at that time"
	}
	return ""
}
