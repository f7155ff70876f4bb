package load

import (
	"testing"
	"time"
)

func TestQuantile_IsAValueOfTheList(t *testing.T) {
	var list []int
	for i := range 100 {
		list = append(list, i+1)
	}
	for part, want := range map[float64]int{0: 1, 0.5: 50, 0.99: 99, 1: 100} {
		if got := quantile(list, part); got != want {
			t.Errorf("quantile %v is %d, want %d", part, got, want)
		}
	}
	if got := quantile([]int{7}, 0.99); got != 7 {
		t.Errorf("of one value: %d", got)
	}
}

func TestReport_TakesTheMediansOfRounds(t *testing.T) {
	q := func(ms float64) Quantiles { return Quantiles{P50: ms, P99: 2 * ms} }
	got := reportOf(LatencyOptions{Rounds: 3, Jobs: 9, Gap: time.Millisecond}, []round{
		{q(2), q(3), q(1)}, {q(40), q(60), q(10)}, {q(3), q(6), q(3)}, // a busy second round slows all
	})
	if got.Start != q(3) || got.Result != q(6) || got.Probe != q(3) {
		t.Errorf("medians %+v", got)
	}
	if (got.StartRatio != Quantiles{2, 2}) || (got.ResultRatio != Quantiles{3, 3}) {
		t.Errorf("ratios %+v %+v", got.StartRatio, got.ResultRatio)
	}
}
