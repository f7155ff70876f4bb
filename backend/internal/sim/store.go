package sim

import (
	"encoding/binary"
	"slices"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// store is the database: it takes a batch as the SQL does, every job's part of it
// whole or not at all, and it looks at each row as an auditor would.
type store struct {
	w               *World
	pools           []fleet.Pool
	apps            []fleet.App
	nodes           []*row
	alarms          []fleet.Alarm
	epoch           int64
	backAt          Time // it is away until then
	slow            Time // added to each transaction
	failP, unknownP Share

	refused refusals
	held    []*row // by the reservations of the batch that is taken
}

// row is a node's record with what is reserved on it.
type row struct {
	node     *node
	touched  bool
	reserved fleet.Vector
	sum      fleet.Vector // scratch of one batch
	rec      fleet.NodeRecord
	secret   fleet.Sum
}

// knows reports a secret with which the node may come.
func (r *row) knows(secret fleet.Sum) bool {
	return secret == r.secret || secret == r.rec.Identity.NextSecret
}

// refusals are the jobs that a batch leaves out.
type refusals struct{ list []core.Refusal }

func (r *refusals) has(id ids.JobID) bool {
	return len(r.list) > 0 && slices.ContainsFunc(r.list, func(f core.Refusal) bool { return f.Node == "" && f.Job == id })
}

func newStore(w *World) *store {
	return &store{w: w, epoch: 1, failP: w.sc.Store.Fail, unknownP: w.sc.Store.Unknown}
}

func (s *store) addPool(p fleet.Pool) {
	p.Version = 1
	s.pools = append(s.pools, p)
}

// addOwner gives a user the pool that every user has.
func (s *store) addOwner(owner int64) {
	if id := fleet.OwnerPool(owner); owner != 0 && s.pool(id) == nil {
		s.addPool(fleet.Pool{ID: id, Kind: fleet.KindUser, State: fleet.PoolActive, Thresholds: fleet.DefaultThresholds()})
	}
}

func (s *store) pool(id string) *fleet.Pool {
	for i := range s.pools {
		if s.pools[i].ID == id {
			return &s.pools[i]
		}
	}
	return nil
}

func (s *store) app(id string) *fleet.App {
	for i := range s.apps {
		if s.apps[i].ID == id {
			return &s.apps[i]
		}
	}
	return nil
}

// number is the job's number in its id.
func number(id ids.JobID) int { return int(binary.BigEndian.Uint64(id[8:]) & 0xffffffff) }

func (s *store) job(id ids.JobID) *job {
	if n := number(id); n < len(s.w.jobs) && s.w.jobs[n].spec.ID == id {
		return s.w.jobs[n]
	}
	return nil
}

func (s *store) node(id string) *row {
	if n := s.w.named[id]; n != nil {
		return s.nodes[n.index]
	}
	return nil
}

// latency is how long one transaction or query takes.
func (s *store) latency() Time {
	most := Time(s.w.sc.Store.Commit)
	if most == 0 {
		most = 4
	}
	return s.w.chance.store.between(1, most) + s.slow
}

// draw decides how the next transaction ends, and when.
func (s *store) draw() (took Time, outcome commitOutcome) {
	took = s.latency()
	switch {
	case s.backAt > s.w.now:
		return took, commitFailed
	case s.w.chance.store.chance(s.failP):
		return took, commitFailed
	case s.w.chance.store.chance(s.unknownP):
		return took, commitUnknown
	}
	return took, commitOK
}

// wallOf and clockOf translate between the rows' wall times and the clock of the
// server's process, as the real store does; 0 and Never stand for themselves.
func (s *store) wallOf(t Time) Time {
	if t == 0 || t == Never {
		return t
	}
	return s.w.srv.virtual(t) + s.w.clock.offset + wallBase
}

func (s *store) clockOf(wall Time) Time {
	if wall == 0 || wall == Never {
		return wall
	}
	return wall - wallBase - s.w.clock.offset - s.w.srv.start + 1
}

const wallBase = 1_000_000_000

// snapshot reads all that is open.
func (s *store) snapshot() *core.Snapshot {
	snap := &core.Snapshot{Epoch: s.epoch, Pools: slices.Clone(s.pools), Apps: slices.Clone(s.apps)}
	snap.Nodes = make([]fleet.NodeRecord, 0, len(s.nodes))
	for _, n := range s.nodes {
		rec := n.rec
		rec.Holds = slices.Clone(rec.Holds)
		for i := range rec.Holds {
			rec.Holds[i].Until, rec.Holds[i].Deadline = s.clockOf(rec.Holds[i].Until), s.clockOf(rec.Holds[i].Deadline)
		}
		snap.Nodes = append(snap.Nodes, rec)
	}
	slices.SortFunc(snap.Nodes, func(a, b fleet.NodeRecord) int { return compare(a.ID, b.ID) })
	for _, j := range s.w.jobs {
		if !j.stored || j.row.State.Terminal() {
			continue
		}
		open := core.OpenJob{Spec: j.spec, Row: j.row, SubmittedAt: s.clockOf(j.submitted)}
		s.moments(&open.Row, s.clockOf)
		snap.Jobs = append(snap.Jobs, open)
	}
	snap.Placements = s.openPlacements()
	for _, a := range s.alarms {
		if a.ResolvedAt == 0 {
			a.RaisedAt, a.LastAt = s.clockOf(a.RaisedAt), s.clockOf(a.LastAt)
			snap.Alarms = append(snap.Alarms, a)
		}
	}
	return snap
}

func (s *store) moments(r *core.JobRow, of func(Time) Time) {
	r.AssignedAt, r.StartedAt, r.EndedAt, r.NotBefore = of(r.AssignedAt), of(r.StartedAt), of(r.EndedAt), of(r.NotBefore)
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// commit takes the batch and gives what it left out. What it says of nodes comes
// first, as in the SQL: an assignment may need the hold away that the batch lifts.
func (s *store) commit(e *core.Effects) []core.Refusal {
	s.refused.list, s.held = s.refused.list[:0], s.held[:0]
	for i := range e.Reservations {
		s.held = append(s.held, s.node(e.Reservations[i].Node))
	}
	for i := range e.Holds {
		s.hold(&e.Holds[i])
	}
	s.refuseStale(e)
	s.refusePlacements(e)
	for i := range e.Identities {
		s.identify(&e.Identities[i])
	}
	for i := range e.Sessions {
		if !s.session(&e.Sessions[i]) {
			s.refused.list = append(s.refused.list, core.Refusal{Node: e.Sessions[i].Node, Why: core.RefusedStale})
		}
	}
	for s.refuseOverfull(e) {
	}
	s.release(e)
	s.write(e)
	s.grants(e)
	s.reserve(e)
	s.records(e)
	for i := range e.Alarms {
		s.alarm(e.Alarms[i].Alarm)
	}
	s.w.counts.audits += int64(len(e.Audits))
	for i := range e.Audits {
		s.w.counts.audit(e.Audits[i].Action)
	}
	return slices.Clone(s.refused.list)
}

func (s *store) refuseStale(e *core.Effects) {
	refuse := func(id ids.JobID, why core.RefusedWhy) {
		s.refused.list = append(s.refused.list, core.Refusal{Job: id, Why: why})
	}
	for i := range e.Inserts {
		in := &e.Inserts[i]
		j := s.job(in.Spec.ID)
		if j.stored {
			s.w.fail("W3", "job %d is inserted twice", j.number)
		}
		if s.w.orders[j.order].taken {
			refuse(in.Spec.ID, core.RefusedIdempotency)
		}
	}
	for i := range e.Updates {
		u := &e.Updates[i]
		if j := s.job(u.Job); j == nil || !j.stored || j.row.State != u.FromState || j.row.Attempt != u.FromAttempt {
			s.w.fail("W10", "a stale write although nobody else writes: %s from %v attempt %d", u.Job, u.FromState, u.FromAttempt)
			refuse(u.Job, core.RefusedStale)
		}
	}
}

// refuseOverfull refuses the assignments that a node can't take as it is now.
func (s *store) refuseOverfull(e *core.Effects) (more bool) {
	for i := range e.Reservations {
		if r := &e.Reservations[i]; !s.refused.has(r.Job) {
			n := s.held[i]
			if !n.touched {
				n.touched = true
				n.sum = fleet.Vector{Slots: n.reserved.Slots, Resources: append(n.sum.Resources[:0], n.reserved.Resources...), Memory: append(n.sum.Memory[:0], n.reserved.Memory...)}
			}
			add(&n.sum, r.Demand, sign(!r.Release))
		}
	}
	for i := range e.Reservations {
		r, n := &e.Reservations[i], s.held[i]
		n.touched = false
		if r.Release || s.refused.has(r.Job) {
			continue
		}
		outside := !r.Adopt && (n.rec.Pool != r.Pool || len(n.rec.Holds) > 0)
		if outside || n.rec.Left || !within(&n.sum, &n.rec.Capacity) {
			s.w.judgeRefusal(e, r, n)
			s.refused.list = append(s.refused.list, core.Refusal{Job: r.Job, Why: core.RefusedAssignment})
			more = true
		}
	}
	return more
}

func (s *store) session(w *core.SessionWrite) bool {
	n := s.node(w.Node)
	if w.Left {
		if !n.rec.Left {
			n.rec.Left, n.rec.Version = true, n.rec.Version+1
		}
		return true
	}
	if n.rec.Epoch >= w.Epoch || n.rec.Left {
		return false
	}
	n.rec.Epoch, n.rec.BootID, n.rec.Capacity = w.Epoch, w.Report.BootID, w.Report.Capacity
	n.rec.Runners, n.rec.Backend, n.rec.Region = w.Report.Runners, w.Report.Backend, w.Report.Region
	s.w.told.reported(s.w.named[w.Node], &n.rec)
	s.w.counts.sessions++
	return true
}

func (s *store) hold(h *core.HoldWrite) {
	n := s.node(h.Node)
	before := len(n.rec.Holds)
	n.rec.Holds = slices.DeleteFunc(slices.Clone(n.rec.Holds), sameHold(h.Hold))
	if h.Lift {
		return
	}
	if len(n.rec.Holds) == before {
		s.w.counts.hold(h.Hold.Kind, h.Hold.Owner)
	}
	held := h.Hold
	held.Until, held.Deadline = s.wallOf(held.Until), s.wallOf(held.Deadline)
	n.rec.Holds = append(n.rec.Holds, held)
}

// alarm keeps the newest state of one; of a fingerprint at most one lasts (W8).
func (s *store) alarm(a fleet.Alarm) {
	a.RaisedAt, a.LastAt, a.ResolvedAt = s.wallOf(a.RaisedAt), s.wallOf(a.LastAt), s.wallOf(a.ResolvedAt)
	for i := range s.alarms {
		other := &s.alarms[i]
		switch {
		case other.ID == a.ID:
			*other = a
			return
		case other.Fingerprint == a.Fingerprint && other.ResolvedAt == 0 && a.ResolvedAt == 0:
			s.w.fail("W8", "two alarms of one fingerprint last: %+v", a.Fingerprint)
		}
	}
	s.alarms = append(s.alarms, a)
}

func (s *store) recall(r core.Recall) core.RecalledRow {
	j := s.job(r.Job)
	if j == nil || !j.stored {
		return core.RecalledRow{}
	}
	row := core.RecalledRow{
		Found: true, State: j.row.State, Attempt: j.row.Attempt, Node: j.row.Node, HasResult: j.hasResult, ResultDigest: j.digest,
	}
	if r.Attempt == j.row.Attempt {
		row.AttemptNode = j.row.Node
	} else if a := j.attempt(r.Attempt); a != nil {
		row.AttemptNode = a.superseded
	}
	return row
}

func sign(plus bool) int64 {
	if plus {
		return 1
	}
	return -1
}

// add adds v, times sign, to sum; sum keeps the names that it has seen.
func add(sum, v *fleet.Vector, sign int64) {
	sum.Slots += sign * v.Slots
	if !v.Plain() {
		sum.Resources = addAll(sum.Resources, v.Resources, sign)
		sum.Memory = addAll(sum.Memory, v.Memory, sign)
	}
}

func addAll(sum, list []fleet.Quantity, sign int64) []fleet.Quantity {
	for _, q := range list {
		at := slices.IndexFunc(sum, func(have fleet.Quantity) bool { return have.Name == q.Name })
		if at < 0 {
			at = len(sum)
			sum = append(sum, fleet.Quantity{Name: q.Name})
		}
		sum[at].Amount += sign * q.Amount
	}
	return sum
}

// within reports that nothing of v is more than of most.
func within(v, most *fleet.Vector) bool {
	return v.Slots <= most.Slots && allWithin(v.Resources, most.Resources) && allWithin(v.Memory, most.Memory)
}

func allWithin(list, most []fleet.Quantity) bool {
	for _, q := range list {
		if q.Amount > amount(most, q.Name) {
			return false
		}
	}
	return true
}

func amount(list []fleet.Quantity, name string) int64 {
	for i := range list {
		if list[i].Name == name {
			return list[i].Amount
		}
	}
	return 0
}
