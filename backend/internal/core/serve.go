package core

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/schedule"
)

// settle ends an event: waiting work gets what the event made free.
func (d *Dispatch) settle(now fleet.Time, out *Effects) {
	for len(d.freed)+len(d.woken)+len(d.eased) > 0 {
		d.unpark(now)
		for i := 0; i < len(d.freed); i++ {
			n := d.freed[i]
			n.freed = false
			if n.slot.Eligible() && d.redeem(now, n, out) {
				d.serve(now, n.rec.Pool, &n.slot, out)
			}
		}
		d.freed = d.freed[:0]
		for i := 0; i < len(d.woken); i++ {
			d.serve(now, d.woken[i], nil, out)
		}
		d.woken = d.woken[:0]
	}
	d.reserveStuck(now)
	d.settleCohorts(now, out)
	d.awaitLook(now)
}

// serve places what waits for the pool, in its order. With a node it looks only
// at work that this node could take, since nothing else changed.
func (d *Dispatch) serve(now fleet.Time, pool string, n *schedule.Node, out *Effects) {
	round := d.queue.Round(pool)
	for w := round.Next(n); w != nil; w = round.Next(n) {
		j := d.jobs[w.Job]
		switch {
		case d.retry(now, j, out):
		case d.overQuota(j.spec): // parked
		case len(j.avoid) > 0:
			round.SetAside(w)
		default:
			round.Pass(w)
		}
	}
	round.End()
}

// retry tries once more to place a job that waits. Its decision is written
// again only when other reasons than before keep it waiting.
func (d *Dispatch) retry(now fleet.Time, j *job, out *Effects) bool {
	r, over := d.routeOf(j.spec), d.overQuota(j.spec)
	if n := d.decide(now, r, &j.wait.Request, j.avoid); n != nil && !over {
		d.assign(now, j, r, n, out)
		return true
	}
	d.unchoose()
	if over {
		d.queue.Park(now, &j.wait)
	}
	cause := j.waitCause(over)
	if cause != j.row.Cause || !sameReasons(j.row.Decision, &d.scratch) {
		j.row.Cause, j.row.Decision = cause, d.keptWaiting()
		d.bank(now, j)
		d.write(j, out)
	}
	return false
}

// waitCause is why the job waits, as it is now: what ended its last attempt stays.
func (j *job) waitCause(overQuota bool) fleet.Cause {
	if c := j.row.Cause; c != fleet.CauseQuota && c != fleet.CausePoolExhausted {
		return c
	}
	return waitCauseOf(overQuota)
}

// sameReasons compares which pools were tried and which reasons they have,
// whatever their counts.
func sameReasons(a, b *fleet.Decision) bool {
	if a == nil || a.Rule != b.Rule || a.FallbackOK != b.FallbackOK || len(a.Pools) != len(b.Pools) {
		return false
	}
	for i := range a.Pools {
		if a.Pools[i].Pool != b.Pools[i].Pool {
			return false
		}
		for r := range a.Pools[i].Rejected {
			if (a.Pools[i].Rejected[r] == 0) != (b.Pools[i].Rejected[r] == 0) {
				return false
			}
		}
	}
	return true
}

// contested reports that an event under way has made room for which others wait
// too: who gets it is the queue's matter.
func (d *Dispatch) contested(r *route) bool {
	if len(d.freed)+len(d.woken)+len(d.eased) == 0 {
		return false
	}
	return slices.ContainsFunc(r.tries, d.queue.Busy)
}

// free remembers a node that may have room for waiting work.
func (d *Dispatch) free(n *node) {
	if !n.freed && d.queue.Len() > 0 {
		n.freed = true
		d.freed = append(d.freed, n)
	}
}

// wakePool remembers a pool whose waiting work may have room somewhere.
func (d *Dispatch) wakePool(id string) {
	if d.queue.Len() > 0 && !slices.Contains(d.woken, id) {
		d.woken = append(d.woken, id)
	}
}
