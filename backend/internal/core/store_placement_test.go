package core

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// grantTable is the tables of placements: they take a batch's rows as the SQL does.
type grantTable struct {
	rows    map[ids.JobID]*OpenPlacement
	fail    func(string, ...any)
	states  map[fleet.PlacementState]int // rows written, by state
	refused int                          // for want of their nodes
}

// refuse gives the new ones that can't be: their idempotency key exists.
func (s *grantTable) refuse(e *Effects, keys map[string]bool) (refused []Refusal) {
	seen := map[ids.JobID]bool{}
	for i := range e.Placements {
		w := &e.Placements[i]
		if id := w.Spec.ID; seen[id] || w.New != (s.rows[id] == nil) {
			s.fail("%s stands twice in a batch, or new %v is wrong: %+v", id, w.New, w.Row)
		}
		seen[w.Spec.ID] = true
		if w.New && w.IdempotencyKey != "" && keys[w.IdempotencyKey] {
			refused = append(refused, Refusal{Job: w.Spec.ID, Why: RefusedIdempotency})
		}
	}
	return refused
}

// apply takes ends first: they free their keys.
func (s *grantTable) apply(e *Effects, out func(ids.JobID) bool, keys map[string]bool) {
	for i := range e.Placements {
		if w := &e.Placements[i]; out(w.Spec.ID) {
			s.refused++
		}
	}
	for _, ended := range []bool{true, false} {
		for i := range e.Placements {
			if w := &e.Placements[i]; w.Row.State.Ended() == ended && !out(w.Spec.ID) {
				s.write(w)
				if w.IdempotencyKey != "" {
					keys[w.IdempotencyKey] = true
				}
			}
		}
	}
}

func (s *grantTable) write(w *PlacementWrite) {
	row := w.Row
	if row.State.Ended() != (row.EndedAt != 0) || len(row.Nodes) != int(w.Spec.Count) {
		s.fail("a placement that may not be: %+v", row)
	}
	was := s.rows[w.Spec.ID]
	if was != nil && (was.Row.State.Ended() || !slices.Equal(was.Row.Nodes, row.Nodes) || was.Row.CreatedAt != row.CreatedAt) {
		s.fail("%+v became %+v", was.Row, row)
	}
	for id, other := range s.rows {
		lasts := !other.Row.State.Ended() && !row.State.Ended()
		if lasts && id != w.Spec.ID && w.Spec.Key != "" && keyOfPlacement(other.Spec) == keyOfPlacement(w.Spec) {
			s.fail("%s and %s have one key", id, w.Spec.ID)
		}
	}
	s.rows[w.Spec.ID] = &OpenPlacement{Spec: w.Spec, Row: row}
	s.states[row.State]++
}

func (s *grantTable) lasting() (list []OpenPlacement) {
	for _, p := range s.rows {
		if !p.Row.State.Ended() {
			list = append(list, *p)
		}
	}
	slices.SortFunc(list, func(a, b OpenPlacement) int { return a.Spec.ID.Compare(b.Spec.ID) })
	return list
}

// placementIn finds a placement's entry in a batch.
func placementIn(e *Effects, id ids.JobID) *PlacementWrite {
	at := slices.IndexFunc(e.Placements, func(w PlacementWrite) bool { return w.Spec.ID == id })
	if at < 0 {
		return nil
	}
	return &e.Placements[at]
}

// placementSpec makes an ask under the next id.
func (w *world) placementSpec(app, role, key string, slots int64, count int32) *fleet.PlacementSpec {
	job := w.spec(app, slots)
	return &fleet.PlacementSpec{
		ID: job.ID, App: app, Role: role, Key: key, Demands: job.Demands, Count: count, TTLMs: fleet.DefaultTTLMs,
	}
}

// placeAny asks for a placement, or renews or releases one.
func (w *world) placeAny() {
	if len(w.d.placed) > 0 && w.pick("known", 3) == 0 {
		id := w.d.placed[w.pick("which", len(w.d.placed))].spec.ID
		if w.pick("renew", 2) == 0 {
			w.d.Renew(w.now, id, []int64{0, 10_000, 60_000}[w.pick("ttl", 3)], w.pending)
		} else {
			w.d.Release(w.now, id, w.pending)
			if v, _, known := w.d.LivePlacement(id); known && !v.Row.State.Ended() {
				w.fail("released and lasting: %+v", v.Row)
			}
		}
		w.after()
		return
	}
	app, role := w.likely()
	key := []string{"", "live", "news"}[w.pick("key", 3)]
	spec := w.placementSpec(app, role, key, int64(w.pick("slots", 3)), []int32{1, 1, 2, 3}[w.pick("count", 4)])
	spec.TTLMs = []int64{10_000, 30_000, 300_000}[w.pick("ttl", 3)]
	ask := PlacementAsk{Spec: spec}
	if w.pick("idempotent", 4) == 0 {
		ask.IdempotencyKey = []string{"key-0", "key-1", "key-p"}[w.pick("one", 3)]
	}
	want := w.oracleAll(spec)
	placed := w.d.Place(w.now, ask, w.pending)
	w.judgePlaced(spec, &placed, want)
	w.after()
}

// likely is an app and a role for which there is a node, mostly.
func (w *world) likely() (app, role string) {
	apps := w.store.apps
	app, role = apps[w.pick("app", len(apps))].ID, worldRoles[w.pick("role", len(worldRoles))]
	from := w.pick("node", len(w.d.order))
	for i := range w.d.order {
		n := w.d.order[(from+i)%len(w.d.order)]
		if !n.slot.Eligible() {
			continue
		}
		for _, a := range apps {
			if slices.Contains(w.allowed(&fleet.JobSpec{App: a.ID, Role: n.rec.Role}), n.rec.Pool) {
				return a.ID, n.rec.Role
			}
		}
	}
	return app, role
}

// judgePlaced compares the answer with the plain scan.
func (w *world) judgePlaced(spec *fleet.PlacementSpec, placed *Placed, want []fleet.PlacedOn) {
	switch {
	case placed.Existing:
		if keyOfPlacement(placed.View.Spec) != keyOfPlacement(spec) || spec.Key == "" {
			w.fail("%+v got the placement of %+v", spec, placed.View.Spec)
		}
	case placed.Exhausted != nil:
		f := fleet.Fingerprint{Kind: fleet.AlarmPoolExhausted, Role: spec.Role, App: spec.App}
		if allowed := w.allowed(&fleet.JobSpec{App: spec.App, Role: spec.Role}); len(allowed) > 0 {
			f.Pool = allowed[0]
		}
		if want != nil || w.d.alarms.Find(f) == nil {
			w.fail("%+v was refused, the scan has %v, alarm %v", spec, want, w.d.alarms.Find(f))
		}
	default:
		w.grants++
		if !slices.Equal(placed.View.Row.Nodes, want) {
			w.fail("%+v is on %v, the scan has %v", spec, placed.View.Row.Nodes, want)
		}
	}
}

// oracleAll takes the best node so often, each once, in the first pool that has
// enough; nil: none has.
func (w *world) oracleAll(spec *fleet.PlacementSpec) []fleet.PlacedOn {
	job := &fleet.JobSpec{App: spec.App, Owner: spec.Owner, Role: spec.Role, Demands: spec.Demands}
	for _, pool := range w.allowed(job) {
		var fit []*node
		for _, n := range w.d.order {
			if n.rec.Pool == pool && w.reason(n, job, nil) == fleet.NumReasons {
				fit = append(fit, n)
			}
		}
		slices.SortStableFunc(fit, func(a, b *node) int { return int(b.slot.FreeSlots() - a.slot.FreeSlots()) })
		if len(fit) >= int(spec.Count) {
			var on []fleet.PlacedOn
			for _, n := range fit[:spec.Count] {
				on = append(on, fleet.PlacedOn{Node: n.rec.ID, Pool: pool})
			}
			return on
		}
	}
	return nil
}

// checkPlacements holds after every event: distinct nodes, one lasting placement a
// key, states that say what is so, and each new one inside its pools.
func (w *world) checkPlacements(e *Effects) {
	keys := map[placementKey]bool{}
	for _, p := range w.d.placed {
		if key := keyOfPlacement(p.spec); p.spec.Key != "" {
			if keys[key] || w.d.byKey[key] != p {
				w.fail("%+v is not the one of its key", p.spec)
			}
			keys[key] = true
		}
		w.checkPlacement(p)
	}
	if len(keys) != len(w.d.byKey) {
		w.fail("%d keys, %d found by", len(keys), len(w.d.byKey))
	}
	for i := range e.Placements {
		if p := &e.Placements[i]; p.New && !p.Row.State.Ended() {
			w.checkGrant(e, p)
		}
	}
}

func (w *world) checkPlacement(p *holding) {
	if p.row.State.Ended() || p.ends < w.now || p.timer > p.ends {
		w.fail("%+v lasts until %d, looked at %d, now %d", p.row, p.ends, p.timer, w.now)
	}
	if drained := p.drained(w.now); drained != (p.row.State == fleet.PlacementDraining) && w.d.resume == nil {
		w.fail("%+v, drained %v", p.row, drained)
	}
	for i, n := range p.on {
		if slices.Index(p.on, n) != i || !slices.Contains(n.placements, p) || p.row.Nodes[i].Node != n.rec.ID {
			w.fail("%+v is on %v", p.row, n.rec.ID)
		}
		if n.lease.State == fleet.LeaseLost || n.lease.State == fleet.LeaseLeft {
			w.fail("%+v lasts on %s, which is %v", p.row, n.rec.ID, n.lease.State)
		}
	}
}

// checkGrant: all nodes in one pool that the work may go to, each reserved once,
// and a record when it is a fallback.
func (w *world) checkGrant(e *Effects, p *PlacementWrite) {
	once := Attempt{Job: p.Spec.ID, Attempt: int32(p.Row.CreatedAt)}
	if w.judged[once] {
		return
	}
	w.judged[once] = true
	job := &fleet.JobSpec{App: p.Spec.App, Role: p.Spec.Role}
	reserved, records := 0, 0
	for _, r := range e.Reservations {
		if r.Job == p.Spec.ID {
			reserved++
			if r.Release || r.Adopt || !slices.Contains(p.Row.Nodes, fleet.PlacedOn{Node: r.Node, Pool: r.Pool}) {
				w.fail("%+v reserves %+v", p.Row, r)
			}
		}
	}
	for _, f := range e.Fallbacks {
		if f.Job == p.Spec.ID {
			records++
		}
	}
	pool := p.Row.Nodes[0].Pool
	if reserved != len(p.Row.Nodes) || !slices.Contains(w.allowed(job), pool) || pool == fleet.PoolUnassigned {
		w.fail("%d reserved for %+v, allowed %v", reserved, p.Row, w.allowed(job))
	}
	foreign := !slices.Contains(w.resolved(job), pool)
	if foreign != p.Row.Fallback || (records == 1) != foreign || records > 1 {
		w.fail("%d records, row %+v", records, p.Row)
	}
	for _, on := range p.Row.Nodes {
		if on.Pool != pool {
			w.fail("pools are mixed: %+v", p.Row)
		}
	}
}
