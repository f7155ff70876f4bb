package dispatch

import (
	"testing"
	"time"

	"rockpool/backend/internal/core/fleet"
)

// An answer is made before the row is written, and both tell the same time.
func TestClock_AMomentHasOneWallTime(t *testing.T) {
	c := NewClock()
	const moment = fleet.Time(1)
	want := c.WallAt(moment)
	for range 100_000 {
		if got := c.WallAt(moment); !got.Equal(want) {
			t.Fatalf("%v and %v after %v", want, got, time.Since(c.start))
		}
	}
	if back := c.At(want); back != moment {
		t.Errorf("%v is %d and not %d", want, back, moment)
	}
	if off := time.Since(c.WallAt(c.Now())); off < -time.Millisecond || off > time.Second {
		t.Errorf("now is %v off", off)
	}
	if now := NewClock().Now(); now < 1 {
		t.Errorf("the clock begins at %d: 0 is never", now)
	}
}
