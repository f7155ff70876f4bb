package schedule

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"rockpool/backend/internal/core/fleet"
)

// A quantile is within an eighth of what sorting all spans says.
func TestWaited_EqualsSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w Waited
		type placed struct{ at, span fleet.Time }
		var all []placed
		now := fleet.Time(rapid.IntRange(1, 1_000_000).Draw(t, "start"))
		for range rapid.IntRange(0, 200).Draw(t, "placed") {
			now += fleet.Time(rapid.SampledFrom([]int{0, 10, 5000, 70_000, 400_000}).Draw(t, "pass"))
			span := fleet.Time(rapid.Int64Range(0, 1<<rapid.IntRange(0, 40).Draw(t, "size")).Draw(t, "span"))
			w.Add(now, span)
			all = append(all, placed{now, span})
		}
		var spans []fleet.Time
		for _, p := range all {
			if now/60_000-p.at/60_000 < 5 {
				spans = append(spans, p.span)
			}
		}
		slices.Sort(spans)
		sum, p50, p95 := w.Sum(now)
		if sum != int64(len(spans)) {
			t.Fatalf("%d were placed, it says %d", len(spans), sum)
		}
		for percent, got := range map[int]int64{50: p50, 95: p95} {
			want := int64(0)
			if len(spans) > 0 {
				want = int64(spans[(len(spans)*percent+99)/100-1])
			}
			if diff := max(got-want, want-got); diff > want/8 {
				t.Fatalf("%d %% waited at most %d, it says %d", percent, want, got)
			}
		}
	})
}

func TestWaited_AllocatesNothing(t *testing.T) {
	var w Waited
	now := fleet.Time(1)
	if n := testing.AllocsPerRun(100, func() { now += 20_000; w.Add(now, now) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
