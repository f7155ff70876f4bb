package nodecore

// Loss is how a connection or a dial ended, as far as it matters for the next dial.
type Loss uint8

// A broken one is dialed again soon. A refused one needs a person: its retries are
// minutes apart. A revoked one comes back after an hour. None of them ever leads
// to a new enrollment.
const (
	LossBroken Loss = iota
	LossRefused
	LossRevoked
)

// Bounds of waiting between dials.
const (
	backoffBase   = second / 2
	backoffMax    = 30 * second
	healthyAfter  = 60 * second // a session that lived so long begins the backoff anew
	refusedWait   = 2 * minute
	refusedSpread = 3 * minute
	revokedWait   = hour
	revokedSpread = 6 * minute
	maxRetryAfter = hour // a server can't ask for more
)

// closeLosses are the close codes that need more than a redial.
var closeLosses = map[int]Loss{
	4003: LossRevoked,
	4005: LossRefused, // version unsupported
	4006: LossRefused, // license limit
	4008: LossRefused, // superseded: somebody else has this identity and a session
	4010: LossRefused, // duplicate identity
}

// LossOfClose reads a close code of the channel.
func LossOfClose(code int) Loss { return closeLosses[code] }

// LossOfStatus reads the HTTP status with which an upgrade was refused.
func LossOfStatus(status int) Loss {
	switch status {
	case 401, 403, 409:
		return LossRefused
	}
	return LossBroken
}

// redial decides how long to wait before the next dial.
type redial struct {
	dice   *dice
	window Time // over which a fleet that lost its server spreads, told by welcome
	tries  int  // dials that were planned since the last healthy session
}

// wait gives the time until the next dial. Floor is what the server asked for at
// least (Retry-After); it is spread too, so that a fleet does not return as one.
func (r *redial) wait(loss Loss, floor Time) Time {
	return min(max(floor, 0), maxRetryAfter) + r.spread(loss)
}

func (r *redial) spread(loss Loss) Time {
	switch loss {
	case LossRevoked:
		return revokedWait + r.dice.below(revokedSpread)
	case LossRefused:
		return refusedWait + r.dice.below(refusedSpread)
	}
	r.tries++
	if r.tries == 1 {
		return r.dice.below(r.window + 1)
	}
	return r.dice.below(min(backoffMax, backoffBase<<min(r.tries-1, 6)) + 1)
}
