package api

import (
	"fmt"
	"slices"
	"strings"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

// hintOf names the one root cause of work that no node can take, with what would
// help; empty where one can.
func hintOf(spec *fleet.JobSpec, d *fleet.Decision, now *core.FleetView) string {
	if d.Node != "" {
		return ""
	}
	var nodes int32
	var rejected [fleet.NumReasons]int32
	tried := make([]string, len(d.Pools))
	for i := range d.Pools {
		tried[i] = d.Pools[i].Pool
		nodes += d.Pools[i].Nodes
		for r, n := range d.Pools[i].Rejected {
			rejected[r] += n
		}
	}
	pools := strings.Join(tried, " and ")
	if len(tried) == 0 {
		return spec.App + " resolves to no pool: give it a binding"
	}
	elsewhere := nodesElsewhere(spec, tried, now)
	if usable := nodes - permanent(&rejected); elsewhere > 0 && usable <= 0 {
		return fmt.Sprintf("nodes exist but in other pools: %s of %s could take it, and %s none that can: move a node there, or bind %s to their pool",
			counted(elsewhere, "node"), ownerWords(spec.Owner), has(pools, len(tried)), spec.App)
	}
	if nodes == 0 {
		return fmt.Sprintf("%s no node: add one", has(pools, len(tried)))
	}
	most := mostCommon(&rejected)
	return fmt.Sprintf("%d of %s in %s %s %s", rejected[most], counted(nodes, "node"), pools, isAre(rejected[most]), most.Words())
}

func has(pools string, n int) string {
	if n == 1 {
		return pools + " has"
	}
	return pools + " have"
}

func isAre(n int32) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func ownerWords(owner int64) string {
	if owner == 0 {
		return "the fleet"
	}
	return "user " + userText(owner)
}

// permanent counts the nodes whose first reason does not pass by waiting for
// running work to end.
func permanent(rejected *[fleet.NumReasons]int32) (n int32) {
	for r, nodes := range rejected {
		switch fleet.Reason(r) {
		case fleet.Reserved, fleet.NoSlots, fleet.NoResource, fleet.NoMemory, fleet.Excluded:
		default:
			n += nodes
		}
	}
	return n
}

func mostCommon(rejected *[fleet.NumReasons]int32) fleet.Reason {
	most := fleet.Reason(0)
	for r := range fleet.NumReasons {
		if rejected[r] > rejected[most] {
			most = r
		}
	}
	return most
}

// nodesElsewhere counts the nodes of the work's owner (of an app without one: all)
// outside the pools tried that may get new work of that kind.
func nodesElsewhere(spec *fleet.JobSpec, tried []string, now *core.FleetView) (n int) {
	for _, node := range now.Nodes {
		r := &node.Record
		switch {
		case len(node.Reasons) > 0, r.Role != spec.Role, spec.Owner != 0 && r.Owner != spec.Owner:
		case slices.Contains(tried, r.Pool), r.Pool == fleet.PoolUnassigned:
		case spec.Runner != "" && !slices.Contains(r.Runners, spec.Runner), spec.Backend != "" && spec.Backend != r.Backend:
		default:
			n++
		}
	}
	return n
}
