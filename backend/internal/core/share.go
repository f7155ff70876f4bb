package core

import "rockpool/backend/internal/core/fleet"

// use is what an app has of the fleet now, against its share.
type use struct {
	open       int64 // jobs that have not ended
	slots      int64 // reserved by its jobs and placements
	placements int64 // that last
}

// useOf gives the app's.
func (d *Dispatch) useOf(app string) *use {
	u := d.uses[app]
	if u == nil {
		u = &use{}
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
