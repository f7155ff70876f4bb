package dispatch

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

// A batch whose outcome is unknown, or a row that differs from memory, leaves
// the core's picture in doubt. From then on nothing is decided, nothing expires
// and nobody is told anything that rests on that picture, until everything was
// loaded anew. Sessions stay: the next heartbeats say what the nodes run.

const reloadPause = 200 * time.Millisecond

func (l *Loop) begin(snapshot *core.Snapshot) {
	l.core.Load(l.cfg.Clock.Now(), snapshot)
	l.log.Info("fleet loaded", "pools", len(snapshot.Pools), "apps", len(snapshot.Apps),
		"nodes", len(snapshot.Nodes), "open_jobs", len(snapshot.Jobs), "epoch", snapshot.Epoch)
}

// doubt stops deciding. What has gathered was decided on a picture that can't
// be trusted: it is dropped, and whoever waited for it is told.
func (l *Loop) doubt(helpers *errgroup.Group, ctx context.Context) {
	if l.inDoubt {
		return
	}
	l.inDoubt = true
	l.downSince = time.Now()
	l.core.Freeze(l.cfg.Clock.Now())
	l.dropPending()
	if len(l.inFlight) == 0 {
		l.load(helpers, ctx)
	} // else settleAfter loads when the transactions under way have ended
}

func (l *Loop) dropPending() {
	b := l.pending
	l.pending = l.freshBatch()
	for _, fn := range b.after {
		fn(&outcome{batch: b, err: errDatabaseAway})
	}
}

// load reads the fleet until it succeeds or the server stops.
func (l *Loop) load(helpers *errgroup.Group, ctx context.Context) {
	if l.loading {
		return
	}
	l.loading = true
	helpers.Go(func() error {
		for {
			snapshot, err := l.store.LoadSnapshot(ctx)
			if err == nil {
				l.loaded <- snapshot
				return nil
			}
			l.log.Debug("the fleet can't be loaded yet", "error", err)
			select {
			case <-time.After(reloadPause):
			case <-ctx.Done():
				return nil
			}
		}
	})
}

// resume trusts memory again: it is the database's content.
func (l *Loop) resume(snapshot *core.Snapshot) {
	l.loading, l.inDoubt = false, false
	l.dropPending()
	l.begin(snapshot)
	now := l.cfg.Clock.Now()
	l.log.Warn("deciding again", "away", time.Since(l.downSince).Round(time.Millisecond))
	for id, waiting := range l.terminal {
		if _, open := l.core.LiveJob(now, id); open {
			continue
		}
		for _, ended := range waiting {
			close(ended)
		}
		delete(l.terminal, id)
	}
}

type recallAnswer struct {
	asked []core.Recall
	rows  []core.RecalledRow
}

// recall reads rows of ended jobs beside the loop. When it fails nothing is
// answered: the node sends its result again.
func (l *Loop) recall(helpers *errgroup.Group, ctx context.Context, asked []core.Recall) {
	helpers.Go(func() error {
		rows, err := l.store.Recall(ctx, asked)
		if err != nil {
			l.log.Warn("rows of ended jobs can't be read; their nodes will ask again", "error", err)
			return nil
		}
		select {
		case l.recalled <- recallAnswer{asked, rows}:
		case <-ctx.Done():
		}
		return nil
	})
}

func (l *Loop) applyRecalled(answer recallAnswer) {
	if l.inDoubt {
		return
	}
	now := l.cfg.Clock.Now()
	for i, asked := range answer.asked {
		l.core.Recalled(now, asked, answer.rows[i], &l.pending.effects)
	}
}

// answerAll tells everyone who still waits that the loop has ended.
func (l *Loop) answerAll(err *fleet.Error) {
	for _, b := range l.inFlight { // only when the shard is lost
		for _, fn := range b.after {
			fn(&outcome{batch: b, err: errUnknown})
		}
		b.after = nil
	}
	for _, fn := range l.pending.after {
		fn(&outcome{batch: l.pending, err: err})
	}
	l.pending.after = nil
	for id, waiting := range l.terminal {
		for _, ended := range waiting {
			close(ended)
		}
		delete(l.terminal, id)
	}
}

// Frozen is the freeze that stands now, if one does.
func (l *Loop) Frozen(ctx context.Context) (core.Freeze, error) {
	return look(ctx, l, func(d *core.Dispatch, now fleet.Time) core.Freeze { return d.Frozen(now) })
}

// Database tells whether the database answers. While it does not, no lease runs out,
// also when nothing is to be written that would show it.
func (l *Loop) Database(answers bool) {
	l.tell(event{liveness: true, apply: func(d *core.Dispatch, now fleet.Time, out *core.Effects) {
		switch {
		case !answers:
			d.Freeze(now)
		case !l.inDoubt: // else the load that is under way thaws
			d.Thaw(now, out)
		}
	}})
}
