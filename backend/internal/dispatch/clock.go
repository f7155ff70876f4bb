package dispatch

import (
	"sync/atomic"
	"time"

	"rockpool/backend/internal/core/fleet"
)

// Clock gives the core its time: milliseconds since the process began, on the
// monotonic clock, so that no jump of the wall clock moves a lease.
type Clock struct {
	start time.Time
	began *atomic.Int64 // wall time of start as the wall clock is set, in Unix milliseconds
}

// NewClock starts at 1: 0 means "never" in the core's rows.
func NewClock() Clock {
	c := Clock{start: time.Now().Add(-time.Millisecond), began: &atomic.Int64{}}
	c.began.Store(c.start.UnixMilli())
	return c
}

// Now is the core's time.
func (c Clock) Now() fleet.Time { return fleet.Time(time.Since(c.start).Milliseconds()) }

// stepped is how far the wall clock must have been set for a moment's wall time to
// follow. Less is what passes between the readings of two clocks.
const stepped = 1000 // milliseconds

// WallAt is the wall time of a moment by the wall clock as it is set now. However
// often it is asked it is the same millisecond, so that an answer and the row agree.
func (c Clock) WallAt(t fleet.Time) time.Time {
	now := time.Now()
	began, was := now.Add(-now.Sub(c.start)).UnixMilli(), c.began.Load()
	if max(began-was, was-began) > stepped {
		c.began.Store(began)
	}
	return time.UnixMilli(c.began.Load() + int64(t)).UTC()
}

// At is the core's time of a wall time, negative for what lies before the
// process's start: what WallAt gave comes back as it was.
func (c Clock) At(wall time.Time) fleet.Time { return fleet.Time(wall.UnixMilli() - c.began.Load()) }
