package dispatch

import (
	"context"
	"sync"
	"sync/atomic"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// news keeps the committed steps of jobs for whoever watches; while nobody does
// it costs one look at a flag a batch.
type news struct {
	wanted atomic.Bool
	mu     sync.Mutex
	list   []core.JobNews
}

// keep takes the steps of a committed batch but for those that were refused.
func (n *news) keep(e *core.Effects, refused map[ids.JobID]core.RefusedWhy) {
	if !n.wanted.Load() {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range e.Inserts {
		in := &e.Inserts[i]
		if _, out := refused[in.Spec.ID]; !out {
			n.list = append(n.list, core.JobNews{Job: in.Spec.ID, Spec: in.Spec, SubmittedAt: in.At, Row: in.Row})
		}
	}
	for i := range e.Updates {
		up := &e.Updates[i]
		if _, out := refused[up.Job]; !out {
			n.list = append(n.list, core.JobNews{Job: up.Job, Row: up.Row})
		}
	}
}

// WatchJobs begins or ends the keeping of committed steps.
func (l *Loop) WatchJobs(on bool) {
	l.news.wanted.Store(on)
	if !on {
		l.JobNews()
	}
}

// JobNews takes the committed steps since the call before, in their order.
func (l *Loop) JobNews() []core.JobNews {
	l.news.mu.Lock()
	defer l.news.mu.Unlock()
	list := l.news.list
	l.news.list = nil
	return list
}

// Changed projects what is different from the fleet at revision since; the pools'
// sums only when they are wanted.
func (l *Loop) Changed(ctx context.Context, since uint64, pools bool) (*core.Changes, error) {
	return ask(ctx, l, true, func(d *core.Dispatch, now fleet.Time, _ *core.Effects, answer func(*core.Changes, error)) {
		answer(d.Changed(now, since, pools), nil)
	})
}

// JobStates are those of the given jobs that are open, without deciding anew
// about waiting ones.
func (l *Loop) JobStates(ctx context.Context, wanted []ids.JobID) (map[ids.JobID]core.JobView, error) {
	return ask(ctx, l, true, func(d *core.Dispatch, _ fleet.Time, _ *core.Effects, answer func(map[ids.JobID]core.JobView, error)) {
		views := make(map[ids.JobID]core.JobView, len(wanted))
		for _, id := range wanted {
			if view, open := d.LiveJobState(id); open {
				views[id] = view
			}
		}
		answer(views, nil)
	})
}

// Now is the core's time.
func (l *Loop) Now() fleet.Time { return l.cfg.Clock.Now() }
