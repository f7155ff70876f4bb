package dispatch

import (
	"context"
	"time"
	"weak"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// Cancel asks for a job's end, on behalf of actor, and returns its state after
// the commit: canceled, or canceling until its node has stopped it within the
// grace (milliseconds; 0: the default). A job that is not open is not_found
// here; its row says how it ended.
func (l *Loop) Cancel(ctx context.Context, id ids.JobID, actor string, graceMs int64) (fleet.JobState, error) {
	return ask(ctx, l, false, func(d *core.Dispatch, now fleet.Time, out *core.Effects, answer func(fleet.JobState, error)) {
		state, open := d.Cancel(now, id, actor, graceMs, out)
		if !open {
			answer(0, fleet.Errorf(fleet.CodeNotFound, "the job has ended"))
			return
		}
		l.afterJobCommit(func(err error) { answer(state, err) })
	})
}

// CancelMany asks for the end of each of the jobs as Cancel does, and answers for
// each, in their order, after one commit.
func (l *Loop) CancelMany(ctx context.Context, jobs []ids.JobID, actor string, graceMs int64) ([]core.Canceled, error) {
	return ask(ctx, l, false, func(d *core.Dispatch, now fleet.Time, out *core.Effects, answer func([]core.Canceled, error)) {
		list := d.CancelMany(now, jobs, actor, graceMs, out)
		l.afterJobCommit(func(err error) { answer(list, err) })
	})
}

// Resolve decides, on a person's word, about a job that is held because its node
// was lost, and returns its state after the commit. not_found: it is not open;
// conflict: it is not held.
func (l *Loop) Resolve(ctx context.Context, id ids.JobID, action fleet.ResolveAction, by core.Actor) (fleet.JobState, error) {
	return ask(ctx, l, false, func(d *core.Dispatch, now fleet.Time, out *core.Effects, answer func(fleet.JobState, error)) {
		state, held := d.Resolve(now, id, action, by, out)
		if held {
			l.afterJobCommit(func(err error) { answer(state, err) })
			return
		}
		if view, open := d.LiveJobState(id); open {
			answer(0, fleet.Errorf(fleet.CodeConflict, "the job is not held: it is "+view.State.String()))
			return
		}
		answer(0, fleet.Errorf(fleet.CodeNotFound, "the job has ended"))
	})
}

// afterJobCommit calls fn once everything that was decided up to now is
// committed: the gathering batch, or when that is empty the newest one under way.
func (l *Loop) afterJobCommit(fn func(err error)) {
	settle := func(o *outcome) {
		if o.err != nil {
			fn(o.err)
			return
		}
		fn(nil)
	}
	if last := len(l.inFlight) - 1; last >= 0 && !l.pending.effects.Durable() {
		l.inFlight[last].after = append(l.inFlight[last].after, settle)
		return
	}
	l.onCommit(settle)
}

// Wait returns once the job is terminal: with its end, or with nil when it was not
// open any more and its row tells. An error is ctx's, or says that the loop stops.
func (l *Loop) Wait(ctx context.Context, id ids.JobID) (*core.Ended, error) {
	ended := make(chan *core.Ended, 1)
	registered := l.post(ctx, event{liveness: true, apply: func(d *core.Dispatch, _ fleet.Time, _ *core.Effects) {
		if _, open := d.LiveJobState(id); !open && !l.inDoubt {
			ended <- nil
			return
		}
		l.terminal[id] = append(l.terminal[id], ended)
	}})
	if !registered {
		return nil, stoppedOr(ctx)
	}
	select {
	case end := <-ended:
		return end, nil
	case <-ctx.Done():
		l.forget(id, ended)
		return nil, ctx.Err()
	case <-l.done:
		return nil, errStopping
	}
}

// forget drops a waiter that gave up, so that long polls leave nothing behind.
func (l *Loop) forget(id ids.JobID, ended chan *core.Ended) {
	drop := func(*core.Dispatch, fleet.Time, *core.Effects) {
		waiting := l.terminal[id]
		for i := range waiting {
			if waiting[i] == ended {
				waiting[i] = waiting[len(waiting)-1]
				l.terminal[id] = waiting[:len(waiting)-1]
				break
			}
		}
		if len(l.terminal[id]) == 0 {
			delete(l.terminal, id)
		}
	}
	l.post(context.Background(), event{liveness: true, apply: drop})
}

// LiveJob is an open job as memory has it: also whether it runs, and how far.
// False: it is not open.
func (l *Loop) LiveJob(ctx context.Context, id ids.JobID) (core.JobView, bool, error) {
	views, err := l.LiveJobs(ctx, []ids.JobID{id})
	view, ok := views[id]
	return view, ok, err
}

// LiveJobs are those of the given jobs that are open.
func (l *Loop) LiveJobs(ctx context.Context, wanted []ids.JobID) (map[ids.JobID]core.JobView, error) {
	return ask(ctx, l, false, func(d *core.Dispatch, now fleet.Time, _ *core.Effects, answer func(map[ids.JobID]core.JobView, error)) {
		views := make(map[ids.JobID]core.JobView, len(wanted))
		for _, id := range wanted {
			if view, open := d.LiveJob(now, id); open {
				views[id] = view
			}
		}
		answer(views, nil)
	})
}

// LiveNodes are those of the given nodes that memory knows, as they are now.
func (l *Loop) LiveNodes(ctx context.Context, wanted []string) (map[string]core.NodeView, error) {
	return look(ctx, l, func(d *core.Dispatch, _ fleet.Time) map[string]core.NodeView {
		views := make(map[string]core.NodeView, len(wanted))
		for _, id := range wanted {
			if view, known := d.LiveNode(id); known {
				views[id] = view
			}
		}
		return views
	})
}

// Explain gives all reasons of every node for an open job, as they are now.
func (l *Loop) Explain(ctx context.Context, id ids.JobID) (core.Explanation, bool, error) {
	type explained struct {
		explanation core.Explanation
		open        bool
	}
	e, err := ask(ctx, l, false, func(d *core.Dispatch, now fleet.Time, _ *core.Effects, answer func(explained, error)) {
		explanation, open := d.Explain(now, id)
		answer(explained{explanation, open}, nil)
	})
	return e.explanation, e.open, err
}

// NodePast gives what is remembered of a node, and what it can't take now.
func (l *Loop) NodePast(ctx context.Context, id string) (core.NodePast, error) {
	return ask(ctx, l, false, func(d *core.Dispatch, now fleet.Time, _ *core.Effects, answer func(core.NodePast, error)) {
		answer(d.NodePast(now, id), nil)
	})
}

// Fleet is the projection of nodes and pools that REST and consoles read. It is
// immutable and shared until something visible changes.
func (l *Loop) Fleet(ctx context.Context) (*core.FleetView, error) {
	return ask(ctx, l, true, func(d *core.Dispatch, now fleet.Time, _ *core.Effects, answer func(*core.FleetView, error)) {
		view := l.view.Value()
		if view == nil || view.Rev != d.Rev() {
			view = d.FleetAfter(now, view)
			l.view = weak.Make(view)
		}
		answer(view, nil)
	})
}

// WallAt is the wall time of a moment of the core.
func (l *Loop) WallAt(t fleet.Time) time.Time { return l.cfg.Clock.WallAt(t) }
