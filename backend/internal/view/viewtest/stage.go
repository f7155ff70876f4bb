// Package viewtest holds a fleet made by hand, for tests of what shows it.
package viewtest

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/shared/ids"
)

// Stage stands in for dispatch loop and store: it is a view.Source and a
// view.Store. Its methods may be called from any goroutine.
type Stage struct {
	begin time.Time

	mu       sync.Mutex
	rev      uint64
	nodes    map[string]node
	sums     map[string]func(*core.PoolView)
	alarms   map[int64]fleet.Alarm
	placed   map[ids.JobID]placed
	waits    core.Waits
	jobs     map[ids.JobID]record.Job
	live     map[ids.JobID]core.JobView
	news     []core.JobNews
	watching bool
	looks    int
}

type node struct {
	view core.NodeView
	rev  uint64
}

type placed struct {
	view core.PlacementView
	rev  uint64
}

// New makes an empty fleet with the built-in pools.
func New() *Stage {
	return &Stage{
		begin: time.Now().Add(-time.Hour), rev: 1, nodes: map[string]node{}, sums: map[string]func(*core.PoolView){},
		alarms: map[int64]fleet.Alarm{}, placed: map[ids.JobID]placed{}, jobs: map[ids.JobID]record.Job{}, live: map[ids.JobID]core.JobView{},
	}
}

// Node is a ready node of an owner with four slots.
func Node(id string, owner int64) core.NodeView {
	return core.NodeView{
		Record: fleet.NodeRecord{ID: id, Owner: owner, Pool: fleet.OwnerPool(owner), Role: "edge", Capacity: fleet.Vector{Slots: 4}, Version: 1},
		Lease:  fleet.LeaseReady, Since: 1, LastSeen: 1, SessionOpen: true, Accepting: true, Healthy: true, Free: fleet.Vector{Slots: 4},
	}
}

// Put adds or changes nodes, all under one revision.
func (s *Stage) Put(views ...core.NodeView) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rev++
	for _, v := range views {
		s.nodes[v.Record.ID] = node{v, s.rev}
	}
}

// Change changes one node.
func (s *Stage) Change(id string, change func(v *core.NodeView)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rev++
	n := s.nodes[id]
	change(&n.view)
	n.rev = s.rev
	s.nodes[id] = n
}

// Sums adds to what a pool's sums say.
func (s *Stage) Sums(pool string, change func(p *core.PoolView)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sums[pool] = change
}

// Waits sets the queue times.
func (s *Stage) Waits(w core.Waits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits = w
}

// Raise raises an alarm, or changes it; Resolve ends it.
func (s *Stage) Raise(a fleet.Alarm) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alarms[a.ID] = a
}

// Resolve ends an alarm.
func (s *Stage) Resolve(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.alarms, id)
}

// Place makes or changes a placement.
func (s *Stage) Place(p core.PlacementView) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rev++
	s.placed[p.Spec.ID] = placed{p, s.rev}
}

// PutJob keeps a row as the database has it.
func (s *Stage) PutJob(j record.Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs[j.Spec.ID] = j
}

// Live sets what memory has of a job.
func (s *Stage) Live(v core.JobView) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[v.ID] = v
}

// Commit tells of a committed step, if somebody watches.
func (s *Stage) Commit(news core.JobNews) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if news.Row.State.Terminal() {
		delete(s.live, news.Job)
	}
	if s.watching {
		s.news = append(s.news, news)
	}
}

// Looks is how often the view asked for changes; Watching whether it wants steps.
func (s *Stage) Looks() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looks
}

// Watching reports whether committed steps are wanted.
func (s *Stage) Watching() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watching
}

// Changed implements view.Source.
func (s *Stage) Changed(_ context.Context, since uint64, pools bool) (*core.Changes, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	c := &core.Changes{Rev: s.rev, At: s.now(), Whole: since == 0}
	for _, id := range slices.Sorted(maps.Keys(s.nodes)) {
		if n := s.nodes[id]; n.rev > since {
			c.Nodes = append(c.Nodes, n.view)
		}
	}
	if pools {
		c.Pools, c.Waits = s.pools(), s.waits
		for _, id := range slices.Sorted(maps.Keys(s.alarms)) {
			c.Alarms = append(c.Alarms, s.alarms[id])
		}
	}
	for _, p := range s.placed {
		if p.rev > since {
			c.Placements = append(c.Placements, p.view)
		}
	}
	return c, nil
}

func (s *Stage) pools() []core.PoolView {
	sums := map[string]*core.PoolView{}
	pool := func(id string) *core.PoolView {
		if sums[id] == nil {
			sums[id] = &core.PoolView{Pool: fleet.Pool{ID: id, Name: id, Kind: fleet.KindNamed, State: fleet.PoolActive}}
		}
		return sums[id]
	}
	pool(fleet.PoolDefault)
	pool(fleet.PoolUnassigned)
	for _, n := range s.nodes {
		p := pool(n.view.Record.Pool)
		p.Nodes++
		if n.view.Lease == fleet.LeaseReady {
			p.Ready++
		}
		p.SlotsTotal += n.view.Record.Capacity.Slots
		p.SlotsFree += n.view.Free.Slots
	}
	for id, change := range s.sums {
		change(pool(id))
	}
	views := make([]core.PoolView, 0, len(sums))
	for _, id := range slices.Sorted(maps.Keys(sums)) {
		views = append(views, *sums[id])
	}
	return views
}

// JobStates implements view.Source.
func (s *Stage) JobStates(_ context.Context, wanted []ids.JobID) (map[ids.JobID]core.JobView, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[ids.JobID]core.JobView{}
	for _, id := range wanted {
		if v, ok := s.live[id]; ok {
			found[id] = v
		}
	}
	return found, nil
}

// LiveJobs implements view.Source.
func (s *Stage) LiveJobs(ctx context.Context, wanted []ids.JobID) (map[ids.JobID]core.JobView, error) {
	return s.JobStates(ctx, wanted)
}

// WatchJobs implements view.Source.
func (s *Stage) WatchJobs(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watching = on
}

// JobNews implements view.Source.
func (s *Stage) JobNews() []core.JobNews {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.news
	s.news = nil
	return list
}

// Now implements view.Source.
func (s *Stage) Now() fleet.Time { return s.now() }

func (s *Stage) now() fleet.Time { return fleet.Time(time.Since(s.begin).Milliseconds()) }

// WallAt implements view.Source.
func (s *Stage) WallAt(t fleet.Time) time.Time {
	return s.begin.Add(time.Duration(t) * time.Millisecond)
}

// Nodes implements view.Store: the database had none.
func (s *Stage) Nodes(context.Context, record.Scope, record.Page) ([]record.Node, error) {
	return nil, nil
}

// Jobs implements view.Store.
func (s *Stage) Jobs(_ context.Context, f record.JobFilter, p record.Page) ([]record.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []record.Job
	for _, j := range s.jobs {
		if f.Sees(j.Spec.Owner, j.Pool) {
			list = append(list, j)
		}
	}
	slices.SortFunc(list, func(a, b record.Job) int { return b.Spec.ID.Compare(a.Spec.ID) })
	return list[:min(len(list), p.Limit)], nil
}

// Job implements view.Store.
func (s *Stage) Job(_ context.Context, id ids.JobID, scope record.Scope) (record.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j, ok := s.jobs[id]; ok && scope.Sees(j.Spec.Owner, j.Pool) {
		return j, nil
	}
	return record.Job{}, fleet.Errorf(fleet.CodeNotFound, "job does not exist")
}

// JobID is the n-th id in their order.
func JobID(n int) ids.JobID {
	digits := strconv.Itoa(n)
	id, _ := ids.ParseJobID("0199c0de-0000-7000-8000-" + strings.Repeat("0", 12-len(digits)) + digits)
	return id
}
