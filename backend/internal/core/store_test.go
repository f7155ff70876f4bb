package core

import (
	"cmp"
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/hold"
	"rockpool/backend/internal/core/identity"
	"rockpool/shared/ids"
)

// modelStore is the database: it takes a batch as the SQL does.
type modelStore struct {
	fail     func(string, ...any)
	pools    []fleet.Pool
	apps     []fleet.App
	nodes    map[string]*modelNode
	jobs     map[ids.JobID]*modelJob
	order    []ids.JobID
	attempts map[Attempt]AttemptRow
	assigned map[Attempt]string // node of every attempt that was ever stored
	keys     map[string]bool
	alarms   alarmTable
	grants   grantTable
	epoch    int64 // of the shard: every process has its own
	autos    int   // automatic holds ever
	secrets  map[string]fleet.Sum
}

type modelNode struct {
	rec      fleet.NodeRecord
	reserved int64
}

type modelJob struct {
	spec      *fleet.JobSpec
	row       JobRow
	at        fleet.Time
	held      string
	hasResult bool
	digest    [32]byte
}

func newModelStore(fail func(string, ...any)) *modelStore {
	s := &modelStore{
		fail: fail, nodes: map[string]*modelNode{}, jobs: map[ids.JobID]*modelJob{},
		secrets:  map[string]fleet.Sum{},
		attempts: map[Attempt]AttemptRow{}, assigned: map[Attempt]string{}, keys: map[string]bool{},
		alarms: alarmTable{rows: map[int64]fleet.Alarm{}, fail: fail}, epoch: 7,
		grants: grantTable{rows: map[ids.JobID]*OpenPlacement{}, states: map[fleet.PlacementState]int{}, fail: fail},
	}
	s.alarms.specs = func(id ids.JobID) *fleet.JobSpec { return s.jobs[id].spec }
	return s
}

func (s *modelStore) snapshot() *Snapshot {
	snap := &Snapshot{Epoch: s.epoch, Pools: slices.Clone(s.pools), Apps: slices.Clone(s.apps), Alarms: s.alarms.kept(0)}
	for _, n := range s.nodes {
		snap.Nodes = append(snap.Nodes, n.rec)
	}
	slices.SortFunc(snap.Nodes, func(a, b fleet.NodeRecord) int { return cmp.Compare(a.ID, b.ID) })
	for _, id := range s.order {
		if j := s.jobs[id]; !j.row.State.Terminal() {
			snap.Jobs = append(snap.Jobs, OpenJob{Spec: j.spec, Row: j.row, SubmittedAt: j.at, Failed: s.failed(j)})
		}
	}
	snap.Placements = s.grants.lasting()
	return snap
}

// failed lists the nodes on which superseded attempts of the job have failed.
func (s *modelStore) failed(j *modelJob) (nodes []string) {
	if !j.spec.AvoidFailedNode {
		return nil
	}
	for number := int32(1); number < j.row.Attempt; number++ {
		a := s.attempts[Attempt{Job: j.spec.ID, Attempt: number}]
		if a.Outcome == fleet.AttemptEnded && a.Cause != fleet.CauseDrained {
			nodes = append(nodes, a.Node)
		}
	}
	return nodes
}

// commit takes the batch and gives what it left out: jobs whole.
func (s *modelStore) commit(e *Effects) []Refusal {
	var refused []Refusal
	out := func(id ids.JobID) bool {
		return slices.ContainsFunc(refused, func(r Refusal) bool { return r.Node == "" && r.Job == id })
	}
	for i := range e.Inserts {
		in := &e.Inserts[i]
		if s.jobs[in.Spec.ID] != nil {
			s.fail("%s inserted twice", in.Spec.ID)
		}
		if in.IdempotencyKey != "" && s.keys[in.IdempotencyKey] {
			refused = append(refused, Refusal{Job: in.Spec.ID, Why: RefusedIdempotency})
		}
	}
	for i := range e.Updates {
		u := &e.Updates[i]
		if j := s.jobs[u.Job]; j == nil || j.row.State != u.FromState || j.row.Attempt != u.FromAttempt {
			s.fail("a stale update although nothing else writes: %+v, row %+v", u, j)
			refused = append(refused, Refusal{Job: u.Job, Why: RefusedStale})
		}
	}
	refused = append(refused, s.grants.refuse(e, s.keys)...)
	for _, w := range e.Holds {
		s.hold(w)
	}
	for {
		more := s.overfull(e, out)
		if len(more) == 0 {
			break
		}
		refused = append(refused, more...)
	}
	for _, w := range e.Sessions {
		if !s.session(w) {
			refused = append(refused, Refusal{Node: w.Node, Why: RefusedStale})
		}
	}
	for _, w := range e.Identities {
		s.identify(w)
	}
	s.apply(e, out)
	s.alarms.commit(e.Alarms)
	s.alarms.explain(e, out)
	return refused
}

// overfull gives the assignments that some node can't take.
func (s *modelStore) overfull(e *Effects, out func(ids.JobID) bool) (refused []Refusal) {
	sum := map[string]int64{}
	for _, r := range e.Reservations {
		if !out(r.Job) && r.Release {
			sum[r.Node] -= r.Demand.Slots
		} else if !out(r.Job) {
			sum[r.Node] += r.Demand.Slots
		}
	}
	for _, r := range e.Reservations {
		if r.Release || out(r.Job) {
			continue
		}
		n := s.nodes[r.Node]
		outside := !r.Adopt && (n.rec.Pool != r.Pool || len(n.rec.Holds) > 0)
		if outside || n.rec.Left || n.reserved+sum[r.Node] > n.rec.Capacity.Slots {
			refused = append(refused, Refusal{Job: r.Job, Why: RefusedAssignment})
		}
	}
	return refused
}

// hold is one that the core puts or lifts; the record's version stays.
func (s *modelStore) hold(w HoldWrite) {
	n := s.nodes[w.Node]
	if w.Hold.Owner == fleet.OwnerSelf {
		s.fail("a node's own hold is written: %+v", w)
	}
	n.rec.Holds = hold.Without(n.rec.Holds, w.Hold.Kind, w.Hold.Owner)
	if !w.Lift {
		n.rec.Holds = hold.With(n.rec.Holds, w.Hold)
		s.autos++
	}
}

// identify keeps of a record what the core knows of its identity; people's part
// stays, until a rotation is over.
func (s *modelStore) identify(w IdentityWrite) {
	rec := &s.nodes[w.Node].rec
	rec.Identity = identity.Merged(rec.Identity, w.Identity)
	if w.Over != "" && w.Over == rec.Identity.Rotation {
		if w.Secret != (fleet.Sum{}) && w.Secret == rec.Identity.NextSecret {
			s.secrets[w.Node] = w.Secret
		}
		rec.Identity.Keep, rec.Identity.Rotation, rec.Identity.NextSecret = "", "", fleet.Sum{}
	}
}

func (s *modelStore) session(w SessionWrite) bool {
	n := s.nodes[w.Node]
	if w.Left {
		if !n.rec.Left {
			n.rec.Left, n.rec.Version = true, n.rec.Version+1
		}
		return true
	}
	if n.rec.Epoch >= w.Epoch || n.rec.Left {
		return false
	}
	n.rec.Epoch, n.rec.BootID, n.rec.Capacity, n.rec.Runners = w.Epoch, w.Report.BootID, w.Report.Capacity, w.Report.Runners
	n.rec.Backend, n.rec.MachineID = w.Report.Backend, w.Report.MachineID
	return true
}

func (s *modelStore) apply(e *Effects, out func(ids.JobID) bool) {
	for _, r := range e.Reservations {
		if r.Release && !out(r.Job) {
			if s.grants.rows[r.Job] != nil {
				s.nodes[r.Node].reserved -= r.Demand.Slots
				continue
			}
			j := s.jobs[r.Job]
			if j == nil || j.held != r.Node {
				s.fail("release of what is not held: %+v, row %+v", r, j)
			}
			j.held = ""
			s.nodes[r.Node].reserved -= r.Demand.Slots
		}
	}
	s.grants.apply(e, out, s.keys)
	for i := range e.Inserts {
		in := &e.Inserts[i]
		if out(in.Spec.ID) {
			continue
		}
		s.jobs[in.Spec.ID] = &modelJob{spec: in.Spec, row: in.Row, at: in.At}
		s.order = append(s.order, in.Spec.ID)
		if in.IdempotencyKey != "" {
			s.keys[in.IdempotencyKey] = true
		}
	}
	for i := range e.Updates {
		if !out(e.Updates[i].Job) {
			s.update(&e.Updates[i])
		}
	}
	for _, a := range e.Attempts {
		key := Attempt{Job: a.Job, Attempt: a.Attempt}
		if out(a.Job) {
			continue
		}
		if _, there := s.attempts[key]; there || a.Attempt >= s.jobs[a.Job].row.Attempt || a.Outcome == fleet.AttemptOpen {
			s.fail("a superseded attempt that is none: %+v", a)
		}
		if s.assigned[key] != a.Node {
			s.fail("a superseded attempt that was stored on %q: %+v", s.assigned[key], a)
		}
		s.attempts[key] = a
	}
	for _, r := range e.Reservations {
		if r.Release || out(r.Job) {
			continue
		}
		j, n := s.jobs[r.Job], s.nodes[r.Node]
		if s.grants.rows[r.Job] != nil {
			n.reserved += r.Demand.Slots
			continue
		}
		if j.held != "" || j.row.Node != r.Node && !j.row.State.Terminal() {
			s.fail("assigned %+v, but the row is %+v and %q holds", r, j.row, j.held)
		}
		j.held = r.Node
		n.reserved += r.Demand.Slots
		s.assigned[Attempt{Job: r.Job, Attempt: j.row.Attempt}] = r.Node
	}
	for _, f := range e.Fallbacks {
		if f.Attempt > 0 && !out(f.Job) && s.jobs[f.Job].row.Attempt != f.Attempt {
			s.fail("a fallback record of no assignment: %+v", f)
		}
	}
	s.checkHeld()
}

func (s *modelStore) update(u *JobUpdate) {
	j := s.jobs[u.Job]
	if j.row.State.Terminal() || u.Row.Attempt < j.row.Attempt || u.Row.Counted > u.Row.Attempt || u.Row.Counted < 0 {
		s.fail("an update that may not be: %+v to %+v", j.row, u.Row)
	}
	// A waiting job takes its orphan's result through running, in one write.
	through := j.row.State.MayBecome(fleet.JobRunning) && fleet.JobRunning.MayBecome(u.Row.State)
	if !j.row.State.MayBecome(u.Row.State) && !through && j.row.State != u.Row.State {
		s.fail("%v may not become %v", j.row.State, u.Row.State)
	}
	j.row = u.Row
	if u.Result != nil {
		if j.hasResult || !u.Row.State.Terminal() {
			s.fail("a second result of %s", u.Job)
		}
		j.hasResult, j.digest = true, u.Result.Digest
	}
}

// counted is how many of a job's attempts should count: those that were or may
// have been started, and that no drain ended. Of a job that was canceled or expired as
// it waited, or could not wait, the row does not say what had ended its last one.
func (s *modelStore) counted(id ids.JobID) (least, most int32) {
	counts := func(outcome fleet.AttemptOutcome, cause fleet.Cause) bool {
		return (outcome == fleet.AttemptEnded || outcome == fleet.AttemptOrphaned) && cause != fleet.CauseDrained
	}
	row := s.jobs[id].row
	for number := int32(1); number < row.Attempt; number++ {
		if a, kept := s.attempts[Attempt{Job: id, Attempt: number}]; kept && counts(a.Outcome, a.Cause) {
			least++
		}
	}
	most = least
	if counts(row.Outcome, row.Cause) {
		most++
	}
	if row.State != fleet.JobCanceled && row.State != fleet.JobExpired && row.Cause != fleet.CausePoolExhausted {
		least = most
	}
	return least, most
}

// drained is how many superseded attempts were ended by drains.
func (s *modelStore) drained() (n int) {
	for _, a := range s.attempts {
		if a.Cause == fleet.CauseDrained && a.Outcome != fleet.AttemptUnanswered {
			n++
		}
	}
	return n
}

func (s *modelStore) checkHeld() {
	sum := map[string]int64{}
	for _, j := range s.jobs {
		if j.held == "" {
			continue
		}
		if j.row.State != fleet.JobOffered && j.row.State != fleet.JobCanceling {
			s.fail("%s is %v and holds %s", j.spec.ID, j.row.State, j.held)
		}
		sum[j.held] += j.spec.Demands.Slots
	}
	for _, p := range s.grants.lasting() {
		for _, on := range p.Row.Nodes {
			sum[on.Node] += p.Spec.Demands.Slots
		}
	}
	for id, n := range s.nodes {
		if n.reserved != sum[id] {
			s.fail("%s: %d reserved, its work holds %d", id, n.reserved, sum[id])
		}
	}
}

func (s *modelStore) recall(r Recall) RecalledRow {
	j := s.jobs[r.Job]
	if j == nil {
		return RecalledRow{}
	}
	row := RecalledRow{
		Found: true, State: j.row.State, Attempt: j.row.Attempt, Node: j.row.Node,
		HasResult: j.hasResult, ResultDigest: j.digest,
	}
	if r.Attempt == j.row.Attempt {
		row.AttemptNode = j.row.Node
	} else {
		row.AttemptNode = s.attempts[Attempt{Job: r.Job, Attempt: r.Attempt}].Node
	}
	return row
}
