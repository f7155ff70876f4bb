package view

import (
	"context"
	"strings"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/shared/wire"
)

// Subscription is one subscriber's hold on a topic, until End.
type Subscription struct {
	view *View
	feed *feed
	to   Subscriber
	over bool
}

// Subscribe gives all rows of a topic that the viewer may see; from then on the
// subscriber gets deltas. Errors: bad_request, forbidden, not_found, unavailable.
func (v *View) Subscribe(ctx context.Context, who *Viewer, topic string, filter wire.Filter, to Subscriber) (*Subscription, *Snapshot, error) {
	k, scope, err := keyOf(who, topic, filter)
	if err != nil {
		return nil, nil, err
	}
	f, first := v.join(k, scope) // from then on nothing is forgotten
	v.refresh(ctx, k.ofPools() || k.ofAlarms())
	s := &Subscription{view: v, feed: f, to: to}
	if first {
		v.load(ctx, f)
	}
	select {
	case <-f.ready:
	case <-ctx.Done():
		s.End()
		return nil, nil, ctx.Err()
	}
	snapshot, err := s.begin()
	if err != nil {
		s.End()
		return nil, nil, err
	}
	select {
	case v.wake <- struct{}{}:
	default: // it wakes already
	}
	return s, snapshot, nil
}

// join finds or makes the feed; first: the caller loads it.
func (v *View) join(k key, scope record.Scope) (f *feed, first bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f = v.feeds[k]
	if f == nil {
		f, first = newFeed(k, scope), true
		v.feeds[k] = f
		if k.ofJobs() {
			v.cfg.Source.WatchJobs(true)
		}
	}
	f.users++
	return f, first
}

// load reads the rows of a topic of jobs from the database; the others' are here.
func (v *View) load(ctx context.Context, f *feed) {
	var set *jobs
	var err error
	if f.key.ofJobs() {
		set, err = v.readJobs(ctx, f)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		f.failed = err
		if v.feeds[f.key] == f {
			delete(v.feeds, f.key) // the next one asks again
			v.unwatch()
		}
	}
	f.jobs = set
	if set != nil {
		for i := range f.early {
			set.take(&f.early[i], v.cfg.Source.WallAt)
		}
	}
	f.early = nil
	close(f.ready)
}

func (v *View) readJobs(ctx context.Context, f *feed) (*jobs, error) {
	only := f.key.job()
	if only.IsZero() {
		rows, err := v.cfg.Store.Jobs(ctx, record.JobFilter{Scope: f.scope}, record.Page{Limit: newestJobs})
		return newJobs(only, f.scope, rows), err
	}
	row, err := v.cfg.Store.Job(ctx, only, f.scope)
	if err != nil {
		return nil, err
	}
	return newJobs(only, f.scope, []record.Job{row}), nil
}

// begin makes the snapshot; what was marked goes to the others first, so that it
// is not sent twice.
func (s *Subscription) begin() (*Snapshot, error) {
	v, f := s.view, s.feed
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case s.over:
		return nil, fleet.Errorf(fleet.CodeNotFound, "the subscription has ended")
	case f.failed != nil:
		return nil, f.failed
	}
	v.flush(f)
	all, _ := v.collect(f, v.allIDs(f))
	if all.len() == 0 && strings.Contains(f.key.topic, "/") {
		return nil, fleet.Errorf(fleet.CodeNotFound, "there is no "+f.key.topic)
	}
	f.remember(&all)
	f.subs[s.to] = struct{}{}
	return &Snapshot{topic: f.key.topic, rev: f.rev, rows: all, limit: partRows}, nil
}

// Resume gives all rows anew to a subscriber that lost deltas.
func (s *Subscription) Resume() (*Snapshot, error) { return s.begin() }

// End ends the deltas. A feed that nobody has any more is forgotten.
func (s *Subscription) End() {
	v, f := s.view, s.feed
	v.mu.Lock()
	defer v.mu.Unlock()
	if s.over {
		return
	}
	s.over = true
	delete(f.subs, s.to)
	f.users--
	if f.users > 0 || v.feeds[f.key] != f {
		return
	}
	delete(v.feeds, f.key)
	v.unwatch()
}

// unwatch ends the keeping of jobs' steps with the last topic that wants them.
func (v *View) unwatch() {
	if !v.anyJobs() {
		v.cfg.Source.WatchJobs(false)
	}
}
