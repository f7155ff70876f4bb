package dispatch

import (
	"context"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

// RemovePool forgets a deleted pool.
func (l *Loop) RemovePool(ctx context.Context, pool string) error {
	return l.change(ctx, func(d *core.Dispatch, _ fleet.Time, _ *core.Effects) { d.RemovePool(pool) })
}

// look asks what the core knows, without an effect.
func look[T any](ctx context.Context, l *Loop, question func(d *core.Dispatch, now fleet.Time) T) (T, error) {
	return ask(ctx, l, true, func(d *core.Dispatch, now fleet.Time, _ *core.Effects, answer func(T, error)) {
		answer(question(d, now), nil)
	})
}

// Candidates shows where work would go now, and every reason of every node.
func (l *Loop) Candidates(ctx context.Context, spec *fleet.JobSpec) (core.Candidates, error) {
	return look(ctx, l, func(d *core.Dispatch, now fleet.Time) core.Candidates { return d.Preview(now, spec) })
}

// Impact shows what a change would do.
func (l *Loop) Impact(ctx context.Context, p core.Proposal) (core.Impact, error) {
	return look(ctx, l, func(d *core.Dispatch, now fleet.Time) core.Impact { return d.Impact(now, p) })
}

// Alignment shows what will fail before a request does.
func (l *Loop) Alignment(ctx context.Context) (core.Alignment, error) {
	return look(ctx, l, func(d *core.Dispatch, _ fleet.Time) core.Alignment { return d.Alignment() })
}

// Resolvers lists the apps that resolve to a pool.
func (l *Loop) Resolvers(ctx context.Context, pool string) ([]core.Resolver, error) {
	return look(ctx, l, func(d *core.Dispatch, _ fleet.Time) []core.Resolver { return d.Resolvers(pool) })
}

// Usable counts the nodes that may get new work of the app's role, fallback
// included.
func (l *Loop) Usable(ctx context.Context, app fleet.App, role string) (int32, error) {
	return look(ctx, l, func(d *core.Dispatch, _ fleet.Time) int32 { return d.Usable(app, role) })
}
