package dispatch

import (
	"time"

	"rockpool/backend/internal/core/fleet"
)

// Clock gives the core its time: milliseconds since the process began, on the
// monotonic clock, so that no jump of the wall clock moves a lease.
type Clock struct{ start time.Time }

// NewClock starts at 1: 0 means "never" in the core's rows.
func NewClock() Clock { return Clock{start: time.Now().Add(-time.Millisecond)} }

// Now is the core's time.
func (c Clock) Now() fleet.Time { return fleet.Time(time.Since(c.start).Milliseconds()) }

// WallAt is the wall time of a moment, by the wall clock as it is set now.
func (c Clock) WallAt(t fleet.Time) time.Time {
	return time.Now().Add(-time.Duration(c.Now()-t) * time.Millisecond)
}

// At is the core's time of a wall time, negative for what lies before the
// process's start.
func (c Clock) At(wall time.Time) fleet.Time {
	return c.Now() - fleet.Time(time.Since(wall).Milliseconds())
}
