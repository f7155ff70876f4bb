// Package backoff says how long an agent waits before it dials again. It is
// pure: time and randomness are arguments.
package backoff

import "time"

// The curve: full jitter over min(Cap, Base·2ⁿ).
const (
	Base = 500 * time.Millisecond
	Cap  = 30 * time.Second
	// Healthy is how long a session must have lasted before its end counts as a
	// first failure again; shorter ones let the waits go on growing.
	Healthy = 60 * time.Second
	// DefaultWindow spreads the first redials of a fleet whose server has not
	// announced a window of its own.
	DefaultWindow = 5 * time.Second
)

// Redial counts failures since the last healthy session. The zero value is ready
// for use. There is no last attempt.
type Redial struct {
	failures int
}

// Ended tells that a session that lasted so long is over; 0 for a dial that gave
// no session at all.
func (r *Redial) Ended(lasted time.Duration) {
	if lasted >= Healthy {
		r.failures = 0
	}
}

// Next is the wait before the next dial. The first one after health is uniform
// over the window that the server announced (0: DefaultWindow), the others are
// full jitter over the curve. floor is what the server asked for (Retry-After, or
// the rule of a close code): the wait is added to it, so that a fleet that was
// told the same floor does not come back at once. random gives [0, 1).
func (r *Redial) Next(window, floor time.Duration, random func() float64) time.Duration {
	span := ceiling(r.failures - 1)
	if r.failures == 0 {
		if span = window; span <= 0 {
			span = DefaultWindow
		}
	}
	r.failures++
	return max(floor, 0) + time.Duration(random()*float64(span))
}

// ceiling is min(Cap, Base·2ⁿ) without overflow for any n.
func ceiling(n int) time.Duration {
	for wait := Base; wait < Cap; wait *= 2 {
		if n <= 0 {
			return wait
		}
		n--
	}
	return Cap
}
