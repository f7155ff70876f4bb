package dispatch

import (
	"time"

	"rockpool/backend/internal/core/fleet"
)

// Clock gives the core its time: milliseconds since the process began, on the
// monotonic clock, so that no jump of the wall clock moves a lease.
type Clock struct{ start time.Time }

// NewClock starts at 1: 0 means "never" in the core's rows. The beginning is a
// whole millisecond of the wall clock.
func NewClock() Clock {
	now := time.Now()
	return Clock{start: now.Add(now.Truncate(time.Millisecond).Sub(now) - time.Millisecond)}
}

// Now is the core's time.
func (c Clock) Now() fleet.Time { return fleet.Time(time.Since(c.start).Milliseconds()) }

// WallAt is the wall time of a moment, by the wall clock as it is set now: whenever
// it is asked, the same whole millisecond, so that an answer and the row agree.
func (c Clock) WallAt(t fleet.Time) time.Time {
	now := time.Now()
	return now.Add(time.Duration(t)*time.Millisecond - now.Sub(c.start)).Round(time.Millisecond)
}

// At is the core's time of a wall time, negative for what lies before the
// process's start.
func (c Clock) At(wall time.Time) fleet.Time {
	return c.Now() - fleet.Time(time.Since(wall).Milliseconds())
}
