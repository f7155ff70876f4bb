// Package placement is the state machine of placements. It is pure: states and
// times come in, states and times go out.
package placement

import "rockpool/backend/internal/core/fleet"

// Event is what can happen to a placement.
//
//	active ──drained──▶ draining ──lifted──▶ active
//	both ──released──▶ released   ──expired──▶ expired   ──gone──▶ lost
type Event uint8

// Events. Drained: one of its nodes is; Lifted: none is any more; Gone: one of its
// nodes was lost or has left the fleet.
const (
	Drained Event = iota
	Lifted
	Released
	Expired
	Gone
	numEvents
)

// Next is the state after the event. An ended placement never changes again, and
// what has happened already changes nothing.
func Next(s fleet.PlacementState, e Event) fleet.PlacementState {
	if s.Ended() {
		return s
	}
	return [numEvents]fleet.PlacementState{
		Drained: fleet.PlacementDraining, Lifted: fleet.PlacementActive, Released: fleet.PlacementReleased,
		Expired: fleet.PlacementExpired, Gone: fleet.PlacementLost,
	}[e]
}

// mercy is the longest that a placement lasts after a time in which nobody could
// renew it.
const mercy = fleet.Time(60_000)

// Spared is when a placement ends that would end at ends, after a time in which
// this server heard nobody: its holder gets a while to renew it.
func Spared(ends, now, ttl fleet.Time) fleet.Time { return max(ends, now+min(ttl, mercy)) }
