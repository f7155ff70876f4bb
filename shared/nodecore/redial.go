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
//
// A server that asks for a time is there, and has its hands full: the time that it
// asks for is enough to spread over, unless it goes on asking. So who is put off
// comes back as soon as the server can take it, and a long trouble finds the dials
// as rare as ever.
type redial struct {
	dice   *dice
	window Time // over which a fleet that lost its server spreads, told by welcome
	tries  int  // dials that were planned since the last healthy session
	waited Time // for them in all
	asked  int  // times in a row that the server asked for a time
}

// patientAsks is how often in a row a server may ask for a time before it is waited
// for longer.
const patientAsks = 3

// wait gives the time until the next dial. The floor is what the server or the
// rules ask for at least; what is added to it keeps a fleet that was told the same
// from returning as one.
func (r *redial) wait(floor Time) Time {
	floor = bounded(floor)
	r.tries++
	if r.asked++; floor == 0 {
		r.asked = 0
	}
	wait := floor + r.dice.below(r.spread(floor)+1)
	r.waited += wait
	return wait
}

// spread is the longest that the next wait may be beyond its floor.
func (r *redial) spread(floor Time) Time {
	if r.tries == 1 {
		return r.window
	}
	spread := min(backoffMax, backoffBase<<min(r.tries-1, 6), max(r.window, r.waited, backoffBase))
	if r.asked > 0 {
		spread = min(spread, floor<<min(max(r.asked-patientAsks, 0), 6))
	}
	return spread
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
