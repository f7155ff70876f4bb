package session

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// budget bounds how many upgrades of one kind of credential are begun a second.
// Each kind has its own, so that a storm of agents can't lock an operator out.
type budget struct {
	limiter *rate.Limiter
	now     func() time.Time
}

// newBudget allows perSecond upgrades a second and as many at once.
func newBudget(perSecond int, now func() time.Time) *budget {
	return &budget{limiter: rate.NewLimiter(rate.Limit(perSecond), perSecond), now: now}
}

// take reports whether an upgrade may begin now.
func (b *budget) take() bool { return b.limiter.AllowN(b.now(), 1) }

// retryAfter is a duration in whole seconds for the Retry-After header, 1 at least.
func retryAfter(wait time.Duration) int { return max(1, int(math.Ceil(wait.Seconds()))) }
