package view

import (
	"errors"
	"maps"
	"slices"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/shared/ids"
	"rockpool/shared/wire"
)

// Subscriber takes the deltas of its topics; it must not wait. Deltas begin right
// behind the snapshot that the subscription came with.
type Subscriber interface {
	// Delta leads to revision rev of the topic.
	Delta(topic string, rev int64, e wire.Encoded)
}

// feed is one topic as all who have its key see it.
type feed struct {
	key    key
	scope  record.Scope // that the key stands for
	rev    int64
	ids    map[string]struct{} // of the rows that were sent
	dirty  map[string]struct{} // to be sent, at the feed's next quarter of a second
	urgent bool                // some of them with the next tick
	jobs   *jobs               // of topics of jobs; nil while the database is asked
	early  []core.JobNews      // steps that were committed meanwhile
	ready  chan struct{}       // closed when the rows are there, or never will be
	failed error               // why not
	users  int                 // subscriptions, also those that wait for ready
	subs   map[Subscriber]struct{}
}

func newFeed(k key, scope record.Scope) *feed {
	return &feed{
		key: k, scope: scope, rev: 1, ids: map[string]struct{}{}, dirty: map[string]struct{}{},
		ready: make(chan struct{}), subs: map[Subscriber]struct{}{},
	}
}

// loaded reports a feed whose rows are there.
func (f *feed) loaded() bool {
	select {
	case <-f.ready:
		return f.failed == nil
	default:
		return false
	}
}

// mark notes changed rows.
func (f *feed) mark(list []changed) {
	for _, c := range list {
		f.dirty[c.id] = struct{}{}
		f.urgent = f.urgent || c.urgent
	}
}

// markNodes marks changed nodes; in one node's topic that one.
func (f *feed) markNodes(list []changed) {
	only := f.key.node()
	for _, c := range list {
		if only == "" || only == c.id {
			f.dirty[c.id] = struct{}{}
			f.urgent = f.urgent || c.urgent
		}
	}
}

// markSums marks pools whose sums changed. An owner sees other pools when nodes
// were moved: then all are looked at.
func (f *feed) markSums(news *news, all []string) {
	switch {
	case f.scope.Owner != nil && news.moved():
		f.markAll(all)
	case f.key.topic == wire.TopicPools:
		f.markAll(news.pools)
	case len(news.pools) > 0 || news.waits || len(news.placed) > 0:
		f.markAll(all)
	}
}

// markAlarms marks alarms that came, changed or went. Within a scope they come and
// go with the nodes too.
func (f *feed) markAlarms(news *news, all []string) {
	f.mark(news.alarms)
	if !f.scope.All() && news.moved() {
		f.markAll(all)
	}
}

func (f *feed) markAll(ids []string) {
	for _, id := range ids {
		f.dirty[id] = struct{}{}
	}
}

// rows are the rows of one topic; one of the lists is in use.
type rows struct {
	fleet  []wire.FleetRow
	pools  []wire.PoolRow
	nodes  []wire.NodeRow
	jobs   []wire.JobRow
	alarms []wire.AlarmRow

	placements []wire.PlacementRow
}

func (r *rows) len() int {
	return len(r.fleet) + len(r.pools) + len(r.nodes) + len(r.jobs) + len(r.alarms) + len(r.placements)
}

// slice gives the rows from..to.
func (r *rows) slice(from, to int) rows {
	switch {
	case r.fleet != nil:
		return rows{fleet: r.fleet[from:to]}
	case r.pools != nil:
		return rows{pools: r.pools[from:to]}
	case r.nodes != nil:
		return rows{nodes: r.nodes[from:to]}
	case r.alarms != nil:
		return rows{alarms: r.alarms[from:to]}
	case r.placements != nil:
		return rows{placements: r.placements[from:to]}
	}
	return rows{jobs: r.jobs[from:to]}
}

// collect makes the rows of those ids that the feed has; the others are gone.
func (v *View) collect(f *feed, wanted []string) (all rows, gone []string) {
	l := look{now: v.cfg.Now(), at: v.cfg.Source.Now(), sees: v.state.poolsSeen(f.scope)}
	for _, id := range wanted {
		if !v.row(&all, f, id, &l) {
			gone = append(gone, id)
		}
	}
	return all, gone
}

// look is the moment at which rows are made, and the pools that are seen.
type look struct {
	now  time.Time
	at   fleet.Time // the same moment
	sees func(pool string) bool
}

// row adds one row; false: the feed does not have it.
func (v *View) row(all *rows, f *feed, id string, l *look) bool {
	switch {
	case f.key.topic == wire.TopicFleet:
		row := fleetRow(v.state.pools, l.sees, v.state.waitsSeen(f.scope), v.state.frozen, l.at)
		row.Placements = v.state.placed.count(f.scope)
		all.fleet = append(all.fleet, row)
		return true
	case f.key.topic == wire.TopicPools:
		return v.poolRow(all, id, l)
	case f.key.ofAlarms():
		return v.alarmRow(all, f, id, l)
	case f.key.ofPlacements():
		return v.placementRow(all, f, id, l)
	case f.key.ofJobs():
		return f.jobRow(all, id)
	}
	return v.nodeRow(all, f, id, l)
}

func (v *View) poolRow(all *rows, id string, l *look) bool {
	p := v.state.pool(id)
	if p == nil || !l.sees(id) {
		return false
	}
	all.pools = append(all.pools, poolRow(p, v.state.history.spark(p), l.at))
	return true
}

func (v *View) alarmRow(all *rows, f *feed, id string, l *look) bool {
	a, there := v.state.alarms[id]
	if !there || !v.state.seesAlarm(f.scope, &a) {
		return false
	}
	all.alarms = append(all.alarms, alarmRow(&a, l.at))
	return true
}

func (f *feed) jobRow(all *rows, id string) bool {
	job, err := ids.ParseJobID(id)
	j := f.jobs.of[job]
	if err != nil || j == nil {
		return false
	}
	row := j.row
	if !f.jobs.only.IsZero() {
		row.Waits = j.waits
	}
	all.jobs = append(all.jobs, row)
	return true
}

func (v *View) nodeRow(all *rows, f *feed, id string, l *look) bool {
	n := v.state.nodes[id]
	if n == nil || !f.scope.Sees(n.view.Record.Owner, n.view.Record.Pool) || !f.key.passes(n) {
		return false
	}
	row := NodeOf(&n.view, v.state.kept[id], l.now, l.at)
	if f.key.node() != "" {
		row.Timeline = timelineOf(&n.view, v.cfg.Source.WallAt)
		tellWork(&row, &n.view, f.scope, v.cfg.Source.WallAt)
	}
	all.nodes = append(all.nodes, row)
	return true
}

// allIDs lists what may be among the feed's rows, in the order of a snapshot.
func (v *View) allIDs(f *feed) []string {
	switch {
	case f.key.topic == wire.TopicFleet:
		return []string{wire.TopicFleet}
	case f.key.topic == wire.TopicPools:
		list := make([]string, len(v.state.pools))
		for i := range v.state.pools {
			list[i] = v.state.pools[i].Pool.ID
		}
		return list
	case f.key.ofAlarms():
		return slices.Sorted(maps.Keys(v.state.alarms))
	case f.key.ofPlacements():
		return slices.Sorted(maps.Keys(v.state.placed))
	case f.key.ofJobs():
		return f.jobs.ids()
	case f.key.node() != "":
		return []string{f.key.node()}
	}
	return slices.Sorted(maps.Keys(v.state.nodes))
}

// flush sends the marked rows to all who are subscribed.
func (v *View) flush(f *feed) {
	marked := slices.Sorted(maps.Keys(f.dirty))
	clear(f.dirty)
	f.urgent = false
	changed, gone := v.collect(f, marked)
	gone = slices.DeleteFunc(gone, func(id string) bool {
		_, sent := f.ids[id]
		delete(f.ids, id)
		return !sent
	})
	f.remember(&changed)
	for from := 0; from < changed.len(); {
		from += v.send(f, changed.slice(from, changed.len()), nil)
	}
	for part := range slices.Chunk(gone, deltaDeletes) {
		v.send(f, rows{}, part)
	}
}

// remember notes which rows the console has.
func (f *feed) remember(r *rows) {
	for i := range r.fleet {
		f.ids[r.fleet[i].ID] = struct{}{}
	}
	for i := range r.pools {
		f.ids[r.pools[i].ID] = struct{}{}
	}
	for i := range r.nodes {
		f.ids[r.nodes[i].ID] = struct{}{}
	}
	for i := range r.jobs {
		f.ids[r.jobs[i].ID] = struct{}{}
	}
	for i := range r.alarms {
		f.ids[r.alarms[i].ID] = struct{}{}
	}
	for i := range r.placements {
		f.ids[r.placements[i].ID] = struct{}{}
	}
}

// Bounds of one delta and of one part of a snapshot, in rows.
const (
	deltaRows    = 200
	deltaDeletes = 2000
	partRows     = 500
)

// send encodes one delta, of as many of the rows as fit, and says how many it took.
func (v *View) send(f *feed, list rows, gone []string) (taken int) {
	limit := deltaRows
	e, taken, err := encodeFitting(list, &limit, func(part rows) wire.Body {
		return wire.Delta{
			Topic: f.key.topic, Prev: f.rev, Rev: f.rev + 1,
			Fleet: part.fleet, Pools: part.pools, Nodes: part.nodes, Jobs: part.jobs, Alarms: part.alarms,
			Placements: part.placements, Deletes: gone,
		}
	})
	if err != nil {
		v.cfg.Log.Error("a row can't be sent", "topic", f.key.topic, "error", err)
		return taken
	}
	f.rev++
	for s := range f.subs {
		s.Delta(f.key.topic, f.rev, e)
	}
	return taken
}

// encodeFitting encodes the first rows, at most limit, and fewer and fewer until
// they fit into a frame; the limit is then what fitted. Of an error taken is 1:
// that row never fits.
func encodeFitting(list rows, limit *int, body func(part rows) wire.Body) (e wire.Encoded, taken int, err error) {
	taken = min(list.len(), *limit)
	for {
		e, err = wire.Encode(wire.DefaultLimits(), wire.Msg(body(list.slice(0, taken))))
		var big *wire.TooBig
		if !errors.As(err, &big) || taken <= 1 {
			return e, taken, err
		}
		taken = taken * 3 / 4
		*limit = taken
	}
}
