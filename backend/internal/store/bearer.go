package store

import (
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"rockpool/backend/internal/record"
)

// bearer is whom a token's secret speaks for.
type bearer struct {
	token record.Token
	user  record.User
}

// Bounds of what is remembered of bearers. Every change of a token or an account that
// goes through this DB ends all of it at once; what another process or a person with
// SQL does is seen bearerValid later at the latest.
const (
	bearerValid = time.Second
	bearerRenew = bearerValid / 2 // from this age on one caller at a time asks anew
	maxBearers  = 1 << 12
)

// bearers remembers who brought a token lately, so that a caller of many requests
// costs a look-up now and then instead of one each.
type bearers struct {
	changes atomic.Uint64 // of tokens and accounts
	known   *lru.Cache[[32]byte, *knownBearer]
}

type knownBearer struct {
	bearer
	changes  uint64    // that were made before it was asked for
	asked    time.Time // when
	renewing atomic.Bool
}

func newBearers() *bearers {
	known, _ := lru.New[[32]byte, *knownBearer](maxBearers) // fails on a size below 1 only
	return &bearers{known: known}
}

// of finds a bearer that is known well enough.
func (b *bearers) of(sum [32]byte, now time.Time) (bearer, bool) {
	k, there := b.known.Get(sum)
	if !there || k.changes != b.changes.Load() {
		return bearer{}, false
	}
	age := now.Sub(k.asked)
	over := k.token.ExpiresAt != nil && !now.Before(*k.token.ExpiresAt)
	if over || age >= bearerValid || age >= bearerRenew && k.renewing.CompareAndSwap(false, true) {
		return bearer{}, false
	}
	return k.bearer, true
}

// keep remembers a bearer as the database had it: asked and changes are of before the
// question, so that what changed meanwhile is not overlooked.
func (b *bearers) keep(sum [32]byte, found bearer, changes uint64, asked time.Time) {
	b.known.Add(sum, &knownBearer{bearer: found, changes: changes, asked: asked})
}

// changed ends what is remembered. It is called when the change is committed, before
// whoever asked for it hears so.
func (b *bearers) changed() { b.changes.Add(1) }
