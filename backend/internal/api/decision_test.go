package api

import (
	"testing"

	"rockpool/backend/internal/core/fleet"
)

func tally(pool string, nodes, candidates int32, rejected map[fleet.Reason]int32) fleet.Tally {
	t := fleet.Tally{Pool: pool, Nodes: nodes, Candidates: candidates, Domain: "gpu0", Resource: "encoder"}
	for r, n := range rejected {
		t.Rejected[r] = n
	}
	return t
}

func TestDecisionText_SaysItInWords(t *testing.T) {
	spec := &fleet.JobSpec{App: "cam-7", Owner: 7, Runner: "vmaf", Backend: "cuda", Demands: fleet.Vector{Slots: 1}}
	for _, c := range []struct {
		name string
		d    fleet.Decision
		want string
	}{
		{"placed", fleet.Decision{
			Outcome: fleet.OutcomePlaced, Rule: fleet.RuleOwnerPool, Node: "ams-edge-03", RemainingSlots: 11,
			Pools: []fleet.Tally{tally("pool-7", 14, 2, map[fleet.Reason]int32{fleet.Draining: 9, fleet.NoSlots: 3})},
		}, "pool-7 (owner's pool of user 7): 2 of 14 nodes could take it (9 draining, 3 without a free slot); ams-edge-03 had the most free slots (12)."},
		{"tie", fleet.Decision{
			Outcome: fleet.OutcomePlaced, Rule: fleet.RuleNoOwner, Node: "a", TieBreak: true, Pools: []fleet.Tally{tally("default", 2, 2, nil)},
		}, "default (cam-7 has no owner): 2 of 2 nodes could take it; a had the most free slots (1), and the first id of those with as many."},
		{"fallback", fleet.Decision{
			Outcome: fleet.OutcomePlaced, Rule: fleet.RuleOwnerPool, Node: "d", Fallback: true, FallbackOK: true,
			Pools: []fleet.Tally{tally("pool-7", 0, 0, nil), tally("default", 1, 1, nil)},
		}, "pool-7 (owner's pool of user 7): it has no nodes; then default (the fallback): 1 of 1 nodes could take it; d had the most free slots (1)."},
		{"waiting", fleet.Decision{
			Outcome: fleet.OutcomeWaiting, Rule: fleet.RuleBinding,
			Pools: []fleet.Tally{
				tally("gpu-big", 3, 0, map[fleet.Reason]int32{fleet.WrongBackend: 2, fleet.NoMemory: 1}),
				tally("pool-7", 2, 0, map[fleet.Reason]int32{fleet.NoRunner: 1, fleet.NoResource: 1}),
			},
		}, "gpu-big (bound to cam-7, place 1): none of 3 nodes could take it (2 without the backend cuda, 1 without the memory gpu0); " +
			"then pool-7 (bound to cam-7, place 2): none of 2 nodes could take it (1 without the runner vmaf, 1 without the resource encoder). " +
			"It waits for one that can. Fallback to default is off for cam-7."},
		{"failed", fleet.Decision{
			Outcome: fleet.OutcomeFailed, Rule: fleet.RuleOwnerPool, FallbackOK: true,
			Pools: []fleet.Tally{tally("pool-7", 0, 0, nil), tally("default", 0, 0, nil)},
		}, "pool-7 (owner's pool of user 7): it has no nodes; then default (the fallback): it has no nodes. It failed, as it was asked to."},
		{"nothing", fleet.Decision{Outcome: fleet.OutcomeWaiting}, "No pool was there for cam-7."},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := decisionText(&c.d, spec); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}
