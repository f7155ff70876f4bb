package pool

import (
	"slices"
	"testing"

	"rockpool/backend/internal/core/fleet"
)

func TestPromotable(t *testing.T) {
	const minute = fleet.Time(60_000)
	at := 100 * minute
	fit := NodeFacts{ID: "n1", Since: at - 20*minute}
	held := NodeFacts{ID: "n2", Since: at - 20*minute, Blocks: []fleet.Reason{fleet.Unhealthy, fleet.Cordoned}}
	young := NodeFacts{ID: "n3", Since: at - 3*minute - 2000, BootSince: at - 4*minute}
	all := Checks{Jobs: 5, NoRestart: true, ReadyFor: 10 * minute}
	for _, c := range []struct {
		name   string
		checks Checks
		facts  Facts
		want   []string
	}{
		{"all hold", all, Facts{Succeeded: 5, Nodes: []NodeFacts{fit}}, nil},
		{"nothing is asked", Checks{}, Facts{Nodes: []NodeFacts{held, young}}, nil},
		{"no nodes", Checks{}, Facts{}, []string{"it has no nodes"}},
		{"too few jobs", all, Facts{Succeeded: 2, Nodes: []NodeFacts{fit}}, []string{"2 of 5 canary jobs have succeeded"}},
		{"one held, one young", all, Facts{Succeeded: 9, Nodes: []NodeFacts{fit, held, young}}, []string{
			"n2 is unhealthy", "n2 is cordoned", "n3's agent began anew 4m 00s ago", "n3 has been ready for 3m 02s, not for 10m 00s",
		}},
		{"a restart before the time does not count", Checks{NoRestart: true, ReadyFor: 4 * minute}, Facts{Nodes: []NodeFacts{
			{ID: "n1", Since: at - 4*minute, BootSince: at - 4*minute},
		}}, nil},
		{"without a time any restart counts", Checks{NoRestart: true}, Facts{Nodes: []NodeFacts{fit, young}}, []string{"n3's agent began anew 4m 00s ago"}},
	} {
		c.facts.At = at
		if got := Promotable(c.checks, c.facts); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
