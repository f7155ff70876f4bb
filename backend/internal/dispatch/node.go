package dispatch

import (
	"context"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

// change applies a committed change of a record; when it returns, the very next
// decision uses it. While the database is away the reload brings it.
func (l *Loop) change(ctx context.Context, apply func(d *core.Dispatch, now fleet.Time, out *core.Effects)) error {
	applied := make(chan struct{})
	ev := event{
		apply: func(d *core.Dispatch, now fleet.Time, out *core.Effects) { apply(d, now, out); close(applied) },
		doubt: func() { close(applied) },
	}
	if !l.post(ctx, ev) {
		return stoppedOr(ctx)
	}
	select {
	case <-applied:
		return nil
	case <-l.done:
		return errStopping
	}
}

// PutNode takes a created or changed record.
func (l *Loop) PutNode(ctx context.Context, record fleet.NodeRecord) error {
	return l.change(ctx, func(d *core.Dispatch, now fleet.Time, out *core.Effects) { d.PutNode(now, record, out) })
}

// RevokeNode ends a node's session and its work; its credential is gone already, and
// record is what the store has of it since.
func (l *Loop) RevokeNode(ctx context.Context, record fleet.NodeRecord, reason string) error {
	return l.change(ctx, func(d *core.Dispatch, now fleet.Time, out *core.Effects) { d.RevokeNode(now, record, reason, out) })
}

// PutApp takes a created or changed app with its bindings.
func (l *Loop) PutApp(ctx context.Context, app fleet.App) error {
	return l.change(ctx, func(d *core.Dispatch, now fleet.Time, out *core.Effects) { d.PutApp(now, app, out) })
}

// PutPool takes a created or changed pool.
func (l *Loop) PutPool(ctx context.Context, pool fleet.Pool) error {
	return l.change(ctx, func(d *core.Dispatch, now fleet.Time, out *core.Effects) { d.PutPool(now, pool, out) })
}

// Hello opens a session: its name is given to register before anything can be
// sent to it, and the welcome follows when the session is committed. It is refused
// (unavailable) while the database is away or the node is not known, and
// (duplicate_identity) when it is not the node's own.
func (l *Loop) Hello(ctx context.Context, hello core.HelloEvent, register func(opened core.Session)) error {
	_, err := ask(ctx, l, false, func(d *core.Dispatch, now fleet.Time, out *core.Effects, answer func(core.Session, error)) {
		opened, refused := d.Hello(now, hello, out)
		if refused != nil {
			answer(opened, refused)
			return
		}
		register(opened)
		answer(opened, nil)
	})
	return err
}

// tell posts an event of a session; it blocks for backpressure only.
func (l *Loop) tell(ev event) { l.post(context.Background(), ev) }

// Heartbeat says what is true of the node now. While the picture is in doubt it
// renews the lease and is acknowledged without orders.
func (l *Loop) Heartbeat(from core.Session, hb core.HeartbeatEvent) {
	l.tell(event{liveness: true, apply: func(d *core.Dispatch, now fleet.Time, out *core.Effects) {
		if l.inDoubt {
			d.Alive(now, from, out)
			out.Sends = append(out.Sends, core.Send{
				Kind: core.SendHeartbeatAck, Node: from.Node, Epoch: from.Epoch, Ack: &core.HeartbeatAck{OK: true},
			})
			return
		}
		d.Heartbeat(now, from, hb, out)
	}})
}

// Alive renews the lease: any frame does.
func (l *Loop) Alive(from core.Session) {
	l.tell(event{liveness: true, apply: func(d *core.Dispatch, now fleet.Time, out *core.Effects) {
		d.Alive(now, from, out)
	}})
}

// Accept answers an offer.
func (l *Loop) Accept(from core.Session, attempt core.Attempt) {
	l.tell(event{apply: func(d *core.Dispatch, now fleet.Time, out *core.Effects) {
		d.Accept(now, from, attempt, out)
	}})
}

// Decline answers an offer that the node can't take.
func (l *Loop) Decline(from core.Session, attempt core.Attempt, reason string) {
	l.tell(event{apply: func(d *core.Dispatch, now fleet.Time, out *core.Effects) {
		d.Decline(now, from, attempt, reason, out)
	}})
}

// Progress is latest-wins and never written.
func (l *Loop) Progress(from core.Session, attempt core.Attempt, percent int32) {
	l.tell(event{apply: func(d *core.Dispatch, now fleet.Time, out *core.Effects) {
		d.Progress(now, from, attempt, percent, out)
	}})
}

// Result ends an attempt; its acknowledgement follows the commit. While the
// database is away it gets none: the node keeps it and sends it again.
func (l *Loop) Result(from core.Session, attempt core.Attempt, result *fleet.Result) {
	l.tell(event{apply: func(d *core.Dispatch, now fleet.Time, out *core.Effects) {
		d.Result(now, from, attempt, result, out)
	}})
}

// Inventory keeps what a node says that it has. While the picture is in doubt it
// is remembered, and written afterwards.
func (l *Loop) Inventory(from core.Session, inventory *fleet.Inventory) {
	l.tell(event{liveness: true, apply: func(d *core.Dispatch, now fleet.Time, out *core.Effects) {
		d.Inventory(now, from, inventory, out)
	}})
}

// Goodbye is a planned end of a session; kind left frees the node's id.
func (l *Loop) Goodbye(from core.Session, kind string) {
	l.tell(event{apply: func(d *core.Dispatch, now fleet.Time, out *core.Effects) {
		d.Goodbye(now, from, kind, out)
	}})
}

// Closed tells that a session's connection is gone.
func (l *Loop) Closed(from core.Session) {
	l.tell(event{liveness: true, apply: func(d *core.Dispatch, now fleet.Time, out *core.Effects) {
		d.SessionClosed(now, from, out)
	}})
}

// Audit records a security event that a session saw.
func (l *Loop) Audit(note core.AuditNote) {
	l.tell(event{apply: func(_ *core.Dispatch, _ fleet.Time, out *core.Effects) { out.Audits = append(out.Audits, note) }})
}
