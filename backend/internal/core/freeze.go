package core

import (
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/lease"
)

// FreezeCause is why no lease ran out for a while.
type FreezeCause string

// A fault of the control plane never counts against nodes.
const (
	FrozenByDatabase   FreezeCause = "database"   // the database is away, or was
	FrozenByStandstill FreezeCause = "standstill" // this process stood still
	FrozenByRestart    FreezeCause = "restart"    // this process began, and knows nodes only from the database
)

// Freeze is a time in which no lease runs out: a fault of the control plane and a
// full grace after it.
type Freeze struct {
	Since fleet.Time // 0: none
	Until fleet.Time // when leases may run out again; 0: it lasts
	Cause FreezeCause
}

func (f *Freeze) lasts() bool { return f.Since != 0 && f.Until == 0 }

// Freeze tells that the database is away: until Thaw or Load no lease runs out.
func (d *Dispatch) Freeze(now fleet.Time) {
	if !d.freeze.lasts() {
		d.frozen(now, now, 0, FrozenByDatabase)
	}
}

// Thaw tells that the database is back: every node has its full grace.
func (d *Dispatch) Thaw(now fleet.Time, out *Effects) {
	if !d.freeze.lasts() {
		return
	}
	d.thaw(now)
	for _, n := range d.order {
		n.lease.On(lease.Excused, now, d.leases())
		d.watch(now, n)
	}
	d.sparePlacements(now, 0)
	d.settle(now, out)
}

// thaw begins the grace, if a freeze lasts.
func (d *Dispatch) thaw(now fleet.Time) {
	if d.freeze.lasts() {
		d.excused = now
		d.frozen(now, d.freeze.Since, now+d.cfg.Lost, d.freeze.Cause)
	}
}

// frozen notes a freeze. One that follows before the last one's grace has ended
// goes on since that began.
func (d *Dispatch) frozen(now, since, until fleet.Time, cause FreezeCause) {
	if before := d.Frozen(now); before.Since != 0 {
		since = min(since, before.Since)
	}
	d.freeze = Freeze{Since: since, Until: until, Cause: cause}
	d.rev++
}

// Frozen is the freeze that stands now. What was over in a moment is none.
func (d *Dispatch) Frozen(now fleet.Time) Freeze {
	f := d.freeze
	long := f.Cause == FrozenByRestart || f.lasts() && now-f.Since > stall || f.Until-d.cfg.Lost-f.Since > stall
	if f.Since == 0 || !long || !f.lasts() && f.Until <= now {
		return Freeze{}
	}
	return f
}
