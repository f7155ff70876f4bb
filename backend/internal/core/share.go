package core

import (
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/schedule"
)

// use is what an app has of the fleet now, against its share.
type use struct {
	open       int64 // jobs that have not ended
	slots      int64 // reserved by its jobs and placements
	placements int64 // that last
	paused     int64 // jobs that are queued and stand in no line

	kinds map[schedule.Kind]int32 // open jobs by what they ask for

	endedAt fleet.Time // a job or placement of it ended last; 0: none did since the start
	pace    fleet.Time // from one end to the next, lately
}

// maxKinds is how many different kinds of open jobs an app may have: a decision
// looks at each kind that waits, however many wait of it.
const maxKinds = 1000

// openJob and closeJob keep count of an app's open jobs.
func (d *Dispatch) openJob(j *job) {
	u := d.useOf(j.spec.App)
	u.open++
	u.kinds[schedule.KindOf(&j.wait.Request)]++
}

func (d *Dispatch) closeJob(j *job) {
	u, kind := d.useOf(j.spec.App), schedule.KindOf(&j.wait.Request)
	u.open--
	if u.kinds[kind]--; u.kinds[kind] == 0 {
		delete(u.kinds, kind)
	}
}

// tooManifold reports that the app has so many kinds of open jobs that it may not
// have another one.
func (u *use) tooManifold(spec *fleet.JobSpec) bool {
	if u == nil || len(u.kinds) < maxKinds {
		return false
	}
	request := schedule.RequestOf(spec)
	return u.kinds[schedule.KindOf(&request)] == 0
}

// useOf gives the app's.
func (d *Dispatch) useOf(app string) *use {
	u := d.uses[app]
	if u == nil {
		u = &use{kinds: map[schedule.Kind]int32{}}
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
