package sim

import (
	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

// oracle decides by a plain scan over all nodes.
type oracle struct {
	reserved []fleet.Vector // of every node, with what is not committed yet
	want     string
	compared int64
	// bestFit is another rank over the same tasks, for information: the node that
	// would keep the least.
	bestFit fitter
}

// judgeBefore decides what the core should decide about a new job.
func (w *World) judgeBefore(j *job) {
	if !w.sc.Oracle {
		return
	}
	o := &w.oracle
	if o.reserved == nil {
		o.reserved = make([]fleet.Vector, len(w.nodes))
		o.bestFit.begin(w)
	}
	for i, n := range w.store.nodes {
		v := &o.reserved[i]
		v.Slots = n.reserved.Slots
		v.Resources = append(v.Resources[:0], n.reserved.Resources...)
		v.Memory = append(v.Memory[:0], n.reserved.Memory...)
	}
	for _, e := range []*core.Effects{w.srv.inFlight, w.srv.pending} {
		for i := 0; e != nil && !(e == w.srv.inFlight && w.srv.inStore) && i < len(e.Reservations); i++ {
			r := &e.Reservations[i]
			add(&o.reserved[w.named[r.Node].index], r.Demand, sign(!r.Release))
		}
	}
	o.want = w.scan(j)
	o.bestFit.place(w, j)
}

// scan finds the node with the most remaining slots that can take the job, the
// lowest id among equals, pool by pool.
func (w *World) scan(j *job) string {
	c, _ := w.told.newest(j.spec, w.now)
	pools := c.pools
	if c.fallback {
		pools = append(append([]string(nil), pools...), fleet.PoolDefault)
	}
	for _, pool := range pools {
		var best *node
		var most int64
		for _, n := range w.nodes {
			left := n.group.Slots - w.oracle.reserved[n.index].Slots
			if !w.takes(n, pool, j, &w.oracle.reserved[n.index]) {
				continue
			}
			if best == nil || left > most || left == most && n.id < best.id {
				best, most = n, left
			}
		}
		if best != nil {
			return best.id
		}
	}
	return ""
}

// takes reports a candidate by what the checks know of it.
func (w *World) takes(n *node, pool string, j *job, reserved *fleet.Vector) bool {
	t := n.told
	if t.rec.Pool != pool || t.rec.Role != j.spec.Role || t.rec.Left || t.self || len(t.rec.Holds) > 0 {
		return false
	}
	if c := n.session; c == nil || !c.serverOpen || t.rec.Epoch != c.opened.Epoch {
		return false
	}
	return fits(&j.spec.Demands, reserved, &t.rec.Capacity)
}

// fits reports that the demand goes into what is left.
func fits(demand, reserved, capacity *fleet.Vector) bool {
	if demand.Slots > capacity.Slots-reserved.Slots {
		return false
	}
	for _, q := range demand.Resources {
		if q.Amount > amount(capacity.Resources, q.Name)-amount(reserved.Resources, q.Name) {
			return false
		}
	}
	for _, q := range demand.Memory {
		if q.Amount > amount(capacity.Memory, q.Name)-amount(reserved.Memory, q.Name) {
			return false
		}
	}
	return true
}

// judgeAfter compares.
func (w *World) judgeAfter(j *job) {
	if !w.sc.Oracle {
		return
	}
	live, open := w.srv.core.LiveJobState(j.spec.ID)
	w.oracle.compared++
	if !open || live.Node != w.oracle.want {
		w.fail("oracle", "job %d: the index chose %q, the scan %q", j.number, live.Node, w.oracle.want)
	}
}

// fitter places the same tasks with another rank, each for as long as it runs.
type fitter struct {
	reserved []fleet.Vector
	capacity []fleet.Vector
	running  []fitted // by end
	unplaced int64
}

type fitted struct {
	until  Time
	node   int
	demand *fleet.Vector
}

func (f *fitter) begin(w *World) {
	f.reserved = make([]fleet.Vector, len(w.nodes))
	for _, n := range w.store.nodes {
		f.capacity = append(f.capacity, n.rec.Capacity)
	}
}

// place gives the job to the node that keeps the fewest slots, or counts it.
func (f *fitter) place(w *World, j *job) {
	rest := f.running[:0]
	for _, r := range f.running {
		if r.until <= w.now {
			add(&f.reserved[r.node], r.demand, -1)
		} else {
			rest = append(rest, r)
		}
	}
	f.running = rest
	best, least := -1, int64(0)
	for i := range f.capacity {
		left := f.capacity[i].Slots - f.reserved[i].Slots
		if fits(&j.spec.Demands, &f.reserved[i], &f.capacity[i]) && (best < 0 || left < least) {
			best, least = i, left
		}
	}
	if best < 0 {
		f.unplaced++
		return
	}
	add(&f.reserved[best], &j.spec.Demands, 1)
	f.running = append(f.running, fitted{w.now + j.length, best, &j.spec.Demands})
}
