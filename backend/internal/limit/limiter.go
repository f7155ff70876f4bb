// Package limit holds back those who try too often: a token bucket per address
// prefix, in bounded memory. Sign-in, API credentials, setup and the nodes'
// credentials are counted with it.
package limit

import (
	"fmt"
	"net/netip"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// Limiter is a token bucket per address prefix, or per account and prefix, in
// bounded memory: it forgets the least recently seen one and never clears all.
// Safe for concurrent use.
type Limiter struct {
	buckets *lru.Cache[limited, *rate.Limiter]
	every   time.Duration
	burst   int
	now     func() time.Time
}

// limited is who is counted together.
type limited struct {
	account string // empty: every account
	prefix  netip.Prefix
}

// Error refuses an address that tried too often, unread.
type Error struct{ RetryAfter time.Duration }

func (e *Error) Error() string {
	return fmt.Sprintf("too many attempts from this address: try again in %s", e.RetryAfter)
}

// New lets burst through at once and then one each `every`, remembering
// at most `size` (>= 1) prefixes.
func New(burst int, every time.Duration, size int, now func() time.Time) *Limiter {
	buckets, _ := lru.New[limited, *rate.Limiter](size) // fails on a size below 1 only
	return &Limiter{buckets: buckets, every: every, burst: burst, now: now}
}

// Wait says how long the address has to wait; 0: not at all. It takes nothing.
func (l *Limiter) Wait(from netip.Addr) time.Duration { return l.WaitOf("", from) }

// WaitOf is Wait of one account from that address.
func (l *Limiter) WaitOf(account string, from netip.Addr) time.Duration {
	bucket, known := l.buckets.Get(limited{account, PrefixOf(from)})
	if !known {
		return 0
	}
	short := 1 - bucket.TokensAt(l.now())
	if short <= 0 {
		return 0
	}
	return time.Duration(short * float64(l.every))
}

// Take counts one attempt against the address, and reports whether it was let through.
func (l *Limiter) Take(from netip.Addr) bool { return l.TakeOf("", from) }

// TakeOf is Take of one account from that address.
func (l *Limiter) TakeOf(account string, from netip.Addr) bool {
	fresh := rate.NewLimiter(rate.Every(l.every), l.burst)
	bucket, known, _ := l.buckets.PeekOrAdd(limited{account, PrefixOf(from)}, fresh)
	if !known {
		bucket = fresh
	}
	return bucket.AllowN(l.now(), 1)
}

// PrefixOf is what one customer of a provider is given: an IPv4 address or a /64.
func PrefixOf(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap()
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	prefix, _ := addr.WithZone("").Prefix(bits) // fails on a length out of range only
	return prefix
}
