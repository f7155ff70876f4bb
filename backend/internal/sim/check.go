package sim

import (
	"slices"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

// checkAll looks at everything: the store's sums, and the core's picture against
// the store's wherever nothing is under way.
func (w *World) checkAll() {
	if w.failed != nil {
		return
	}
	w.checkSums()
	if s := &w.srv; !s.up || s.paused || s.doubt {
		return
	}
	w.checkMemory()
	w.checkWaiting()
}

// checkSums: what is reserved on a node is what its jobs and placements hold (W2,
// no leak).
func (w *World) checkSums() {
	sums := make([]fleet.Vector, len(w.nodes))
	for _, j := range w.jobs {
		if j.held != "" {
			add(&sums[w.named[j.held].index], &j.spec.Demands, 1)
		}
	}
	for _, g := range w.grants {
		if g.lasts() {
			for _, on := range g.row.Nodes {
				add(&sums[w.named[on.Node].index], &g.spec.Demands, 1)
			}
		}
	}
	for i, n := range w.store.nodes {
		if !within(&sums[i], &n.reserved) || !within(&n.reserved, &sums[i]) {
			w.fail("W2", "%s: %+v reserved, its work holds %+v", n.rec.ID, n.reserved, sums[i])
		}
	}
	for i := range w.orders {
		if o := w.orders[i]; o.known && !o.taken {
			w.fail("W3", "a client was told of a job of order %d that is not stored", i)
		}
	}
}

// checkMemory compares the core's sums with the store's, once no batch is open.
func (w *World) checkMemory() {
	s := &w.srv
	if s.inFlight != nil || s.pending.Durable() {
		return
	}
	open, waiting, held := 0, 0, 0
	var reserved int64
	for _, j := range w.jobs {
		if !j.stored || j.row.State.Terminal() {
			continue
		}
		open++
		switch {
		case j.held != "":
			held++
			reserved += j.spec.Demands.Slots
		case j.row.State == fleet.JobQueued:
			waiting++
		}
	}
	placements := 0
	for _, g := range w.grants {
		if g.lasts() {
			placements++
			reserved += g.spec.Demands.Slots * int64(g.spec.Count)
		}
	}
	if got, want := s.core.Totals(), (core.Totals{Jobs: open, Waiting: waiting, Held: held, Reserved: reserved, Placements: placements}); got != want {
		w.fail("W2", "the core has %+v, the database %+v", got, want)
	}
}

// checkWaiting: work that never had an attempt does not wait while a node could
// take it.
func (w *World) checkWaiting() {
	view := w.srv.core.Fleet(w.srv.clock())
	for _, n := range view.Nodes {
		if (n.Lease == fleet.LeaseLost || n.Lease == fleet.LeaseLeft) && n.Reserved.Slots > 0 {
			w.fail("W2", "%s is %v and its work is not given to others: %d slots reserved", n.Record.ID, n.Lease, n.Reserved.Slots)
		}
	}
	for _, j := range w.jobs {
		if !j.stored || j.row.State != fleet.JobQueued || j.row.Attempt > 0 {
			continue
		}
		live, open := w.srv.core.LiveJobState(j.spec.ID)
		if !open || live.State != fleet.JobQueued {
			continue
		}
		if n := w.couldTake(view, j); n != "" {
			w.fail("W8", "job %d of %s waits although %s could take it", j.number, j.spec.App, n)
			return
		}
	}
}

func (w *World) couldTake(view *core.FleetView, j *job) string {
	c, known := w.told.newest(j.spec, w.now)
	if !known {
		return ""
	}
	for _, n := range view.Nodes {
		rec := &n.Record
		if ok, _ := c.allows(rec.Pool); !ok || len(n.Reasons) > 0 || !n.ReservedFor.IsZero() || rec.Role != j.spec.Role || w.told.pools[rec.Pool].pool.State != fleet.PoolActive {
			continue
		}
		if slices.Contains(rec.Runners, j.spec.Runner) && (j.spec.Backend == "" || j.spec.Backend == rec.Backend) && within(&j.spec.Demands, &n.Free) {
			return rec.ID
		}
	}
	return ""
}

// readQuietly proves that reading has no effect (W12): nothing that a reader calls
// may change what the core will do.
func (w *World) readQuietly() {
	s := &w.srv
	if !s.up || s.paused || s.doubt || w.failed != nil {
		return
	}
	now := s.clock()
	rev, next, totals := s.core.Rev(), s.core.Next(), s.core.Totals()
	durable := s.pending.Durable()
	s.core.Fleet(now)
	s.core.Changed(now, rev/2, true)
	s.core.Alignment()
	s.core.Impact(now, core.Proposal{Kind: core.ProposeHold, Nodes: []string{w.nodes[w.chance.reads.rand().IntN(len(w.nodes))].id}})
	lasting := len(s.core.Alarms())
	if len(w.jobs) > 0 {
		j := w.jobs[w.chance.reads.rand().IntN(len(w.jobs))]
		s.core.Explain(now, j.spec.ID)
		s.core.Preview(now, j.spec)
	}
	if s.core.Rev() != rev || s.core.Next() != next || s.core.Totals() != totals || s.pending.Durable() != durable || len(s.core.Alarms()) != lasting {
		w.fail("W12", "reading changed something: revision %d to %d, next %d to %d", rev, s.core.Rev(), next, s.core.Next())
	}
}
