package view

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/shared/ids"
	"rockpool/shared/wire"
)

// Source is the dispatch loop.
type Source interface {
	Changed(ctx context.Context, since uint64, pools bool) (*core.Changes, error)
	JobStates(ctx context.Context, wanted []ids.JobID) (map[ids.JobID]core.JobView, error)
	LiveJobs(ctx context.Context, wanted []ids.JobID) (map[ids.JobID]core.JobView, error)
	// WatchJobs switches the keeping of committed steps, JobNews takes them.
	WatchJobs(on bool)
	JobNews() []core.JobNews
	WallAt(t fleet.Time) time.Time
	Now() fleet.Time
}

// Store reads what memory does not have.
type Store interface {
	Nodes(ctx context.Context, scope record.Scope, page record.Page) ([]record.Node, error)
	Jobs(ctx context.Context, filter record.JobFilter, page record.Page) ([]record.Job, error)
	Job(ctx context.Context, id ids.JobID, scope record.Scope) (record.Job, error)
}

// Config of a view. Zero Log and Now take the defaults.
type Config struct {
	Source Source
	Store  Store
	Log    *slog.Logger
	Now    func() time.Time
}

// How often the view looks for changes while somebody is subscribed, how many of
// these ticks it gathers what is not urgent, and how many pass between two looks
// at the decision of a waiting job.
const (
	tick        = 20 * time.Millisecond
	gatherTicks = 12 // 240 ms: four times a second
	decideTicks = 50 // 1 s
)

// View is the projection. Its methods may be called from any goroutine.
type View struct {
	cfg  Config
	wake chan struct{} // the first subscription

	mu     sync.Mutex
	state  state
	feeds  map[key]*feed
	reload bool // memory was loaded anew: steps of jobs may have been missed
}

// New makes a view that lives while Run runs.
func New(cfg Config) *View {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &View{
		cfg: cfg, wake: make(chan struct{}, 1), feeds: map[key]*feed{},
		state: newState(),
	}
}

// Run keeps the view current until ctx ends.
func (v *View) Run(ctx context.Context) error {
	if err := v.seed(ctx); err != nil {
		v.cfg.Log.Warn("old reports of nodes are not shown until they come back", "error", err)
	}
	minute, fast := time.NewTicker(historyEvery), time.NewTicker(tick)
	defer minute.Stop()
	defer fast.Stop()
	v.sample(ctx)
	for n := 0; ; n++ {
		ticks := fast.C
		if !v.watched() {
			ticks = nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-minute.C:
			v.sample(ctx)
		case <-v.wake:
		case <-ticks:
			v.look(ctx, n)
		}
	}
}

// seed reads what nodes reported before this process began.
func (v *View) seed(ctx context.Context) error {
	page := record.Page{Limit: record.MaxPage}
	for {
		nodes, err := v.cfg.Store.Nodes(ctx, record.Scope{}, page)
		if err != nil {
			return err
		}
		v.mu.Lock()
		for i := range nodes {
			v.state.kept[nodes[i].ID] = &nodes[i]
		}
		v.mu.Unlock()
		if len(nodes) < page.Limit {
			return nil
		}
		page.After = nodes[len(nodes)-1].ID
	}
}

func (v *View) watched() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.feeds) > 0
}

// sample adds the next point to the history of pools. What only subscribers see is
// not kept while there are none: a second picture of each node costs as much as its
// socket. The first one has it brought anew.
func (v *View) sample(ctx context.Context) {
	v.refresh(ctx, true)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.state.history.sample(v.state.pools, v.cfg.Now())
	if len(v.feeds) == 0 {
		v.state.rest()
	}
	for _, f := range v.feeds {
		if f.key.topic == wire.TopicPools {
			f.markAll(v.allIDs(f))
		}
	}
}

// refresh asks the loop what changed and marks it in the feeds.
func (v *View) refresh(ctx context.Context, pools bool) {
	v.mu.Lock()
	since := v.state.rev
	v.mu.Unlock()
	c, err := v.cfg.Source.Changed(ctx, since, pools)
	if err != nil {
		return // the loop stops
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if c.Rev < v.state.rev {
		return // another look was faster
	}
	v.reload = v.reload || c.Whole && since > 0
	news := v.state.take(c)
	for _, f := range v.feeds {
		switch {
		case f.key.ofJobs():
		case f.key.ofPools():
			f.markSums(&news, v.allIDs(f))
		case f.key.ofAlarms():
			f.markAlarms(&news, v.allIDs(f))
		case f.key.ofPlacements():
			f.mark(news.placed)
		default:
			f.markNodes(news.nodes)
		}
	}
}

// look is one tick: the n-th.
func (v *View) look(ctx context.Context, n int) {
	gather := n%gatherTicks == 0
	v.refresh(ctx, gather)
	if v.watchesJobs() {
		v.refreshJobs(ctx, gather, n%decideTicks == 0)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, f := range v.feeds {
		if f.loaded() && len(f.dirty) > 0 && (gather || f.urgent) {
			v.flush(f)
		}
	}
}
