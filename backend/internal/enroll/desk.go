package enroll

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/limit"
	"rockpool/backend/internal/record"
)

// Store is what the desk needs of the database. A missing row is a *fleet.Error
// with fleet.CodeNotFound.
type Store interface {
	// MembersBySecret finds nodes by their secrets. What no node has is left out, and
	// so is a node that has left: it comes back by a license.
	MembersBySecret(ctx context.Context, secrets []Sum) (map[Sum]record.Member, error)
	Node(ctx context.Context, id string) (record.Node, error)
	LicenseBySum(ctx context.Context, code Sum) (record.License, error)
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
	store    *turns
	loop     Loop
	log      *slog.Logger
	now      func() time.Time
	attempts *attempts
}

// NewDesk makes a desk. The clock is for rate limits and expiry; log nil: the default.
func NewDesk(store Store, loop Loop, log *slog.Logger, now func() time.Time) *Desk {
	if log == nil {
		log = slog.Default()
	}
	return &Desk{store: newTurns(store), loop: loop, log: log, now: now, attempts: newAttempts(now)}
}

// Counts gives the totals of wrong and held-back credentials.
func (d *Desk) Counts() Counts { return d.attempts.counts() }

// Credential is whose secret was shown: a node's, or a new node's with a license.
type Credential struct {
	Kind   Kind
	Secret Sum
	// Known reports that Secret is a node's already; Node is which one then.
	Known   bool
	Node    record.Member
	License record.License // of KindLicense, unless Known
}

// Admit holds back an address that showed too many wrong secrets, with a
// *limit.Error, before anything is spent on its next one.
func (d *Desk) Admit(p Presented, from netip.Addr) error {
	if wait := d.attempts.wait(from, p.Secret); wait > 0 {
		return &limit.Error{RetryAfter: wait}
	}
	return nil
}

// Identify finds whose credential it is, after Admit. A secret that is a node's
// already is that node, also beside a license code: a lost answer is retried so.
// A wrong one is refused (unauthenticated), is counted against its address, and
// touches nothing of the node it was meant for. Errors are *fleet.Error.
func (d *Desk) Identify(ctx context.Context, p Presented, from netip.Addr) (Credential, error) {
	c := Credential{Kind: p.Kind, Secret: p.Secret}
	node, err := d.store.MemberBySecret(ctx, p.Secret)
	if err == nil {
		c.Known, c.Node = true, node
		d.attempts.succeeded(p.Secret)
		return c, nil
	}
	if p.Kind == KindLicense && isNotFound(err) {
		if c.License, err = d.store.LicenseBySum(ctx, p.License); err == nil {
			return c, nil
		}
	}
	if isNotFound(err) {
		return Credential{}, d.wrong(p.Secret, from)
	}
	return Credential{}, fmt.Errorf("look up a credential: %w", err)
}

func (d *Desk) wrong(secret Sum, from netip.Addr) error {
	if d.attempts.failed(from, secret) {
		d.log.Warn("wrong credentials held back", "prefix", limit.PrefixOf(from).String(), "wrong_total", d.attempts.wrong.Load())
	}
	return refuse("no node or license has this secret")
}

func isNotFound(err error) bool {
	var known *fleet.Error
	return errors.As(err, &known) && known.Code == fleet.CodeNotFound
}
