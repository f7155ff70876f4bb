package dispatch

import (
	"context"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

// LiftHold lifts an automatic hold, or a node's own, on by's word, and returns
// after the commit. Where no such hold stands, and for operators' holds, which the
// store lifts, it is not_found.
func (l *Loop) LiftHold(ctx context.Context, node string, kind fleet.HoldKind, owner fleet.HoldOwner, by core.Actor, reason string) error {
	_, err := ask(ctx, l, false, func(d *core.Dispatch, now fleet.Time, out *core.Effects, answer func(struct{}, error)) {
		if !d.LiftHold(now, node, kind, owner, by, reason, out) {
			answer(struct{}{}, fleet.Errorf(fleet.CodeNotFound, "no such hold stands on node "+node))
			return
		}
		l.afterJobCommit(func(err error) { answer(struct{}{}, err) })
	})
	return err
}

// LeaveNode ends the session of a node that an operator took out of the fleet, and
// its work; record is what the store has of it since.
func (l *Loop) LeaveNode(ctx context.Context, record fleet.NodeRecord, detail string) error {
	return l.change(ctx, func(d *core.Dispatch, now fleet.Time, out *core.Effects) { d.LeaveNode(now, record, detail, out) })
}

// ReleasePool lets the work of a pool's silent nodes go elsewhere before its mass loss
// ends by itself; not_found: none stands. It answers after the commit.
func (l *Loop) ReleasePool(ctx context.Context, pool string, by core.Actor, reason string) error {
	_, err := ask(ctx, l, false, func(d *core.Dispatch, now fleet.Time, out *core.Effects, answer func(struct{}, error)) {
		if !d.ReleasePool(now, pool, by, reason, out) {
			answer(struct{}{}, fleet.Errorf(fleet.CodeNotFound, "no mass loss stands in pool "+pool))
			return
		}
		l.afterJobCommit(func(err error) { answer(struct{}{}, err) })
	})
	return err
}
