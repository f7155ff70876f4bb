package view

import (
	"context"

	"rockpool/backend/internal/core"
	"rockpool/shared/ids"
)

func (v *View) anyJobs() bool {
	for k := range v.feeds {
		if k.ofJobs() {
			return true
		}
	}
	return false
}

func (v *View) watchesJobs() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.anyJobs()
}

// refreshJobs brings committed steps into the topics of jobs, and what only
// memory knows when it is time to gather.
func (v *View) refreshJobs(ctx context.Context, gather, decide bool) {
	v.reread(ctx)
	news := v.cfg.Source.JobNews()
	v.mu.Lock()
	for _, f := range v.feeds {
		switch {
		case !f.key.ofJobs():
		case !f.loaded():
			f.early = append(f.early, news...)
		default:
			for i := range news {
				f.mark(f.jobs.take(&news[i], v.cfg.Source.WallAt))
			}
		}
	}
	open, single := v.openJobs()
	v.mu.Unlock()
	if gather && len(open) > 0 {
		if views, err := v.cfg.Source.JobStates(ctx, open); err == nil {
			v.takeLive(views, false)
		}
	}
	if decide {
		v.fetch(ctx)
	}
	if decide && len(single) > 0 {
		if views, err := v.cfg.Source.LiveJobs(ctx, single); err == nil {
			v.takeLive(views, true)
		}
	}
}

// openJobs lists the jobs that memory may know more of, and those of them that
// have a topic of their own.
func (v *View) openJobs() (open, single []ids.JobID) {
	for _, f := range v.feeds {
		if f.jobs == nil {
			continue
		}
		list := f.jobs.open()
		open = append(open, list...)
		if !f.jobs.only.IsZero() {
			single = append(single, list...)
		}
	}
	return open, single
}

func (v *View) takeLive(views map[ids.JobID]core.JobView, decided bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, f := range v.feeds {
		if f.jobs != nil {
			f.mark(f.jobs.live(views, decided, v.cfg.Source.WallAt))
		}
	}
}

// fetch reads the topics anew into whose scope a job came: once a second at most.
func (v *View) fetch(ctx context.Context) {
	v.mu.Lock()
	var feeds []*feed
	for _, f := range v.feeds {
		if f.jobs != nil && f.jobs.lacks {
			f.jobs.lacks = false // what comes from now on counts anew
			feeds = append(feeds, f)
		}
	}
	v.mu.Unlock()
	for _, f := range feeds {
		if set, err := v.readJobs(ctx, f); err == nil {
			v.mu.Lock()
			f.replace(set)
			v.mu.Unlock()
		}
	}
}

// replace puts other jobs into the place of those that the feed had.
func (f *feed) replace(set *jobs) {
	f.markAll(f.jobs.ids())
	f.jobs = set
	f.markAll(set.ids())
	f.urgent = true
}

// reread reads the jobs anew after memory was loaded anew: steps whose commit was
// not known of were never told.
func (v *View) reread(ctx context.Context) {
	v.mu.Lock()
	due := v.reload
	v.reload = false
	var feeds []*feed
	for _, f := range v.feeds {
		if due && f.jobs != nil {
			feeds = append(feeds, f)
		}
	}
	v.mu.Unlock()
	for _, f := range feeds {
		set, err := v.readJobs(ctx, f)
		v.mu.Lock()
		if err != nil {
			v.reload = true
		} else {
			f.replace(set)
		}
		v.mu.Unlock()
	}
}
