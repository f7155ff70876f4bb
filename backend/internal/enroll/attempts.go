package enroll

import (
	"net/netip"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"rockpool/backend/internal/limit"
)

// Bounds of guessing, per address prefix.
const (
	attemptBurst  = 20              // wrong secrets in a row before waiting begins
	attemptRefill = 3 * time.Second // one more after so long
	maxPrefixes   = 1 << 16         // the oldest is forgotten first
	maxGood       = 1 << 15         // secrets that lately were right
)

// Counts are totals since the start, for metrics.
type Counts struct {
	Wrong   uint64 // well-formed credentials that matched no record, and refused registrations
	Limited uint64 // refused unread, for too many wrong ones from there
}

// attempts holds back addresses that guess.
type attempts struct {
	guesses *limit.Limiter
	// good keeps the sums of secrets that lately were right: a node behind the
	// same address as one that guesses gets in as before.
	good           *lru.Cache[Sum, struct{}]
	wrong, limited atomic.Uint64
}

func newAttempts(now func() time.Time) *attempts {
	good, _ := lru.New[Sum, struct{}](maxGood) // fails on a size below 1 only
	return &attempts{guesses: limit.New(attemptBurst, attemptRefill, maxPrefixes, now), good: good}
}

// wait says how long this address has to wait before its next try is looked at;
// 0: not at all.
func (a *attempts) wait(from netip.Addr, secret Sum) time.Duration {
	wait := a.guesses.Wait(from)
	if wait == 0 || a.good.Contains(secret) {
		return 0
	}
	a.limited.Add(1)
	return wait
}

// failed notes a wrong secret and reports whether the prefix has used up its
// allowance.
func (a *attempts) failed(from netip.Addr, secret Sum) (exhausted bool) {
	a.wrong.Add(1)
	a.good.Remove(secret) // revoked meanwhile
	a.guesses.Take(from)
	return a.guesses.Wait(from) > 0
}

func (a *attempts) succeeded(secret Sum) { a.good.Add(secret, struct{}{}) }

func (a *attempts) counts() Counts {
	return Counts{Wrong: a.wrong.Load(), Limited: a.limited.Load()}
}
