package core

import (
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/schedule"
)

// use is what an app has of the fleet now, against its share.
type use struct {
	app        string
	open       int64 // jobs that have not ended
	slots      int64 // reserved by its jobs and placements
	placements int64 // that last
	paused     int64 // jobs that are queued and stand in no line

	kinds  map[schedule.Kind]*kind // of its open jobs
	newest *kind                   // of the job that was opened last, or nil

	endedAt fleet.Time // a job or placement of it ended last; 0: none did since the start
	pace    fleet.Time // from one end to the next, lately
}

// kind is the open jobs of an app that ask for the same.
type kind struct {
	asks schedule.Kind
	open int32
}

// maxKinds is how many different kinds of open jobs an app may have: a decision
// looks at each kind that waits, however many wait of it.
const maxKinds = 1000

// openJob and closeJob keep count of an app's open jobs.
func (d *Dispatch) openJob(j *job) {
	j.use = d.useOf(j.spec.App)
	j.kind = j.use.kindOf(schedule.KindOf(&j.wait.Request))
	j.use.open++
	j.kind.open++
}

func (d *Dispatch) closeJob(j *job) {
	u, k := j.use, j.kind
	u.open--
	if k.open--; k.open > 0 {
		return
	}
	delete(u.kinds, k.asks)
	if u.newest == k {
		u.newest = nil
	}
}

func (u *use) kindOf(asks schedule.Kind) *kind {
	if u.newest != nil && u.newest.asks == asks {
		return u.newest
	}
	k := u.kinds[asks]
	if k == nil {
		k = &kind{asks: asks}
		u.kinds[asks] = k
	}
	u.newest = k
	return k
}

// tooManifold reports that the app has so many kinds of open jobs that it may not
// have another one.
func (u *use) tooManifold(spec *fleet.JobSpec) bool {
	if u == nil || len(u.kinds) < maxKinds {
		return false
	}
	request := schedule.RequestOf(spec)
	return u.kinds[schedule.KindOf(&request)] == nil
}

// useOf gives the app's.
func (d *Dispatch) useOf(app string) *use {
	u := d.uses[app]
	if u == nil {
		u = &use{app: app, kinds: map[schedule.Kind]*kind{}}
		d.uses[app] = u
	}
	return u
}

// overShare names the bound that the placement would pass, or is empty. The slots
// of all its nodes count.
func (d *Dispatch) overShare(spec *fleet.PlacementSpec) string {
	share, u := d.appNamed(spec.App, spec.Owner).Share, d.uses[spec.App]
	if u == nil {
		u = &use{}
	}
	switch {
	case share.MaxPlacements > 0 && u.placements >= share.MaxPlacements:
		return "placements"
	case share.MaxSlots > 0 && u.slots+slotsOf(spec) > share.MaxSlots && slotsOf(spec) > 0:
		return "slots"
	}
	return ""
}

// slotsOf sums up the slots on all nodes of a placement.
func slotsOf(spec *fleet.PlacementSpec) int64 { return spec.Demands.Slots * int64(spec.Count) }

// Bounds of what is told to whoever is past a bound of an app.
const (
	leastRetry = fleet.Time(1000)
	mostRetry  = fleet.Time(60_000)
)

// eased notes that the app's work ended: there may be room for more.
func (u *use) eased(now fleet.Time) {
	if u.endedAt > 0 {
		u.pace += (now - u.endedAt - u.pace) / 8
	}
	u.endedAt = now
}

// RetryAfter is when an app past one of its bounds may have room again: after as
// long as lately passed from one end of its work to the next, 1 s to 1 min.
func (d *Dispatch) RetryAfter(now fleet.Time, app string) fleet.Time {
	u := d.uses[app]
	if u == nil || u.endedAt == 0 {
		return 10 * leastRetry
	}
	return min(mostRetry, max(leastRetry, u.pace, now-u.endedAt))
}
