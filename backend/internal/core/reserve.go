package core

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/schedule"
)

// A large job is not starved by small ones. When nothing of its shape was placed
// in a pool for ReserveAfter while smaller work was, the first job of that shape
// reserves the node of the pool that is nearest to taking it: what runs there may
// end, nothing new comes, and as soon as the job fits it is placed, before
// anything else. A pool has one reserved node at most.
//
// So the wait of a job is bounded. Let R be the longest that work of the pool runs
// and k the shapes that are stuck in it: every k x (ReserveAfter + R) at the latest
// one job of each is placed, in the order of the queue, as long as a node that
// could take it stays in use. The reservation ends when the job is placed
// elsewhere or ends, and when its node is held, lost, moved or becomes too small;
// then another is looked for with the next small job that is placed.

// reserve is a node that is kept for a job.
type reserve struct {
	j    *job
	n    *node
	pool string
}

// smaller is work that was placed in a pool while other work waits for it.
type smaller struct {
	pool   string
	demand *fleet.Vector
}

// crowd notes that so much was placed in the pool, if work waits for it.
func (d *Dispatch) crowd(pool string, demand *fleet.Vector) {
	if d.queue.Busy(pool) {
		d.small = append(d.small, smaller{pool, demand})
	}
}

// reserveStuck ends an event: where small work was placed, large work that is
// stuck gets a node to itself.
func (d *Dispatch) reserveStuck(now fleet.Time) {
	for i := range d.small {
		p := &d.small[i]
		if d.cfg.ReserveAfter <= 0 || d.reserveIn(p.pool) != nil {
			continue
		}
		if w, slot := d.queue.Stuck(now, now-d.cfg.ReserveAfter, d.index.Pool(p.pool), p.demand); w != nil {
			d.reserve(d.jobs[w.Job], nodeOf(slot))
		}
	}
	clear(d.small)
	d.small = d.small[:0]
}

func (d *Dispatch) reserveIn(pool string) *reserve {
	for _, r := range d.reserves {
		if r.pool == pool {
			return r
		}
	}
	return nil
}

// reserve keeps the node for the job, unless the job has one or keeps away from it.
func (d *Dispatch) reserve(j *job, n *node) {
	away := slices.ContainsFunc(j.avoid, func(e schedule.Exclusion) bool { return e.Node == &n.slot })
	if away || j.reserve != nil {
		return
	}
	r := &reserve{j: j, n: n, pool: n.rec.Pool}
	j.reserve, n.reserve = r, r
	d.reserves = append(d.reserves, r)
	d.index.Keep(&n.slot, true)
	d.seen(n)
}

// unreserve lets other work to the node again.
func (d *Dispatch) unreserve(r *reserve) {
	if r == nil {
		return
	}
	r.j.reserve, r.n.reserve = nil, nil
	d.reserves = slices.DeleteFunc(d.reserves, func(other *reserve) bool { return other == r })
	d.index.Keep(&r.n.slot, false)
	d.seen(r.n)
	d.free(r.n)
}

// review ends a reservation that its node can't keep any more.
func (d *Dispatch) review(r *reserve) {
	if r != nil && (r.n.rec.Pool != r.pool || !r.n.slot.CouldTake(&r.j.wait.Request)) {
		d.unreserve(r)
	}
}

// redeem places the job for which the node is reserved, if it fits now; false: the
// node waits on.
func (d *Dispatch) redeem(now fleet.Time, n *node, out *Effects) bool {
	r := n.reserve
	if r == nil {
		return true
	}
	if n.slot.Short(&r.j.spec.Demands) != schedule.Admitted {
		return false
	}
	d.unreserve(r)
	d.retry(now, r.j, out)
	return true
}
