package core

import "slices"

// endsKept is how many ends of placements a process remembers for those who watch.
const endsKept = 1024

// ends are the newest ends of placements, oldest first.
type ends struct {
	list  []*holding
	since uint64 // the revision of the newest that is forgotten
	rev   uint64 // of the newest change of any placement
}

func (e *ends) add(p *holding) {
	if len(e.list) == endsKept {
		e.since = e.list[0].rev
		copy(e.list, e.list[1:])
		e.list = e.list[:endsKept-1]
	}
	e.list = append(e.list, p)
}

func (e *ends) drop(p *holding) {
	e.list = slices.DeleteFunc(e.list, func(other *holding) bool { return other == p })
}

// placementsChanged adds what is different of placements since a revision.
func (d *Dispatch) placementsChanged(c *Changes, since uint64) {
	c.WholePlacements = c.Whole || since < d.ended.since
	if !c.WholePlacements && d.ended.rev <= since {
		return // asked for many times a second
	}
	for _, p := range d.placed {
		if c.WholePlacements || p.rev > since {
			c.Placements = append(c.Placements, p.view())
		}
	}
	for _, p := range d.ended.list {
		if !c.WholePlacements && p.rev > since {
			c.Placements = append(c.Placements, p.view())
		}
	}
}
