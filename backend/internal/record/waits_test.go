package record_test

import (
	"testing"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

func TestWaitsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var n [6]int64
		for i := range n {
			n[i] = rapid.Int64Min(0).Draw(t, "ms")
		}
		w := fleet.WaitLedger{Pool: n[0], Fairness: n[1], Backoff: n[2], Quota: n[3], Hold: n[4], Offer: n[5]}
		if got, err := record.ParseWaits(string(record.AppendWaits(nil, &w))); err != nil || got != w {
			t.Fatalf("%+v came back as %+v, %v", w, got, err)
		}
	})
	for text, want := range map[string]fleet.WaitLedger{"": {}, "3": {Pool: 3}, "0,4": {Fairness: 4}} {
		if got, err := record.ParseWaits(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"x", "1,", "1,2,3,4,5,6,7"} {
		if _, err := record.ParseWaits(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}
