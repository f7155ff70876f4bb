package fleet

import "testing"

func TestSpan_ReadsTheTwoLargestUnits(t *testing.T) {
	for want, ms := range map[string]Time{
		"0s": 999, "1s": 1999, "1m 00s": 60_000, "59m 59s": 3_599_999, "1h 00m": 3_600_000 + 59_000, "2d 3h": 2*86_400_000 + 3*3_600_000 + 61_000,
	} {
		if got := Span(ms); got != want {
			t.Errorf("%d ms read %q, want %q", ms, got, want)
		}
	}
}
