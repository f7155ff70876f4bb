package schedule

import (
	"math/bits"

	"rockpool/backend/internal/core/fleet"
)

const (
	minute  = fleet.Time(60_000)
	minutes = 5
	// octave is in how many steps a span's doubling is cut: a step is at most an
	// eighth of the span wide.
	octave = 8
	steps  = 40 * octave // up to 2^41 ms: seventy years
)

// Waited keeps how long the work placed in the last minutes had waited, in
// steps that grow with the span.
type Waited struct {
	past [minutes]struct {
		minute fleet.Time
		placed int64
		steps  [steps]uint32
	}
}

// Add notes that work was placed now that had waited so long (milliseconds).
func (w *Waited) Add(now, span fleet.Time) {
	at := now / minute
	m := &w.past[at%minutes]
	if m.minute != at {
		m.minute, m.placed, m.steps = at, 0, [steps]uint32{}
	}
	m.placed++
	m.steps[stepOf(span)]++
}

// stepOf is exact for less than octave milliseconds.
func stepOf(span fleet.Time) int {
	v := uint64(max(0, span))
	if v < octave {
		return int(v)
	}
	shift := bits.Len64(v) - 4
	return min(steps-1, (shift+1)*octave+int(v>>shift)-octave)
}

// spanOf is the middle of a step.
func spanOf(step int) int64 {
	if step < octave {
		return int64(step)
	}
	shift := step/octave - 1
	return int64(step%octave+octave)<<shift + 1<<shift/2
}

// Sum is how much was placed in the last five minutes (whole ones of the clock,
// and the one that runs), and the spans that half of it and 95 % of it had waited
// at the most, in milliseconds.
func (w *Waited) Sum(now fleet.Time) (placed, p50, p95 int64) {
	var sums [steps]int64
	for i := range w.past {
		m := &w.past[i]
		if now/minute-m.minute >= minutes {
			continue
		}
		placed += m.placed
		for step, n := range m.steps {
			sums[step] += int64(n)
		}
	}
	return placed, quantile(&sums, placed, 50), quantile(&sums, placed, 95)
}

// quantile finds the span that so many percent of all are not longer than.
func quantile(sums *[steps]int64, all, percent int64) int64 {
	if all == 0 {
		return 0
	}
	rank := (all*percent + 99) / 100
	step := 0
	for rank > sums[step] {
		rank -= sums[step]
		step++
	}
	return spanOf(step)
}
