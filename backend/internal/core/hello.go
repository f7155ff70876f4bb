package core

import "rockpool/backend/internal/core/fleet"

// A hello costs a commit. How many a node may say is bounded: far beyond what one
// says that redials as it should, even when every welcome to it is lost. Those that
// are refused as a duplicate's are counted apart, so that a copy which dials in a
// loop is not in the node's own way.
const (
	hellosAtOnce = 100
	helloEvery   = fleet.Time(2_000)  // beyond those
	helloWait    = fleet.Time(10_000) // at least, of who was refused
)

const hellosDetail = "hello is said too often: the sessions end as soon as they begin, or something dials in a loop"

// hellos is a token bucket, held as the moment at which it will be full again.
type hellos struct{ full fleet.Time }

// take counts a hello, or refuses it.
func (h *hellos) take(now fleet.Time) (refused *fleet.Error) {
	full := max(h.full, now) + helloEvery
	if over := full - now - hellosAtOnce*helloEvery; over > 0 {
		return &fleet.Error{Code: fleet.CodeRateLimited, Detail: hellosDetail, RetryAfter: max(over, helloWait)}
	}
	h.full = full
	return nil
}
