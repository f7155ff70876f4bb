package enroll

import (
	"net/netip"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
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

// attempts holds back prefixes that guess. Its memory is bounded: it forgets the
// least recently seen prefix and never clears all. Safe for concurrent use.
type attempts struct {
	prefixes *lru.Cache[netip.Prefix, *rate.Limiter]
	// good keeps the sums of secrets that lately were right: a node behind the
	// same address as one that guesses gets in as before.
	good           *lru.Cache[Sum, struct{}]
	wrong, limited atomic.Uint64
}

func newAttempts() *attempts {
	a := &attempts{}
	a.prefixes, _ = lru.New[netip.Prefix, *rate.Limiter](maxPrefixes) // fails on a size below 1 only
	a.good, _ = lru.New[Sum, struct{}](maxGood)
	return a
}

// wait says how long this address has to wait before its next try is looked at;
// 0: not at all.
func (a *attempts) wait(from netip.Addr, secret Sum, now time.Time) time.Duration {
	limiter, known := a.prefixes.Get(prefixOf(from))
	if !known {
		return 0
	}
	short := 1 - limiter.TokensAt(now)
	if short <= 0 || a.good.Contains(secret) {
		return 0
	}
	a.limited.Add(1)
	return time.Duration(short * float64(attemptRefill))
}

// failed notes a wrong secret and reports whether it was the one with which the
// prefix used up its allowance.
func (a *attempts) failed(from netip.Addr, secret Sum, now time.Time) (exhausted bool) {
	a.wrong.Add(1)
	a.good.Remove(secret) // revoked meanwhile
	fresh := rate.NewLimiter(rate.Every(attemptRefill), attemptBurst)
	limiter, known, _ := a.prefixes.PeekOrAdd(prefixOf(from), fresh)
	if !known {
		limiter = fresh
	}
	limiter.AllowN(now, 1)
	return limiter.TokensAt(now) < 1
}

func (a *attempts) succeeded(secret Sum) { a.good.Add(secret, struct{}{}) }

func (a *attempts) counts() Counts {
	return Counts{Wrong: a.wrong.Load(), Limited: a.limited.Load()}
}

// prefixOf is what one customer of a provider is given: an IPv4 address or a /64.
func prefixOf(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap()
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	prefix, _ := addr.WithZone("").Prefix(bits) // fails on a length out of range only
	return prefix
}
