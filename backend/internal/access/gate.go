package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/enroll"
	"rockpool/backend/internal/limit"
	"rockpool/backend/internal/record"
)

// Bounds of guessing, per address prefix.
const (
	guessBurst  = 20              // wrong credentials in a row before waiting begins
	guessRefill = 3 * time.Second // one more after so long
	maxPrefixes = 1 << 16
	maxGood     = 1 << 12 // credentials that lately were right
)

// Store is what the gate needs of the database. A missing row is a *fleet.Error
// with fleet.CodeNotFound.
type Store interface {
	TokenBySum(ctx context.Context, sum enroll.Sum) (record.Token, record.User, error)
	NodeBySecret(ctx context.Context, sum enroll.Sum) (fleet.NodeRecord, error)
	ConsoleSessionBySum(ctx context.Context, sum enroll.Sum) (record.User, error)
}

// Gate tells whose credential a request carries. A secret is only ever looked up
// by its SHA-256, so that the time of a comparison tells nothing of it.
type Gate struct {
	store   Store
	guesses *limit.Limiter
	// good lets credentials that lately were right through a prefix on which
	// somebody else guesses.
	good *lru.Cache[enroll.Sum, struct{}]
	now  func() time.Time
}

// NewGate makes a gate; the clock is for expiry and rate limits.
func NewGate(store Store, now func() time.Time) *Gate {
	good, _ := lru.New[enroll.Sum, struct{}](maxGood) // fails on a size below 1 only
	return &Gate{store: store, guesses: limit.New(guessBurst, guessRefill, maxPrefixes, now), good: good, now: now}
}

// Identify reads the request's Authorization header, or without one the cookie of a
// console session; with neither it is anonymous.
// The kind of a credential is told by its shape before any database is asked.
// Errors are *fleet.Error (unauthenticated, unavailable) or *limit.Error.
func (g *Gate) Identify(ctx context.Context, header http.Header, from netip.Addr) (Principal, error) {
	lines := header.Values("Authorization")
	if len(lines) == 0 {
		return g.identifyConsole(ctx, header, from)
	}
	scheme, credential, _ := strings.Cut(lines[0], " ")
	if len(lines) > 1 || !strings.EqualFold(scheme, "Bearer") {
		return Principal{}, refuse("send one Authorization header: Bearer <API token>")
	}
	if sum, ok := enroll.ParseTokenSecret(credential); ok {
		return g.look(ctx, sum, from, g.byToken)
	}
	if sum, ok := enroll.ParseNodeSecret(credential); ok {
		return g.look(ctx, sum, from, g.byNodeSecret)
	}
	return Principal{}, refuse("an API token reads rp_ and 43 characters of base64url")
}

func (g *Gate) look(ctx context.Context, sum enroll.Sum, from netip.Addr, find func(context.Context, enroll.Sum) (Principal, error)) (Principal, error) {
	_, known := g.good.Get(sum)
	if wait := g.guesses.Wait(from); wait > 0 && !known {
		return Principal{}, &limit.Error{RetryAfter: wait}
	}
	p, err := find(ctx, sum)
	switch {
	case err == nil && known:
		return p, nil
	case err == nil:
		g.good.Add(sum, struct{}{})
		return p, nil
	case CodeOf(err) == fleet.CodeNotFound || CodeOf(err) == fleet.CodeUnauthenticated:
		g.guesses.Take(from)
		g.good.Remove(sum)
		return Principal{}, refuse("no such credential, or it is not valid any more")
	}
	return Principal{}, fmt.Errorf("look up a credential: %w", err)
}

func (g *Gate) byToken(ctx context.Context, sum enroll.Sum) (Principal, error) {
	token, user, err := g.store.TokenBySum(ctx, sum)
	if err != nil {
		return Principal{}, err
	}
	if user.Disabled || token.ExpiresAt != nil && !g.now().Before(*token.ExpiresAt) {
		return Principal{}, refuse("expired or disabled")
	}
	return Principal{Kind: ByToken, User: user, Token: token}, nil
}

// identifyConsole reads the cookie of a console session, whose name keeps other
// hosts and plain HTTP from setting it.
func (g *Gate) identifyConsole(ctx context.Context, header http.Header, from netip.Addr) (Principal, error) {
	sum, there, err := ConsoleCookie(header)
	if !there || err != nil {
		return Principal{}, err
	}
	return g.look(ctx, sum, from, g.byConsole)
}

func (g *Gate) byConsole(ctx context.Context, sum enroll.Sum) (Principal, error) {
	user, err := g.store.ConsoleSessionBySum(ctx, sum)
	if err != nil {
		return Principal{}, err
	}
	if user.Disabled {
		return Principal{}, refuse("disabled")
	}
	return Principal{Kind: ByConsole, User: user, Console: sum}, nil
}

func (g *Gate) byNodeSecret(ctx context.Context, sum enroll.Sum) (Principal, error) {
	node, err := g.store.NodeBySecret(ctx, sum)
	if err != nil {
		return Principal{}, err
	}
	if node.Left {
		return Principal{}, refuse("the node has left")
	}
	return Principal{Kind: ByNodeSecret, Node: node}, nil
}

// CodeOf is the code of a *fleet.Error in err's chain, or empty.
func CodeOf(err error) fleet.Code {
	var known *fleet.Error
	if errors.As(err, &known) {
		return known.Code
	}
	return ""
}

func refuse(detail string) error { return fleet.Errorf(fleet.CodeUnauthenticated, detail) }
