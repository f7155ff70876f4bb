package enroll

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
)

// Store is what the desk needs of the database. A missing row is a *fleet.Error
// with fleet.CodeNotFound.
type Store interface {
	NodeBySecret(ctx context.Context, secret Sum) (fleet.NodeRecord, error)
	LicenseBySum(ctx context.Context, code Sum) (record.License, error)
	License(ctx context.Context, id string) (record.License, error)
	// RegisterNode takes a seat of the license for a new node, or gives the node
	// that already has this secret.
	RegisterNode(ctx context.Context, actor record.Actor, license, wish, role string, secret Sum, machineID string) (record.Node, error)
}

// Loop is the dispatch loop: a new node is known to it before its session begins.
type Loop interface {
	PutNode(ctx context.Context, node fleet.NodeRecord) error
}

// Desk identifies credentials and registers new nodes.
type Desk struct {
	store    Store
	loop     Loop
	log      *slog.Logger
	now      func() time.Time
	attempts *attempts
	// maxSlots of licenses by id: a license's clamp never changes, and ten
	// thousand returning nodes need not ask for it again.
	maxSlots *lru.Cache[string, int64]
}

const maxLicenses = 1 << 12 // remembered clamps

// NewDesk makes a desk. The clock is for rate limits and expiry; log nil: the default.
func NewDesk(store Store, loop Loop, log *slog.Logger, now func() time.Time) *Desk {
	if log == nil {
		log = slog.Default()
	}
	clamps, _ := lru.New[string, int64](maxLicenses) // fails on a size below 1 only
	return &Desk{store: store, loop: loop, log: log, now: now, attempts: newAttempts(), maxSlots: clamps}
}

// Counts gives the totals of wrong and held-back credentials.
func (d *Desk) Counts() Counts { return d.attempts.counts() }

// Credential is whose secret was shown: a node's, or a new node's with a license.
type Credential struct {
	Kind   Kind
	Secret Sum
	// Known reports that Secret is a node's already; Node is its record then.
	Known   bool
	Node    fleet.NodeRecord
	License record.License // of KindLicense, unless Known
}

// LimitedError refuses an address that showed too many wrong secrets, unread.
type LimitedError struct{ RetryAfter time.Duration }

func (e *LimitedError) Error() string {
	return fmt.Sprintf("%s: too many wrong credentials from this address: try again in %s", fleet.CodeRateLimited, e.RetryAfter)
}

// Identify finds whose credential it is. A secret that is a node's already is
// that node, also beside a license code: a lost answer is retried so. A wrong one
// is refused (unauthenticated), is counted against its address, and touches
// nothing of the node it was meant for. Errors are *fleet.Error or *LimitedError.
func (d *Desk) Identify(ctx context.Context, p Presented, from netip.Addr) (Credential, error) {
	if wait := d.attempts.wait(from, p.Secret, d.now()); wait > 0 {
		return Credential{}, &LimitedError{RetryAfter: wait}
	}
	c := Credential{Kind: p.Kind, Secret: p.Secret}
	var err error
	if c.Node, err = d.store.NodeBySecret(ctx, p.Secret); err == nil {
		c.Known = true
		d.attempts.succeeded(p.Secret)
		return c, nil
	}
	if isNotFound(err) && p.Kind == KindLicense {
		if c.License, err = d.store.LicenseBySum(ctx, p.License); err == nil {
			return c, nil
		}
	}
	if isNotFound(err) {
		return Credential{}, d.wrong(from)
	}
	return Credential{}, fmt.Errorf("look up a credential: %w", err)
}

func (d *Desk) wrong(from netip.Addr) error {
	if d.attempts.failed(from, d.now()) {
		d.log.Warn("wrong credentials held back", "prefix", prefixOf(from).String(), "wrong_total", d.attempts.wrong.Load())
	}
	return refuse("no node or license has this secret")
}

func isNotFound(err error) bool {
	var known *fleet.Error
	return errors.As(err, &known) && known.Code == fleet.CodeNotFound
}
