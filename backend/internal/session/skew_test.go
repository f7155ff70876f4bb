package session

import (
	"testing"
	"time"

	"rockpool/shared/wire"
)

func TestSkew_OfAClockAgainstOurs(t *testing.T) {
	came := time.UnixMilli(1_790_000_000_000)
	for name, c := range map[string]struct{ at, trip, want int64 }{
		"it tells none":         {0, 40, 0},
		"the same, on the way":  {came.UnixMilli() - 20, 40, 0},
		"an hour ahead":         {came.Add(time.Hour).UnixMilli(), 0, 3_600_000},
		"an hour behind":        {came.Add(-time.Hour).UnixMilli(), 0, -3_600_000},
		"as far as it can tell": {wire.MaxInteger, 0, wire.MaxInteger - came.UnixMilli()},
	} {
		if got := skewOf(&wire.Heartbeat{At: c.at, RoundTrip: c.trip}, came); got != c.want {
			t.Errorf("%s: %d ms, want %d", name, got, c.want)
		}
	}
}
