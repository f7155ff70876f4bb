package dispatch

import (
	"context"
	"fmt"
	"slices"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// placeRounds is how often a placement is asked for anew that ended, or was
// refused, before whoever waited for it heard of it.
const placeRounds = 3

// Place reserves nodes for an outside client and returns when that is committed,
// or when no pool has them. A key's lasting placement comes back as it is. An error
// means that nothing is known to be reserved (code unavailable), or that the app
// has all that it may have (rate_limited).
func (l *Loop) Place(ctx context.Context, wanted core.PlacementAsk) (core.Placed, error) {
	return ask(ctx, l, false, func(d *core.Dispatch, now fleet.Time, out *core.Effects, answer func(core.Placed, error)) {
		p := &placing{loop: l, ask: wanted, answer: answer}
		p.place(d, now, out)
	})
}

// placing waits for the commit of a placement: its own, or that of another with
// the same key.
type placing struct {
	loop   *Loop
	ask    core.PlacementAsk
	rounds int
	placed core.Placed
	answer func(core.Placed, error)
}

func (p *placing) place(d *core.Dispatch, now fleet.Time, out *core.Effects) {
	p.rounds++
	p.placed = d.Place(now, p.ask, out)
	switch {
	case p.placed.Over != "":
		p.answer(core.Placed{}, overShare(p.ask.Spec.App, p.placed.Over, d.RetryAfter(now, p.ask.Spec.App)))
	case p.placed.Exhausted != nil: // its alarm is committed by then
		p.loop.afterJobCommit(func(err error) { p.answer(p.placed, err) })
	default:
		p.look(d, now, out, &outcome{})
	}
}

func (p *placing) committed(o *outcome) {
	if o.err != nil {
		p.answer(core.Placed{}, o.err)
		return
	}
	p.look(p.loop.core, p.loop.cfg.Clock.Now(), &p.loop.pending.effects, o)
}

// look answers when the placement is in the database, and waits as long as it is
// on its way there; o is what came of the batch before.
func (p *placing) look(d *core.Dispatch, now fleet.Time, out *core.Effects, o *outcome) {
	id := p.placed.View.Spec.ID
	view, kept, known := d.LivePlacement(id)
	if known && !kept && !o.has(id) {
		p.loop.onCommit(p.committed)
		return
	}
	why, refused := o.refused[id]
	switch dec := unplaced(id, out, o); {
	case known && !view.Row.State.Ended():
		p.placed.View = view
		p.answer(p.placed, nil)
	case dec != nil:
		p.answer(core.Placed{Exhausted: dec}, nil)
	case refused && why != core.RefusedAssignment && id == p.ask.Spec.ID:
		p.answer(core.Placed{Refused: &why}, nil)
	case p.rounds < placeRounds:
		p.place(d, now, out)
	default:
		p.answer(core.Placed{}, errUnsettled)
	}
}

// has reports that the batch brought the placement into the database.
func (o *outcome) has(id ids.JobID) bool {
	if _, refused := o.refused[id]; refused || o.batch == nil {
		return false
	}
	return slices.ContainsFunc(o.batch.effects.Placements, func(w core.PlacementWrite) bool { return w.Spec.ID == id })
}

// unplaced finds the decision by which a placement that is waited for found no
// other nodes.
func unplaced(id ids.JobID, out *core.Effects, o *outcome) *fleet.Decision {
	lists := [][]core.Unplaced{out.Unplaced, nil}
	if o.batch != nil {
		lists[1] = o.batch.effects.Unplaced
	}
	for _, list := range lists {
		for i := range list {
			if list[i].ID == id {
				return list[i].Decision
			}
		}
	}
	return nil
}

var errUnsettled = fleet.Errorf(fleet.CodeUnavailable, "nodes came and went while this was placed; ask again")

func overShare(app, what string, after fleet.Time) *fleet.Error {
	return &fleet.Error{
		Code: fleet.CodeRateLimited, RetryAfter: after,
		Detail: fmt.Sprintf("%s has all the %s that it may have; release some, or ask an administrator for more", app, what),
	}
}

// TryPlace shows where a placement would go now, and every reason of every node.
func (l *Loop) TryPlace(ctx context.Context, spec *fleet.PlacementSpec) (core.Candidates, error) {
	return look(ctx, l, func(d *core.Dispatch, now fleet.Time) core.Candidates { return d.TryPlace(now, spec) })
}

// RenewPlacement lets a placement last so long from now (milliseconds; 0: as long
// as was asked for at first), and returns when that is committed. One that does not
// last is not_found here; its row says how it ended.
func (l *Loop) RenewPlacement(ctx context.Context, id ids.JobID, ttlMs int64) (core.PlacementView, error) {
	return l.tellPlacement(ctx, func(d *core.Dispatch, now fleet.Time, out *core.Effects) (core.PlacementView, bool) {
		return d.Renew(now, id, ttlMs, out)
	})
}

// ReleasePlacement ends a placement and returns when that is committed. One that
// does not last is not_found here; its row says how it ended.
func (l *Loop) ReleasePlacement(ctx context.Context, id ids.JobID) (core.PlacementView, error) {
	return l.tellPlacement(ctx, func(d *core.Dispatch, now fleet.Time, out *core.Effects) (core.PlacementView, bool) {
		return d.Release(now, id, out)
	})
}

func (l *Loop) tellPlacement(ctx context.Context, tell func(d *core.Dispatch, now fleet.Time, out *core.Effects) (core.PlacementView, bool)) (core.PlacementView, error) {
	return ask(ctx, l, false, func(d *core.Dispatch, now fleet.Time, out *core.Effects, answer func(core.PlacementView, error)) {
		view, lasted := tell(d, now, out)
		if !lasted {
			answer(core.PlacementView{}, fleet.Errorf(fleet.CodeNotFound, "the placement has ended"))
			return
		}
		l.afterJobCommit(func(err error) { answer(view, err) })
	})
}

// Placement is one that lasts, as it is now; false: it does not.
func (l *Loop) Placement(ctx context.Context, id ids.JobID) (core.PlacementView, bool, error) {
	type live struct {
		view  core.PlacementView
		known bool
	}
	v, err := look(ctx, l, func(d *core.Dispatch, _ fleet.Time) live {
		view, _, known := d.LivePlacement(id)
		return live{view, known}
	})
	return v.view, v.known, err
}

// Placements are those that last, by id.
func (l *Loop) Placements(ctx context.Context) ([]core.PlacementView, error) {
	return look(ctx, l, func(d *core.Dispatch, _ fleet.Time) []core.PlacementView { return d.Placements() })
}
