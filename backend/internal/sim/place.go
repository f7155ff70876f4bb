package sim

import (
	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// ask is what a client wants of placements under one idempotency key, until it is
// answered: each time under a new id. It renews what it got, and gives it back at
// until; 0: never.
type ask struct {
	spec  *fleet.PlacementSpec // without an id
	until Time
	taken *grant // the store has this one of the key
}

// grant is a placement under one id: what was asked for, and what the store has of
// it.
type grant struct {
	number int
	ask    *ask
	spec   *fleet.PlacementSpec

	stored   bool
	row      core.PlacementRow // in wall times
	recorded bool              // there is a fallback record of it
}

func (g *grant) lasts() bool { return g.stored && !g.row.State.Ended() }

// renewEvery is how often a holder renews.
const renewEvery = 100 * second

// placementID makes the id of the n-th placement, which is no job's.
func placementID(now Time, n int) ids.JobID {
	id := newID(now, n)
	id[9] = 1
	return id
}

// place lets clients ask for placements, count of them.
func (w *World) place(s *Step) {
	for range max(1, s.Count) {
		a := &ask{spec: &fleet.PlacementSpec{
			App: s.App, Role: s.Role, Key: s.Key, Demands: fleet.Vector{Slots: s.Slots}, Count: max(1, s.Spread), TTLMs: fleet.DefaultTTLMs,
		}}
		if app := w.store.app(s.App); app != nil {
			a.spec.Owner = app.Owner
		}
		if s.For > 0 {
			a.until = w.now + Time(s.For)
		}
		w.counts.add("placements")
		w.askFor(a)
	}
}

// askFor asks for a placement; without an answer the client asks again.
func (w *World) askFor(a *ask) {
	s := &w.srv
	switch {
	case a.taken != nil:
		w.renewLater(a.taken)
		return
	case !s.up || s.doubt || s.paused:
		w.askLater(a)
		return
	}
	g := &grant{number: len(w.grants), ask: a}
	spec := *a.spec
	spec.ID = placementID(w.now, g.number)
	g.spec = &spec
	w.grants = append(w.grants, g)
	switch placed := s.core.Place(s.clock(), core.PlacementAsk{Spec: g.spec}, s.pending); {
	case placed.Exhausted != nil:
		w.counts.add("placements.refused." + spec.App)
	case placed.Existing:
		w.counts.add("placements.shared") // and who asked for it first renews it
		if have := w.store.grant(placed.View.Spec.ID); have.spec.Key == "" || have.spec.Key != spec.Key || have.spec.App != spec.App || have.spec.Role != spec.Role {
			w.fail("W1", "a client that asked for %+v got %+v", spec, have.spec)
		}
	}
	s.settle()
}

func (w *World) askLater(a *ask) {
	w.counts.unanswered++
	w.after(askAgain, evTold, func() { w.askFor(a) })
}

// renew lets the holder renew what it got, or give it back until it has ended.
func (w *World) renew(g *grant) {
	s := &w.srv
	over := g.ask.until > 0 && w.now >= g.ask.until
	switch {
	case !g.lasts():
		return
	case !s.up || s.doubt || s.paused:
		w.after(askAgain, evTold, func() { w.renew(g) })
		return
	case over:
		s.core.Release(s.clock(), g.spec.ID, s.pending)
	default:
		s.core.Renew(s.clock(), g.spec.ID, 0, s.pending)
	}
	w.renewLater(g)
	s.settle()
}

func (w *World) renewLater(g *grant) {
	in := renewEvery
	if g.ask.until > 0 {
		in = max(askAgain, min(in, g.ask.until-w.now))
	}
	w.after(in, evTold, func() { w.renew(g) })
}

// granted tells the clients of a committed batch what they got.
func (w *World) granted(b *core.Effects) {
	for i := range b.Placements {
		if p := &b.Placements[i]; p.New {
			if taken := w.store.grant(p.Spec.ID).ask.taken; taken != nil {
				w.renewLater(taken)
			}
		}
	}
}

// unplaced tells clients that the database refused what they got, and that there
// is nothing else.
func (w *World) unplaced(e *core.Effects) {
	for i := range e.Unplaced {
		g := w.store.grant(e.Unplaced[i].ID)
		if e.Unplaced[i].Decision == nil {
			w.askLater(g.ask)
		} else {
			w.counts.add("placements.refused." + g.spec.App)
		}
	}
	e.Unplaced = e.Unplaced[:0]
}

// grant finds a placement by its id; nil: that is a job's.
func (s *store) grant(id ids.JobID) *grant {
	if n := number(id); id[9] == 1 && n < len(s.w.grants) && s.w.grants[n].spec.ID == id {
		return s.w.grants[n]
	}
	return nil
}

// refusePlacements refuses new ones whose idempotency key is there, and finds writes
// that do not lead from what is there.
func (s *store) refusePlacements(e *core.Effects) {
	for i := range e.Placements {
		p := &e.Placements[i]
		switch g := s.grant(p.Spec.ID); {
		case p.New == g.stored:
			s.w.fail("W10", "placement %d: new is %v, and the database says otherwise", g.number, p.New)
		case p.New && g.ask.taken != nil:
			s.refused.list = append(s.refused.list, core.Refusal{Job: p.Spec.ID, Why: core.RefusedIdempotency})
		}
	}
}

// grants takes the rows of placements, ends first: they free their keys.
func (s *store) grants(e *core.Effects) {
	for _, ended := range []bool{true, false} {
		for i := range e.Placements {
			if p := &e.Placements[i]; p.Row.State.Ended() == ended && !s.refused.has(p.Spec.ID) {
				s.putGrant(p)
			}
		}
	}
}

func (s *store) putGrant(p *core.PlacementWrite) {
	g := s.grant(p.Spec.ID)
	row := p.Row
	row.CreatedAt, row.ExpiresAt, row.EndedAt = s.wallOf(row.CreatedAt), s.wallOf(row.ExpiresAt), s.wallOf(row.EndedAt)
	switch {
	case g.stored && g.row.State.Ended():
		s.w.fail("W3", "placement %d was %v and is written again as %v", g.number, g.row.State, row.State)
	case g.stored && len(g.row.Nodes) != len(row.Nodes):
		s.w.fail("W2", "placement %d had %d nodes and has %d", g.number, len(g.row.Nodes), len(row.Nodes))
	case len(row.Nodes) != int(g.spec.Count):
		s.w.fail("W2", "placement %d asked for %d nodes and has %d", g.number, g.spec.Count, len(row.Nodes))
	}
	first := !g.stored
	g.stored, g.row = true, row
	if first {
		g.ask.taken = g
		s.w.judgeGrant(g)
	}
	s.w.hash.text("placement")
	s.w.hash.word(uint64(g.number)<<8 | uint64(row.State))
}

// openPlacements reads those that last.
func (s *store) openPlacements() (open []core.OpenPlacement) {
	for _, g := range s.w.grants {
		if g.lasts() {
			o := core.OpenPlacement{Spec: g.spec, Row: g.row}
			o.Row.CreatedAt, o.Row.ExpiresAt = s.clockOf(o.Row.CreatedAt), s.clockOf(o.Row.ExpiresAt)
			open = append(open, o)
		}
	}
	return open
}

// judgeGrant: distinct nodes of one pool that the work resolves to, as a job's
// assignment; of a key one placement lasts.
func (w *World) judgeGrant(g *grant) {
	decided := g.row.CreatedAt - wallBase - w.clock.offset
	spec := &fleet.JobSpec{App: g.spec.App, Owner: g.spec.Owner, Role: g.spec.Role}
	seen := map[string]bool{}
	for _, on := range g.row.Nodes {
		if seen[on.Node] || on.Pool != g.row.Nodes[0].Pool {
			w.fail("W1", "placement %d is on %+v", g.number, g.row.Nodes)
		}
		seen[on.Node] = true
		if !g.row.State.Ended() {
			w.judgeWhere("placement", g.number, spec, w.named[on.Node], on.Pool, g.row.Fallback, decided)
		}
	}
	for _, other := range w.grants {
		if other != g && other.lasts() && g.lasts() && g.spec.Key != "" && other.spec.Key == g.spec.Key && other.spec.App == g.spec.App && other.spec.Role == g.spec.Role {
			w.fail("W3", "placements %d and %d have one key", other.number, g.number)
		}
	}
}

func (w *World) countGrants(match func(*grant) bool) (n int64) {
	for _, g := range w.grants {
		if g.stored {
			n += one(match(g))
		}
	}
	return n
}

// given counts the nodes that placements ever had, where match says so.
func (w *World) given(match func(fleet.PlacedOn) bool) (n int64) {
	for _, g := range w.grants {
		if g.stored {
			for _, on := range g.row.Nodes {
				n += one(match(on))
			}
		}
	}
	return n
}
