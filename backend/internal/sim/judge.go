package sim

import (
	"slices"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/nodecore"
)

// judgeSend checks what the core says to a node, and when: the cheap checks that
// follow every event.
func (w *World) judgeSend(n *node, s *core.Send) {
	switch s.Kind {
	case core.SendOffer:
		w.judgeOffer(n, s)
	case core.SendStart:
		if j := w.store.job(s.Job); !j.stored || j.row.State != fleet.JobOffered || j.row.Attempt != s.Attempt || j.row.Node != s.Node {
			w.fail("W3", "start of an attempt that the database does not have: job %d attempt %d on %s, the row says %v, attempt %d on %s",
				j.number, s.Attempt, s.Node, j.row.State, j.row.Attempt, j.row.Node)
		}
	case core.SendWelcome:
		if stored := w.store.nodes[n.index].rec.Epoch; stored != s.Epoch {
			w.fail("W10", "%s is welcomed under epoch %d, the database has %d", n.id, s.Epoch, stored)
		}
	case core.SendResultAck:
		w.judgeAck(n, s)
	}
}

// judgeOffer: committed to this node, which may get new work, now.
func (w *World) judgeOffer(n *node, s *core.Send) {
	j := w.store.job(s.Job)
	n.offers++
	w.counts.offers++
	t := n.told
	switch {
	case !j.stored || j.row.State != fleet.JobOffered || j.row.Attempt != s.Attempt || j.row.Node != s.Node:
		w.fail("W3", "offer before its commit: job %d attempt %d to %s", j.number, s.Attempt, s.Node)
	case t.rec.Pool != j.row.Pool:
		w.fail("W1", "offer of job %d, assigned in %s, to %s, which is in %s", j.number, j.row.Pool, n.id, t.rec.Pool)
	case t.rec.Pool == fleet.PoolUnassigned:
		w.fail("W11", "offer of job %d to %s in unassigned", j.number, n.id)
	case len(t.rec.Holds) > 0 || t.self || t.rec.Left:
		w.fail("W6", "offer of job %d to %s, which is held (%+v, goodbye %v, left %v)", j.number, n.id, t.rec.Holds, t.self, t.rec.Left)
	case n.session == nil || n.session.opened.Epoch != s.Epoch || !n.session.serverOpen:
		w.fail("W6", "offer of job %d to %s over a session that is not its open one", j.number, n.id)
	case w.now-max(n.heard, w.srv.resumed) > w.times.Suspect:
		w.fail("W6", "offer of job %d to %s, silent for %v", j.number, n.id, Span(w.now-n.heard))
	}
	for _, r := range j.refusedBy {
		if r.node == n && r.at > w.srv.loadedAt && w.now < r.at+w.times.AvoidFor {
			w.fail("W9", "offer of job %d to %s, which declined it %v ago", j.number, n.id, Span(w.now-r.at))
		}
	}
}

func (w *World) judgeAck(n *node, s *core.Send) {
	j := w.store.job(s.Job)
	w.counts.verdicts[s.Verdict]++
	if s.Verdict != core.VerdictStored {
		return
	}
	j.acks++
	node, attempt := 0, int32(0)
	if j.hasResult {
		r := fleet.Result{Digest: j.digest}
		node, attempt = resultOf(&r)
	}
	switch {
	case j.acks > 1:
		w.fail("W3", "two results of job %d are acknowledged as stored", j.number)
	case !j.hasResult && j.row.State != fleet.JobDead:
		w.fail("W3", "a result of job %d is acknowledged and not stored", j.number)
	case j.hasResult && (node != n.index || attempt != s.Attempt):
		w.fail("W10", "%s is told that its result of job %d attempt %d is stored; that of attempt %d is", n.id, j.number, s.Attempt, attempt)
	}
}

// judgeResult notes whose result comes over which session.
func (w *World) judgeResult(c *conn, a core.Attempt, res *fleet.Result) {
	if node, attempt := resultOf(res); node != c.node.index || attempt != a.Attempt {
		w.fail("sim", "%s hands in another's result", c.node.id)
	}
	if c.node.session != c {
		w.counts.stale++
	}
}

// judgeHello: epochs only rise (W10).
func (w *World) judgeHello(c, old *conn) {
	stored := w.store.nodes[c.node.index].rec.Epoch
	if c.opened.Epoch <= stored || old != nil && old.process == c.process && c.opened.Epoch <= old.opened.Epoch {
		w.fail("W10", "%s opens epoch %d after %d", c.node.id, c.opened.Epoch, stored)
	}
}

// judgeStart: an attempt is started once, and a node runs no more than it has.
func (w *World) judgeStart(n *node, ref nodecore.Ref) {
	j := w.jobs[number(ref.Job)]
	if slices.Contains(j.begun, ref.Attempt) {
		w.fail("W3", "attempt %d of job %d is started twice", ref.Attempt, j.number)
	}
	j.begun = append(j.begun, ref.Attempt)
	used := j.spec.Demands.Slots
	for i := range n.runs {
		if !n.runs[i].stopped {
			used += w.jobs[number(n.runs[i].ref.Job)].spec.Demands.Slots
		}
	}
	if used > n.group.Slots {
		w.fail("W2", "%s runs work of %d slots and has %d", n.id, used, n.group.Slots)
	}
	w.counts.starts++
}

// judgePlace: an assignment is inside the pools that its work resolves to, or in
// default with a record (W1, W11), in a pool that takes new work.
func (w *World) judgePlace(j *job, n *node, r *core.Reservation) {
	decided := j.row.AssignedAt - wallBase - w.clock.offset
	d := j.row.Decision
	if d == nil || d.Node != r.Node || len(d.Pools) == 0 || d.Pools[len(d.Pools)-1].Pool != r.Pool || r.Pool != j.row.Pool {
		w.fail("W1", "job %d is assigned to %s in %s; its decision says %+v", j.number, r.Node, r.Pool, d)
		return
	}
	w.judgeWhere("job", j.number, j.spec, n, r.Pool, j.row.Fallback, decided)
}

// judgeWhere: work that was decided then is on a node of a pool that it may go to,
// and which took new work.
func (w *World) judgeWhere(what string, number int, spec *fleet.JobSpec, n *node, pool string, fell bool, decided Time) {
	allowed := false
	for c := range w.told.chains(spec, decided) {
		ok, fallback := c.allows(pool)
		allowed = allowed || ok && fallback == fell
	}
	if !allowed {
		rule := "W1"
		if pool == fleet.PoolUnassigned {
			rule = "W11"
		}
		w.counts.outside++
		w.fail(rule, "%s %d of %s runs in %s (fallback %v), outside of its pools %+v", what, number, spec.App, pool, fell, slices.Collect(w.told.chains(spec, decided)))
	}
	if p, known := w.told.pools[pool]; known && p.pool.State != fleet.PoolActive && p.since < decided {
		w.fail("W6", "%s %d is assigned in %s, which is %s", what, number, pool, p.pool.State)
	}
	if (len(n.told.rec.Holds) > 0 || n.told.self) && n.told.since < decided && n.told.rec.Pool == pool {
		w.fail("W6", "%s %d is assigned to %s, which is held since %v", what, number, n.id, Span(n.told.since))
	}
}

// judgeRefusal: the database refuses an assignment only where it knows something
// of the node that the core had not been told.
func (w *World) judgeRefusal(e *core.Effects, r *core.Reservation, n *row) {
	w.counts.refusals++
	t := n.node.told
	news := t.rec.Version != n.rec.Version || t.rec.Left != n.rec.Left || t.since >= w.srv.virtual(decidedAt(e, r)) ||
		slices.ContainsFunc(e.Sessions, func(s core.SessionWrite) bool { return s.Node == r.Node }) ||
		slices.ContainsFunc(e.Reservations, func(x core.Reservation) bool {
			return x.Release && x.Node == r.Node && w.store.refused.has(x.Job) // it is left out with its job's other assignment
		})
	if !news {
		w.fail("W2", "%s: an assignment that the database can't take although nothing is news: %+v reserved of %+v, in %s with %d holds",
			r.Node, n.sum, n.rec.Capacity, n.rec.Pool, len(n.rec.Holds))
	}
}

// decidedAt is when the batch's assignment of the job was decided.
func decidedAt(e *core.Effects, r *core.Reservation) Time {
	for i := range e.Updates {
		if e.Updates[i].Job == r.Job {
			return e.Updates[i].Row.AssignedAt
		}
	}
	for i := range e.Inserts {
		if e.Inserts[i].Spec.ID == r.Job {
			return e.Inserts[i].Row.AssignedAt
		}
	}
	for i := range e.Placements {
		if e.Placements[i].Spec.ID == r.Job {
			return e.Placements[i].Row.CreatedAt
		}
	}
	return 0
}

func (w *World) noteRefusal(n *node, a core.Attempt) {
	w.counts.declines++
	j := w.store.job(a.Job)
	if j != nil && j.row.Attempt == a.Attempt && j.row.Node == n.id && j.row.State == fleet.JobOffered {
		j.refusedBy = append(j.refusedBy, refusedBy{n, w.now})
	}
}

// seeMemory looks at what the core wants written of holds that are its own: from
// then on they count.
func (w *World) seeMemory(e *core.Effects) {
	for i := range e.Holds {
		h := &e.Holds[i]
		n := w.named[h.Node]
		at := slices.IndexFunc(n.told.rec.Holds, func(x fleet.Hold) bool { return x.Kind == h.Hold.Kind && x.Owner == h.Hold.Owner })
		if at < 0 == h.Lift {
			continue
		}
		rec := n.told.rec
		rec.Holds = slices.Clone(rec.Holds)
		if h.Lift {
			rec.Holds = slices.Delete(rec.Holds, at, at+1)
		} else {
			rec.Holds = append(rec.Holds, h.Hold)
		}
		w.told.set(n, rec)
	}
}
