package core

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/hold"
)

// depart is a goodbye for good, or an operator's order.
func (w *world) depart(a *agent) {
	if a.open && a.ready && w.pick("stop", 2) == 0 {
		w.d.Goodbye(w.now, a.session(), GoodbyeStop, w.pending)
		w.after()
		if w.pick("gone", 2) == 0 {
			w.restart(a)
		}
		return
	}
	if a.open && a.ready && w.pick("leave", 2) == 0 {
		w.d.Goodbye(w.now, a.session(), GoodbyeLeft, w.pending)
		a.open, a.ready, a.mail, a.work = false, false, nil, nil
		w.after()
		return
	}
	if w.store.nodes[a.id].rec.Left {
		return
	}
	rec := w.gone(a.id)
	switch w.pick("revoke", 3) {
	case 0:
		w.admin = append(w.admin, func() { w.d.RevokeNode(w.now, rec, "lost its disk", w.pending) })
	case 1:
		w.admin = append(w.admin, func() { w.d.LeaveNode(w.now, rec, "sold", w.pending) })
	default:
		w.admin = append(w.admin, func() { w.d.PutNode(w.now, rec, w.pending) })
	}
}

// forge lets a node speak of an attempt that is not its own, or not any more.
func (w *world) forge(a *agent) {
	if len(w.jobs) == 0 || !a.ready {
		return
	}
	id := w.jobs[w.pick("job", len(w.jobs))].ID
	at := Attempt{Job: id, Attempt: int32(w.pick("attempt", 4))}
	j := w.d.jobs[id]
	if j != nil && j.row.Node == a.id && j.row.Attempt == at.Attempt {
		return
	}
	var before JobRow
	if j != nil {
		before = j.row
	}
	switch w.pick("forge", 4) {
	case 0:
		w.d.Result(w.now, a.session(), at, &fleet.Result{}, w.pending)
	case 1:
		w.d.Accept(w.now, a.session(), at, w.pending)
	case 2:
		w.d.Decline(w.now, a.session(), at, "", w.pending)
	case 3:
		w.d.Progress(w.now, a.session(), at, 99, w.pending)
	}
	// Any frame renews a lease, and so may place what waits; nothing else moves.
	if j != nil && before.State != fleet.JobQueued && j.row != before {
		w.fail("%s forged %v: %+v became %+v", a.id, at, before, j.row)
	}
	w.after()
}

// heal ends all faults and lets the world come to rest.
func (w *world) heal() {
	w.calm = true
	for w.inFlight != nil || w.pending.Durable() { // goodbyes that were said count
		w.start()
		w.finish(0)
	}
	for len(w.admin) > 0 {
		w.listen()
	}
	for i := range w.store.pools {
		w.store.pools[i].State = fleet.PoolActive
		w.d.PutPool(w.now, w.store.pools[i], w.pending)
		w.after()
	}
	for _, spec := range w.jobs {
		if spec.Pool != "" || spec.Backend != "" || spec.AvoidFailedNode { // nobody promises it a node
			w.d.Cancel(w.now, spec.ID, "u:1", 1000, w.pending)
			w.after()
		}
	}
	for i := range w.store.apps {
		a := &w.store.apps[i]
		a.Bindings, a.Share = []fleet.Binding{{Pools: []string{fleet.PoolDefault}}}, fleet.Share{}
		w.d.PutApp(w.now, *a, w.pending)
		w.after()
	}
	for i, a := range w.agents {
		a.slots = 2
		n := w.store.nodes[a.id]
		n.rec.Holds, n.rec.Left, n.rec.Identity = hold.Merged(nil, n.rec.Holds), false, fleet.Identity{}
		if i%2 == 0 {
			n.rec.Pool = fleet.PoolDefault
		}
		w.hear(n)
		w.listen()
		w.disconnect(a)
	}
	for range 300 {
		w.start()
		w.finish(0)
		for _, a := range w.agents {
			w.connect(a)
			w.liftAny(a)
			for len(a.mail) > 0 {
				w.read(a)
			}
			w.work(a)
			w.heartbeat(a)
		}
		for _, p := range w.d.Placements() {
			w.d.Release(w.now, p.Spec.ID, w.pending)
			w.after()
		}
		for _, spec := range w.jobs {
			if j := w.d.jobs[spec.ID]; j != nil && j.row.Cause == fleet.CauseHeld {
				w.resolveAny(spec)
			}
		}
		w.pass(1000)
		busy := slices.ContainsFunc(w.agents, func(a *agent) bool {
			held := len(w.d.nodes[a.id].rec.Holds) > 0 // a heartbeat may just have found it deaf
			return held || !a.ready || len(a.mail)+len(a.work)+len(a.spool) > 0
		})
		if !busy && w.d.Totals() == (Totals{}) && !w.pending.Durable() && w.inFlight == nil {
			break
		}
	}
	w.atRest()
	w.restAlarms()
}

func (w *world) atRest() {
	if lasting := w.store.grants.lasting(); len(lasting) > 0 {
		w.fail("placements last at rest: %+v", lasting)
	}
	if t := w.d.Totals(); t != (Totals{}) {
		for _, spec := range w.jobs {
			if j := w.d.jobs[spec.ID]; j != nil {
				w.fail("at rest %+v: %s is %v (%s), stage %d, decision %+v", t, spec.ID, j.row.State, j.row.Cause, j.stage, j.row.Decision)
			}
		}
	}
	for id, n := range w.store.nodes {
		if n.reserved != 0 {
			w.fail("%s leaks %d slots", id, n.reserved)
		}
		if len(n.rec.Holds)+len(w.d.nodes[id].rec.Holds) > 0 {
			w.fail("%s keeps holds %+v, stored %+v", id, w.d.nodes[id].rec.Holds, n.rec.Holds)
		}
	}
	for _, id := range w.store.order {
		j := w.store.jobs[id]
		if !j.row.State.Terminal() {
			w.fail("%s is %v at rest", id, j.row.State)
		}
		if least, most := w.store.counted(id); j.row.Counted < least || j.row.Counted > most {
			w.fail("%s: %d to %d attempts count, its row says %+v", id, least, most, j.row)
		}
	}
	for at, node := range w.store.assigned {
		if _, kept := w.store.attempts[at]; !kept && at.Attempt < w.store.jobs[at.Job].row.Attempt {
			w.fail("the superseded attempt %v on %s is not kept", at, node)
		}
	}
	for _, a := range w.agents {
		if len(a.spool) > 0 || len(a.work) > 0 {
			w.fail("%s keeps %+v and %+v", a.id, a.spool, a.work)
		}
	}
}
