package nodecore

// Bounds of waiting between dials.
const (
	backoffBase   = second / 2
	backoffMax    = 30 * second
	healthyAfter  = 60 * second // a session that lived so long begins the backoff anew
	maxRetryAfter = hour        // a server can't ask for more

	// refusedWait is between dials of a node whose credential or hello is refused:
	// that takes a person to change, and never a new enrollment by itself.
	refusedWait = 2 * minute

	// duplicateWait is that of a node whose identity is used twice, until an operator
	// has chosen whose it is.
	duplicateWait = minute

	codeDuplicate = "duplicate_identity"
)

// FloorOfStatus is the least wait after an upgrade that was refused with this HTTP
// status and this Retry-After.
func FloorOfStatus(status int, retryAfter Time) Time {
	switch status {
	case 401, 403, 409:
		return max(refusedWait, retryAfter)
	}
	return retryAfter
}

// redial decides how long to wait before the next dial: uniform over the window
// the first time, then full jitter over min(30 s, 0.5 s·2ⁿ), but never over more than
// was waited already, or the window if that is longer. So a fleet whose server was
// away is back, to the last node, within the window or as long as it was away.
type redial struct {
	dice   *dice
	window Time // over which a fleet that lost its server spreads, told by welcome
	tries  int  // dials that were planned since the last healthy session
	waited Time // for them in all
}

// wait gives the time until the next dial. The floor is what the server or the
// rules ask for at least; what is added to it keeps a fleet that was told the same
// from returning as one.
func (r *redial) wait(floor Time) Time {
	r.tries++
	wait := bounded(floor) + r.dice.below(r.spread()+1)
	r.waited += wait
	return wait
}

// spread is the longest that the next wait may be beyond its floor.
func (r *redial) spread() Time {
	if r.tries == 1 {
		return r.window
	}
	return min(backoffMax, backoffBase<<min(r.tries-1, 6), max(r.window, r.waited, backoffBase))
}

func bounded(floor Time) Time { return min(max(floor, 0), maxRetryAfter) }

// lived: a session ended that was open for so long.
func (r *redial) lived(span Time) {
	if span >= healthyAfter {
		r.tries, r.waited = 0, 0
	}
}

// Redial is a node's waiting between dials alone, for who plays a node without the
// rest of it.
type Redial struct {
	dice dice
	wait redial
}

// NewRedial makes one of a node that never had a session.
func NewRedial(seed uint64) *Redial {
	r := &Redial{dice: dice(seed)}
	r.wait = redial{dice: &r.dice, window: defaultTimes.RedialWindow}
	return r
}

// Wait gives the time until the next dial, the floor at least.
func (r *Redial) Wait(floor Time) Time { return r.wait.wait(floor) }

// Lived tells of a session's end: how long it was open, and what its welcome said.
func (r *Redial) Lived(span Time, times Times) {
	r.wait.window = times.bounded().RedialWindow
	r.wait.lived(span)
}
