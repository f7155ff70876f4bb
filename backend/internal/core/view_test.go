package core

import "reflect"

// viewed is the newest projection, and whose.
type viewed struct {
	of     *Dispatch
	view   *FleetView
	events int // so far
}

// viewEvery is how many events lie between two looks: each costs a walk over all.
const viewEvery = 16

// checkView: what is taken from an earlier projection is as it would be shown anew.
func (w *world) checkView() {
	if w.viewed.events++; w.viewed.events%viewEvery != 0 {
		return
	}
	before := w.viewed.view
	if w.viewed.of != w.d {
		before = nil
	}
	after, anew := w.d.FleetAfter(w.now, before), w.d.Fleet(w.now)
	w.viewed.of, w.viewed.view = w.d, after
	if len(after.Nodes) != len(anew.Nodes) {
		w.fail("%d nodes are shown, there are %d", len(after.Nodes), len(anew.Nodes))
	}
	for i, n := range anew.Nodes {
		shown := *after.Nodes[i]
		if shown.LastSeen > n.LastSeen {
			w.fail("%s was seen %d, shown is %d", n.Record.ID, n.LastSeen, shown.LastSeen)
		}
		shown.LastSeen = n.LastSeen // other frames than heartbeats change nothing else
		if !reflect.DeepEqual(&shown, n) {
			w.fail("%s is shown as\n%+v\nand is\n%+v", n.Record.ID, shown, *n)
		}
	}
}
