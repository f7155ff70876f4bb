package enroll

import (
	"context"

	"rockpool/backend/internal/record"
)

// atOnce is how many questions about licenses and single nodes the database is asked at one time: with
// the look-up of secrets half of its connections. The rest stays for operators, however
// many nodes come back together.
const atOnce = 3

// turns is a Store that is asked so many questions at one time and lets the others
// wait for theirs.
type turns struct {
	store   Store
	taken   chan struct{}
	secrets *lookup
}

func newTurns(store Store) *turns {
	return &turns{store: store, taken: make(chan struct{}, atOnce), secrets: newLookup(store)}
}

// inTurn asks when it is its turn, or gives up with ctx.
func inTurn[T any](ctx context.Context, t *turns, ask func() (T, error)) (T, error) {
	select {
	case t.taken <- struct{}{}:
		defer func() { <-t.taken }()
		return ask()
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

func (t *turns) MemberBySecret(ctx context.Context, secret Sum) (record.Member, error) {
	return t.secrets.node(ctx, secret)
}

func (t *turns) Node(ctx context.Context, id string) (record.Node, error) {
	return inTurn(ctx, t, func() (record.Node, error) { return t.store.Node(ctx, id) })
}

func (t *turns) LicenseBySum(ctx context.Context, code Sum) (record.License, error) {
	return inTurn(ctx, t, func() (record.License, error) { return t.store.LicenseBySum(ctx, code) })
}

func (t *turns) RegisterNode(ctx context.Context, actor record.Actor, license, wish, role string, secret Sum, machineID string) (record.Node, error) {
	return inTurn(ctx, t, func() (record.Node, error) {
		return t.store.RegisterNode(ctx, actor, license, wish, role, secret, machineID)
	})
}
