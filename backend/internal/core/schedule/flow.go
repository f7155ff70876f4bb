package schedule

import "rockpool/backend/internal/core/fleet"

// Between apps a pool is served by start-time fair queueing. An app has a tag:
// the virtual time at which its next piece of work begins. The app with the least
// tag of those whose work a node could take is first, and pays slots / weight for
// each piece. So while two apps both have work that waits for the same nodes, what
// they got, divided by their weights, differs by at most one piece of each: no tag
// runs ahead of another by more than its app's last piece.
//
// Only what others waited for is paid: work that finds a node when nothing that
// waits could use it is not. But an app that begins to wait while it has work on
// nodes begins one piece behind: who has nothing yet is served before it.
//
// Nobody saves up. An app begins at the time of its line, the tag of the newest
// work served from there; and a line from which nothing was
// served for long (its nodes were away, or too full for work so large) comes up to
// the time of its pool. What was stuck for an hour goes on with the others, not
// before them for an hour.

// slotCost is what one slot costs at weight 1, in virtual time. Weights divide it
// to better than a thousandth.
const slotCost = 1 << 20

// stuckAfter is how long nothing was served from a line that gets no arrears.
const stuckAfter = fleet.Time(10_000)

// flow is one app in one pool.
type flow struct {
	app     string
	tag     uint64
	stamp   uint64 // of the tag: among equal ones the oldest is first
	strands []*strand
	first   int64 // work whose first pool this is
}

func (f *flow) before(other *flow) bool {
	return f.tag < other.tag || f.tag == other.tag && f.stamp < other.stamp
}

// flows are the apps of a pool: those with work that waits, and those of before
// whose tags are still ahead.
type flows struct {
	byApp map[string]*flow
	list  []*flow
	many  int    // at so many the ones of before are looked through
	time  uint64 // the largest tag that was served
}

func (fs *flows) flowOf(app string) *flow {
	f := fs.byApp[app]
	if f == nil {
		fs.sweep()
		f = &flow{app: app}
		fs.byApp[app] = f
		fs.list = append(fs.list, f)
	}
	return f
}

// sweep forgets apps that have nothing waiting and nothing to pay.
func (fs *flows) sweep() {
	if len(fs.list) < max(64, fs.many) {
		return
	}
	kept := fs.list[:0]
	for _, f := range fs.list {
		if len(f.strands) > 0 || f.tag > fs.time {
			kept = append(kept, f)
		} else {
			delete(fs.byApp, f.app)
		}
	}
	clear(fs.list[len(kept):])
	fs.list = kept
	fs.many = 2 * len(kept)
}

// retag gives the app another tag, and its strands their places by it.
func (q *Queue) retag(f *flow, tag uint64) {
	q.stamps++
	f.tag, f.stamp = tag, q.stamps
	for _, s := range f.strands {
		s.line.fix(s)
	}
}

// Served notes that waiting work was placed in the pool: its app, of that weight,
// pays for it. It is still in the queue.
func (q *Queue) Served(now fleet.Time, w *Waiter, pool string, weight int32) {
	p := q.pools[pool]
	if p == nil {
		return
	}
	s := w.in(p)
	if s == nil {
		return
	}
	l := s.line
	if now-l.since > stuckAfter {
		l.time = max(l.time, p.time)
	}
	begin := max(s.flow.tag, l.time)
	l.time, l.since = begin, now
	p.time = max(p.time, begin)
	q.retag(s.flow, begin+Cost(w.Request.Demand.Slots, weight))
}

// Cost is what a piece of work with so many slots costs an app of that weight.
func Cost(slots int64, weight int32) uint64 {
	return uint64(max(1, slots)) * slotCost / uint64(max(1, weight))
}
