package access

import (
	"context"
	"net/netip"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/limit"
	"rockpool/backend/internal/record"
)

// Bounds of wrong passwords: of one account from one address prefix, so that
// nobody elsewhere can lock its owner out, and of one prefix over all accounts.
const (
	accountBurst   = 10
	accountRefill  = 10 * time.Second
	maxAccounts    = 1 << 16
	passwordBurst  = 30
	passwordRefill = 3 * time.Second
)

// PasswordStore is what signing in needs of the database.
type PasswordStore interface {
	// PasswordOf is not_found for an unknown or disabled user, or one without a password.
	PasswordOf(ctx context.Context, name string) (record.User, string, error)
	SignInsLimited(ctx context.Context, actor record.Actor, name string) error
}

// SignIns checks names and passwords. What it answers, and how long that takes,
// does not tell an unknown name from a wrong password.
type SignIns struct {
	store    PasswordStore
	hasher   *Hasher
	accounts *limit.Limiter
	prefixes *limit.Limiter
}

// NewSignIns makes it; the clock is for the limits.
func NewSignIns(store PasswordStore, hasher *Hasher, now func() time.Time) *SignIns {
	return &SignIns{
		store: store, hasher: hasher,
		accounts: limit.New(accountBurst, accountRefill, maxAccounts, now),
		prefixes: limit.New(passwordBurst, passwordRefill, maxPrefixes, now),
	}
}

// Check gives the user whose name and password these are. Errors: unauthenticated,
// *limit.Error, *BusyError, or the store's.
func (s *SignIns) Check(ctx context.Context, actor record.Actor, from netip.Addr, name, password string) (record.User, error) {
	if wait := max(s.accounts.WaitOf(name, from), s.prefixes.Wait(from)); wait > 0 {
		return record.User{}, &limit.Error{RetryAfter: wait}
	}
	user, hash, err := s.store.PasswordOf(ctx, name)
	if err != nil && CodeOf(err) != fleet.CodeNotFound {
		return record.User{}, err
	}
	right, err := s.hasher.Check(ctx, hash, password)
	if err != nil {
		return record.User{}, err
	}
	// Asked again: others may have guessed while this one waited for its turn.
	if wait := s.accounts.WaitOf(name, from); wait > 0 {
		return record.User{}, &limit.Error{RetryAfter: wait}
	}
	if !right {
		return record.User{}, s.wrong(ctx, actor, from, name)
	}
	return user, nil
}

// wrong counts a wrong password. The one that uses up the account's allowance
// leaves the audit entry for all of them.
func (s *SignIns) wrong(ctx context.Context, actor record.Actor, from netip.Addr, name string) error {
	s.prefixes.Take(from)
	s.accounts.TakeOf(name, from)
	if s.accounts.WaitOf(name, from) > 0 {
		if err := s.store.SignInsLimited(ctx, actor, name); err != nil {
			return err
		}
	}
	return refuse("the name or the password is wrong")
}
