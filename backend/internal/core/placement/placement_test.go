package placement

import (
	"testing"

	"rockpool/backend/internal/core/fleet"
)

func TestNext_EveryPair(t *testing.T) {
	const (
		active, draining = fleet.PlacementActive, fleet.PlacementDraining
		released         = fleet.PlacementReleased
		expired, lost    = fleet.PlacementExpired, fleet.PlacementLost
	)
	want := map[fleet.PlacementState][numEvents]fleet.PlacementState{
		active:   {draining, active, released, expired, lost},
		draining: {draining, active, released, expired, lost},
		released: {released, released, released, released, released},
		expired:  {expired, expired, expired, expired, expired},
		lost:     {lost, lost, lost, lost, lost},
	}
	for s, row := range want {
		for e, next := range row {
			if got := Next(s, Event(e)); got != next {
				t.Errorf("%v after event %d is %v, not %v", s, e, got, next)
			}
		}
	}
}

func TestSpared_LeavesTimeToRenew(t *testing.T) {
	for _, c := range []struct{ ends, now, ttl, want fleet.Time }{
		{ends: 1_000, now: 500_000, ttl: 300_000, want: 560_000},
		{ends: 1_000, now: 500_000, ttl: 10_000, want: 510_000},
		{ends: 900_000, now: 500_000, ttl: 300_000, want: 900_000},
	} {
		if got := Spared(c.ends, c.now, c.ttl); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
