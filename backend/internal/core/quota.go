package core

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/schedule"
)

// useSlots counts the slots that an app has reserved, by jobs and placements. What
// it gives back may let its own waiting work go on.
func (d *Dispatch) useSlots(u *use, by int64) {
	u.slots += by
	if by < 0 {
		d.relax(u.app)
	}
}

// relax remembers an app whose work may wait for its quota no more.
func (d *Dispatch) relax(app string) {
	if d.queue.Len() > 0 && !slices.Contains(d.eased, app) {
		d.eased = append(d.eased, app)
	}
}

// unpark lets the work of apps that have slots again wait for nodes.
func (d *Dispatch) unpark(now fleet.Time) {
	for _, app := range d.eased {
		for _, pool := range d.queue.Unpark(now, app) {
			d.wakePool(pool)
			d.look.hopes = true // of what waits for nodes again
		}
	}
	clear(d.eased)
	d.eased = d.eased[:0]
}

// overQuota reports that the app may not have so many slots more.
func (d *Dispatch) overQuota(spec *fleet.JobSpec) bool {
	most := d.appOf(spec).Share.MaxSlots
	if most <= 0 || spec.Demands.Slots == 0 {
		return false
	}
	u := d.uses[spec.App]
	return u != nil && u.slots+spec.Demands.Slots > most || spec.Demands.Slots > most
}

// queuedFor counts what of the app waits for the pool first, and what pauses,
// wherever it will wait: what is put off must be kept too.
func (d *Dispatch) queuedFor(pool, app string) int64 {
	queued := d.queue.FirstOf(pool, app)
	if u := d.uses[app]; u != nil {
		queued += u.paused
	}
	return queued
}

// weightOf is the app's against others that wait for the same pool.
func (d *Dispatch) weightOf(spec *fleet.JobSpec) int32 {
	if w := d.appOf(spec).Share.Weight; w > 0 {
		return w
	}
	return fleet.DefaultWeight
}

// refuses gives the reason for which a new job is not taken at all.
func (d *Dispatch) refuses(now fleet.Time, ins *JobInsert) (why RefusedWhy, refused bool) {
	spec := ins.Spec
	if most := d.appOf(spec).Share.MaxOpenJobs; most > 0 {
		if u := d.uses[spec.App]; u != nil && u.open >= most {
			return RefusedOpenJobs, true
		}
	}
	if d.cfg.QueueLimit <= 0 || spec.WhenExhausted == fleet.WhenExhaustedFail {
		return 0, false
	}
	r := d.routeOf(spec)
	if len(r.tries) == 0 || d.queuedFor(r.tries[0], spec.App) < d.cfg.QueueLimit && !d.uses[spec.App].tooManifold(spec) {
		return 0, false
	}
	return RefusedQueueFull, ins.NotBefore > now || d.overQuota(spec) || !d.placeable(now, spec, r)
}

// owes is what the app owes when it begins to wait with this work: a piece of it,
// if it has slots already.
func (d *Dispatch) owes(spec *fleet.JobSpec) uint64 {
	if u := d.uses[spec.App]; u == nil || u.slots == 0 {
		return 0
	}
	return schedule.Cost(spec.Demands.Slots, d.weightOf(spec))
}
