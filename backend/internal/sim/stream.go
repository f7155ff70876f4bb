package sim

import (
	"math"
	"math/rand/v2"
)

// stream is a source of chance of its own: seeded by (seed, purpose, id), so that
// a new consumer shifts nobody else's numbers. It lies where its owner does: every
// message draws from one.
type stream struct{ source rand.PCG }

func newStream(seed uint64, purpose, id string) stream {
	h := newTrace()
	h.word(seed)
	h.text(purpose)
	h.text(id)
	return stream{*rand.NewPCG(seed, uint64(h))}
}

// rand draws from the stream in other ways than those below.
func (s *stream) rand() *rand.Rand { return rand.New(&s.source) }

// between gives a time in [low, high].
func (s *stream) between(low, high Time) Time {
	if high <= low {
		return low
	}
	return low + Time(s.rand().Int64N(int64(high-low)+1))
}

// chance is true in so many of the cases.
func (s *stream) chance(p float64) bool { return p > 0 && s.rand().Float64() < p }

// exponential gives a time around the mean, at least 1.
func (s *stream) exponential(mean float64) Time {
	return max(1, Time(math.Min(s.rand().ExpFloat64()*mean, 1e12)))
}

// weibull gives a time by shape and scale, at least 1.
func (s *stream) weibull(shape, scale float64) Time {
	return max(1, Time(math.Min(scale*math.Pow(s.rand().ExpFloat64(), 1/shape), 1e12)))
}

// trace is an FNV-1a hash over words: of everything that happened, in its order.
type trace uint64

func newTrace() trace { return 0xcbf29ce484222325 }

func (t *trace) word(w uint64) {
	*t = (*t ^ trace(w&0xffffffff)) * 0x100000001b3
	*t = (*t ^ trace(w>>32)) * 0x100000001b3
}

func (t *trace) text(s string) {
	for i := range len(s) {
		*t = (*t ^ trace(s[i])) * 0x100000001b3
	}
	t.word(uint64(len(s)))
}
