package core

import (
	"slices"

	"rockpool/backend/internal/core/alarm"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/schedule"
	"rockpool/shared/ids"
)

// LiveJob shows an open job as it is now; false: it is not open.
func (d *Dispatch) LiveJob(now fleet.Time, id ids.JobID) (JobView, bool) {
	j := d.jobs[id]
	if j == nil {
		return JobView{}, false
	}
	v := j.view()
	v.Waits = d.waitedUntil(now, j)
	if j.wait.Waiting() {
		v.Cause = j.waitCause(d.overQuota(j.spec))
		d.decide(now, d.quietRoute(keyOf(j.spec)), &j.wait.Request, j.avoid)
		v.Decision = d.kept()
	}
	return v, true
}

// Preview decides on work without an effect, by the very function that places.
func (d *Dispatch) Preview(now fleet.Time, spec *fleet.JobSpec) Candidates {
	request := schedule.RequestOf(spec)
	r := d.quietRoute(keyOf(spec))
	d.decide(now, r, &request, nil)
	return Candidates{Decision: *d.kept(), Nodes: d.nodeReasons(r, &request, nil)}
}

// Explain shows an open job with all reasons of every node of its pools now.
func (d *Dispatch) Explain(now fleet.Time, id ids.JobID) (Explanation, bool) {
	v, open := d.LiveJob(now, id)
	if !open {
		return Explanation{}, false
	}
	j := d.jobs[id]
	r := d.quietRoute(keyOf(j.spec))
	d.decide(now, r, &j.wait.Request, j.avoid)
	return Explanation{Job: v, Now: *d.kept(), Nodes: d.nodeReasons(r, &j.wait.Request, j.avoid), Standing: d.standing(j, r)}, true
}

// standing is the job's place in the queue of the pool that it waits for first, or nil.
func (d *Dispatch) standing(j *job, r *route) *Standing {
	if len(r.tries) == 0 {
		return nil
	}
	at, waits := d.queue.Standing(&j.wait, r.tries[0])
	if !waits {
		return nil
	}
	s := &Standing{Pool: r.tries[0], Of: at.Of, AheadAlike: at.AheadAlike, AheadOther: at.AheadOther, Apps: int64(len(at.Apps)), Weight: d.weightOf(j.spec)}
	s.Weights = int64(s.Weight)
	for _, other := range at.Apps {
		s.OtherWork += other.Work
		s.Weights += int64(d.weightOf(&fleet.JobSpec{App: other.App}))
	}
	if j.reserve != nil {
		s.Reserved = j.reserve.n.rec.ID
	}
	return s
}

func (d *Dispatch) nodeReasons(r *route, request *schedule.Request, avoid []schedule.Exclusion) []NodeReasons {
	var list []NodeReasons
	for _, pool := range r.tries {
		for _, n := range d.order {
			if n.rec.Pool == pool {
				list = append(list, NodeReasons{
					Node: n.rec.ID, Pool: pool, Reasons: n.slot.Reasons(request, avoid), FreeSlots: n.slot.FreeSlots(),
					Suffices: n.slot.CouldTake(request),
				})
			}
		}
	}
	return list
}

// LiveJobState is LiveJob without deciding anew about a waiting job.
func (d *Dispatch) LiveJobState(id ids.JobID) (JobView, bool) {
	j := d.jobs[id]
	if j == nil {
		return JobView{}, false
	}
	return j.view(), true
}

func (j *job) view() JobView {
	return JobView{
		ID: j.spec.ID, Owner: j.spec.Owner, State: j.state(), Cause: j.row.Cause, Attempt: j.row.Attempt, Node: j.row.Node, Pool: j.row.Pool,
		Fallback: j.row.Fallback, Percent: j.percent, StartedAt: j.row.StartedAt, Decision: j.row.Decision,
		NotBefore: j.row.NotBefore, Waits: j.row.Waits,
	}
}

// Fleet projects all nodes and pools as they are now.
func (d *Dispatch) Fleet(now fleet.Time) *FleetView { return d.FleetAfter(now, nil) }

// FleetAfter is Fleet, and takes the nodes that have not changed from an earlier
// projection of this Dispatch: of ten thousand, few do from one to the next. Nil:
// there is none.
func (d *Dispatch) FleetAfter(now fleet.Time, before *FleetView) *FleetView {
	v := &FleetView{At: now, Rev: d.rev, Nodes: make([]*NodeView, 0, len(d.order))}
	var old []*NodeView
	if before != nil && before.Rev >= d.loaded {
		old = before.Nodes
	}
	for _, n := range d.order {
		for len(old) > 0 && old[0].Record.ID < n.rec.ID {
			old = old[1:]
		}
		if len(old) > 0 && old[0].Record.ID == n.rec.ID && n.rev <= before.Rev {
			v.Nodes = append(v.Nodes, old[0])
			continue
		}
		seen := n.view()
		v.Nodes = append(v.Nodes, &seen)
	}
	v.Pools, v.Waits = d.poolViews(), d.queueTimes(now)
	return v
}

// Changed projects what is different from the fleet at revision since: nodes that
// changed, placements that did, and the pools with their sums when those are wanted.
func (d *Dispatch) Changed(now fleet.Time, since uint64, pools bool) *Changes {
	c := &Changes{At: now, Rev: d.rev, Whole: since < d.loaded}
	for _, n := range d.order {
		if c.Whole || n.rev > since {
			c.Nodes = append(c.Nodes, n.view())
		}
	}
	if pools {
		c.Pools, c.Alarms, c.Waits, c.Frozen = d.poolViews(), d.Alarms(), d.queueTimes(now), d.Frozen(now)
	}
	d.placementsChanged(c, since)
	return c
}

// seen notes a change of a node that can be seen.
func (d *Dispatch) seen(n *node) {
	d.rev++
	n.rev = d.rev
}

// seenOf notes a change of a job that can be seen, also on the node that holds it.
func (d *Dispatch) seenOf(j *job) {
	d.rev++
	if j.held != nil {
		j.held.rev = d.rev
	}
}

func (d *Dispatch) poolViews() []PoolView {
	known := slices.Clone(d.poolIDs)
	sums := make(map[string]*PoolView, len(known))
	for _, id := range known {
		sums[id] = &PoolView{Pool: *d.pools[id], Canary: d.canary(d.pools[id])}
	}
	for _, n := range d.order {
		id := n.rec.Pool
		if sums[id] == nil {
			sums[id] = &PoolView{Pool: fleet.Pool{ID: id, State: fleet.PoolActive}}
			known = append(known, id)
		}
		sums[id].count(n)
	}
	for _, c := range d.cohorts {
		if p := sums[c.pool]; p != nil {
			p.wait(&c.line)
		}
	}
	slices.Sort(known)
	views := make([]PoolView, len(known))
	for i, id := range known {
		sums[id].Queued, sums[id].MassLoss = d.queue.First(id), d.massSince(id)
		views[i] = *sums[id]
	}
	return views
}

// LiveNode is a node as it is now; false: memory does not know it.
func (d *Dispatch) LiveNode(id string) (NodeView, bool) {
	if n := d.nodes[id]; n != nil {
		return n.view(), true
	}
	return NodeView{}, false
}

func (n *node) view() NodeView {
	v := NodeView{
		Record: *n.rec, Lease: n.lease.State, Since: n.lease.Since(), Past: n.lease.Past, LastSeen: n.lease.Heard, SessionOpen: n.open,
		Report: n.report, BootSince: n.bootSince,
		Accepting: n.accepting, AcceptReason: n.acceptReason, Healthy: n.healthy, HealthReasons: n.healthReasons,
		Reasons: n.slot.Blocks().List(), Reserved: n.slot.Reserved(), Free: n.slot.Free(),
		Spooled: n.spooled, LoadMilli: n.loadMilli, MemoryMiB: n.memoryMiB, SkewMs: n.skewMs,
	}
	if n.reserve != nil {
		v.ReservedFor = n.reserve.j.spec.ID
	}
	v.Running = n.running()
	for _, p := range n.placements {
		v.Placements = append(v.Placements, p.spec.ID)
	}
	slices.SortFunc(v.Placements, ids.JobID.Compare)
	return v
}

// running lists the attempts that the node holds, by job.
func (n *node) running() []Held {
	list := make([]Held, 0, len(n.jobs))
	for _, j := range n.jobs {
		running := Running{Job: j.spec.ID, Attempt: j.row.Attempt, Phase: j.phase(), Percent: j.percent}
		list = append(list, Held{Running: running, Spec: j.spec, Pool: j.row.Pool, StartedAt: j.row.StartedAt})
	}
	slices.SortFunc(list, func(a, b Held) int { return a.Job.Compare(b.Job) })
	return list
}

// phase says how far a held attempt is, in the words of the channel.
func (j *job) phase() Phase {
	switch {
	case j.row.State == fleet.JobCanceling || j.ending():
		return PhaseStopping
	case j.stage == stageStarted:
		return PhaseRunning
	}
	return PhaseAccepted
}

// wait adds a line of work that waits for the pool first.
func (p *PoolView) wait(l *alarm.Line) {
	p.Overdue += l.Late()
	if first := l.First(); first != nil && (p.OldestWait == 0 || first.Since < p.OldestWait) {
		p.OldestWait = first.Since
	}
}

func (d *Dispatch) queueTimes(now fleet.Time) (w Waits) {
	w.Placed, w.P50, w.P95 = d.waited.Sum(now)
	return w
}

func (p *PoolView) count(n *node) {
	p.Nodes++
	switch n.lease.State {
	case fleet.LeaseReady:
		p.Ready++
		switch {
		case len(n.rec.Holds) > 0:
			p.ReadyHeld.count(n.slot.Blocks().First())
		case n.slot.Blocks().Has(fleet.Unhealthy):
			p.Unhealthy++
		}
	case fleet.LeaseSuspect:
		p.Suspect++
	case fleet.LeaseLost:
		p.Lost++
	case fleet.LeaseLeft:
		p.Left++
	default:
		p.New++
	}
	if len(n.rec.Holds) > 0 {
		p.Held++
	}
	p.SlotsTotal += n.rec.Capacity.Slots
	if n.slot.Eligible() && p.Pool.ID != fleet.PoolUnassigned {
		p.SlotsFree += n.slot.FreeSlots()
	} else {
		p.OutOfUse += n.slot.FreeSlots()
	}
	p.Running += int64(len(n.jobs))
}

// Totals sums up the fleet, for checks.
func (d *Dispatch) Totals() Totals {
	t := Totals{Jobs: len(d.jobs), Waiting: d.queue.Len() + d.paused, Placements: len(d.placements)}
	for _, n := range d.order {
		t.Held += len(n.jobs)
		t.Reserved += n.slot.Reserved().Slots
	}
	return t
}

func (h *HeldCounts) count(first fleet.Reason) {
	switch first {
	case fleet.Quarantine:
		h.Quarantined++
	case fleet.Draining:
		h.Draining++
	case fleet.AutoHold, fleet.Deaf:
		h.Auto++
	default:
		h.Cordoned++
	}
}
