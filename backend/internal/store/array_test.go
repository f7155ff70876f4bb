package store_test

import (
	"testing"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// Columns that say the same in each row travel as one value: whatever mix of equal
// and different values a batch has, each row gets its own.
func TestCommitKeepsEachRowsValues(t *testing.T) {
	h := newHouse(t)
	rapid.Check(t, func(rt *rapid.T) {
		start := &core.Effects{}
		jobs := h.submit(start, rapid.IntRange(1, 5).Draw(rt, "jobs"))
		start.Reservations = nil
		want := map[ids.JobID]core.JobRow{}
		for i := range start.Inserts {
			row := &start.Inserts[i].Row
			*row = core.JobRow{State: fleet.JobQueued, Decision: row.Decision}
			row.Cause = rapid.SampledFrom([]fleet.Cause{"", fleet.CausePoolExhausted}).Draw(rt, "cause")
			row.Detail = rapid.SampledFrom([]string{"", "one", "two"}).Draw(rt, "detail")
			row.Counted = rapid.Int32Range(0, 2).Draw(rt, "counted")
			row.Fallback = rapid.Bool().Draw(rt, "fallback")
			if rapid.Bool().Draw(rt, "later") {
				row.NotBefore = now() + 3_600_000
			}
			want[jobs[i].ID] = *row
		}
		h.commit(start)
		for id, row := range want {
			got := h.job(id)
			later := got.NotBefore != nil
			if got.Cause != row.Cause || got.Detail != row.Detail || got.Fallback != row.Fallback || later != (row.NotBefore != 0) ||
				got.Counted != row.Counted {
				rt.Fatalf("stored %+v, want %+v", got, row)
			}
		}
	})
}
