package core

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/hold"
	"rockpool/backend/internal/core/schedule"
	"rockpool/shared/ids"
)

// check holds after every event.
func (w *world) check() {
	held := 0
	for _, n := range w.d.order {
		var sum int64
		for _, j := range n.jobs {
			sum += j.spec.Demands.Slots
			if j.held != n || j.row.State.Terminal() || j.row.State == fleet.JobQueued {
				w.fail("%s holds %s in state %v", n.rec.ID, j.spec.ID, j.row.State)
			}
		}
		for _, p := range n.placements {
			sum += p.spec.Demands.Slots
		}
		if got := n.slot.Reserved().Slots; got != sum || sum < 0 {
			w.fail("%s: reserved %d, its work holds %d", n.rec.ID, got, sum)
		}
		if sum > n.rec.Capacity.Slots && !w.calm {
			w.fail("%s: %d of %d slots are reserved", n.rec.ID, sum, n.rec.Capacity.Slots)
		}
		if gone := n.lease.State == fleet.LeaseLost || n.lease.State == fleet.LeaseLeft; gone && len(n.jobs) > 0 && w.d.resume == nil {
			w.fail("%s is %v and has %d jobs", n.rec.ID, n.lease.State, len(n.jobs))
		}
		w.checkHolds(n)
		if n.quarantined() && !w.copies {
			w.fail("%s is held although nobody copied it: %+v", n.rec.ID, n.rec.Identity)
		}
		held += len(n.jobs)
	}
	waiting := 0
	for _, spec := range w.jobs {
		if j := w.d.jobs[spec.ID]; j != nil {
			w.checkJob(j)
			if j.row.State == fleet.JobQueued {
				waiting++
			}
		}
	}
	if t := w.d.Totals(); t.Held != held || t.Waiting != waiting {
		w.fail("totals %+v, but %d held, %d waiting", t, held, waiting)
	}
	w.checkEntries(w.pending)
	w.checkPlacements(w.pending)
	w.checkReserves()
	w.checkAlarms()
	w.checkIsolation(w.pending)
	w.checkView()
}

// checkReserves: one node a pool, that could take its job and does not yet.
func (w *world) checkReserves() {
	pools := map[string]bool{}
	for _, r := range w.d.reserves {
		if pools[r.pool] || r.n.reserve != r || r.j.reserve != r || r.n.rec.Pool != r.pool {
			w.fail("%s is reserved for %s in %s: %v", r.n.rec.ID, r.j.spec.ID, r.pool, pools)
		}
		pools[r.pool] = true
		if !r.j.wait.Waiting() || !r.n.slot.CouldTake(&r.j.wait.Request) || r.n.slot.Short(&r.j.spec.Demands) == schedule.Admitted {
			w.fail("%s is reserved for %s, which is %v", r.n.rec.ID, r.j.spec.ID, r.j.row.State)
		}
	}
}

// checkHolds: none outlives its time, and past a drain's deadline nothing runs
// that was not asked to end.
func (w *world) checkHolds(n *node) {
	if ended := hold.Ended(n.rec.Holds, w.now); len(ended) > 0 {
		w.fail("%s: %+v has ended at %d", n.rec.ID, ended, w.now)
	}
	drains, over := hold.Drains(n.rec.Holds, w.now)
	for _, j := range n.jobs {
		untaken := j.stage == stageUnsent || j.stage == stageSent
		if j.row.State == fleet.JobOffered && (drains && untaken || over && !j.ending()) {
			w.fail("%s is drained (%+v) and keeps %s: stage %d", n.rec.ID, n.rec.Holds, j.spec.ID, j.stage)
		}
		if j.draining && (j.row.State != fleet.JobOffered || !j.cancelSent) {
			w.fail("%s: a drain ends %s, which is %v", n.rec.ID, j.spec.ID, j.row.State)
		}
	}
}

func (w *world) checkJob(j *job) {
	if at, n := (Attempt{Job: j.spec.ID, Attempt: j.row.Attempt}), j.held; j.stage == stageSent && j.row.State == fleet.JobOffered && n.ready() && w.offered[at] != n.epoch {
		w.fail("%v waits for the answer of session %d, the node has %d", at, w.offered[at], n.epoch)
	}
	w.checkPause(j)
	if (j.row.State == fleet.JobQueued) != (j.wait.Waiting() || j.paused) || j.paused && j.cohort != nil {
		w.fail("%s is %v but waiting is %v, paused %v", j.spec.ID, j.row.State, j.wait.Waiting(), j.paused)
	}
	if (j.row.State == fleet.JobOffered || j.row.State == fleet.JobCanceling) != (j.held != nil) && w.d.nodes[j.row.Node] != nil {
		w.fail("%s is %v and holds %v", j.spec.ID, j.row.State, j.held)
	}
	want, tie, tallies := w.oracle(j.spec, j.avoid)
	got := w.d.decide(w.now, w.d.routeOf(j.spec), &j.wait.Request, j.avoid)
	if got != want || got != nil && w.d.scratch.TieBreak != tie {
		w.fail("the index chose %v, the scan %v", got, want)
	}
	if !slices.Equal(w.d.scratch.Pools, tallies) {
		w.fail("the index counted %+v, the scan %+v", w.d.scratch.Pools, tallies)
	}
	for _, t := range tallies {
		sum := t.Candidates
		for _, n := range t.Rejected {
			sum += n
		}
		if sum != t.Nodes {
			w.fail("reasons do not add up: %+v", t)
		}
	}
	if j.wait.Waiting() && want != nil && !w.d.overQuota(j.spec) {
		w.fail("%s waits although %s could take it", j.spec.ID, want.rec.ID)
	}
}

// checkPause: a pause has a cause and an end, and nothing waits longer than it may.
func (w *world) checkPause(j *job) {
	timed := j.row.Cause == fleet.CauseNotBefore || j.row.Cause == fleet.CauseBackoff
	if queued := j.row.State == fleet.JobQueued; j.paused != (queued && (timed || j.row.Cause == fleet.CauseHeld)) {
		w.fail("%s is %v (%s) and paused: %v", j.spec.ID, j.row.State, j.row.Cause, j.paused)
	}
	if (j.row.NotBefore != 0) != (j.paused && timed) || j.paused && timed && j.row.NotBefore <= w.now && w.d.resume == nil {
		w.fail("%s is %v (%s) until %d", j.spec.ID, j.row.State, j.row.Cause, j.row.NotBefore)
	}
	if limit := fleet.Time(j.spec.QueueTimeoutMs); limit > 0 && j.wait.Waiting() && w.d.waitedForNodes(w.now, j) >= limit {
		w.fail("%s waits longer than %d: %+v", j.spec.ID, limit, j.row.Waits)
	}
	if j.spec.AvoidFailedNode && j.row.State == fleet.JobOffered {
		for _, past := range j.past {
			a := w.store.attempts[Attempt{Job: j.spec.ID, Attempt: past.attempt}]
			if a.Outcome == fleet.AttemptEnded && a.Cause != fleet.CauseDrained && past.node == j.row.Node {
				w.fail("%s is on %s again, where attempt %d failed", j.spec.ID, past.node, past.attempt)
			}
		}
	}
}

// oracle decides by a plain scan over all nodes, by the text of the rules.
func (w *world) oracle(spec *fleet.JobSpec, avoid []schedule.Exclusion) (best *node, tie bool, tallies []fleet.Tally) {
	for _, pool := range w.allowed(spec) {
		t := fleet.Tally{Pool: pool}
		for _, n := range w.d.order {
			if n.rec.Pool != pool {
				continue
			}
			t.Nodes++
			if reason := w.reason(n, spec, avoid); reason != fleet.NumReasons {
				t.Rejected[reason]++
				continue
			}
			t.Candidates++
			switch {
			case best == nil || n.slot.FreeSlots() > best.slot.FreeSlots():
				best, tie = n, false
			case n.slot.FreeSlots() == best.slot.FreeSlots():
				tie = true
			}
		}
		tallies = append(tallies, t)
		if best != nil {
			return best, tie, tallies
		}
	}
	return nil, false, tallies
}

func (w *world) reason(n *node, spec *fleet.JobSpec, avoid []schedule.Exclusion) fleet.Reason {
	hold := func(kind fleet.HoldKind) bool {
		return slices.ContainsFunc(n.rec.Holds, func(h fleet.Hold) bool { return h.Kind == kind })
	}
	state := fleet.PoolActive
	if p := w.d.pools[n.rec.Pool]; p != nil {
		state = p.State
	}
	reserved := int64(0)
	for _, j := range n.jobs {
		reserved += j.spec.Demands.Slots
	}
	for _, p := range n.placements {
		reserved += p.spec.Demands.Slots
	}
	for _, c := range []struct {
		applies bool
		reason  fleet.Reason
	}{
		{state == fleet.PoolIsClosed, fleet.PoolDisabled}, {state == fleet.PoolDrains, fleet.PoolDraining},
		{n.rec.Role != spec.Role, fleet.WrongRole},
		{n.lease.State != fleet.LeaseReady || !n.open || n.pending != nil, fleet.LeaseNotReady},
		{!n.healthy || !n.accepting, fleet.Unhealthy},
		{hold(fleet.HoldQuarantine), fleet.Quarantine}, {hold(fleet.HoldDrain), fleet.Draining},
		{hold(fleet.HoldCordon), fleet.Cordoned}, {hold(fleet.HoldAuto), fleet.AutoHold}, {hold(fleet.HoldDeaf), fleet.Deaf},
		{n.reserve != nil, fleet.Reserved},
		{spec.Runner != "" && !slices.Contains(n.rec.Runners, spec.Runner), fleet.NoRunner},
		{spec.Backend != "" && spec.Backend != n.rec.Backend, fleet.WrongBackend},
		{spec.Region != "" && spec.Region != n.rec.Region, fleet.WrongRegion},
		{slices.ContainsFunc(avoid, func(e schedule.Exclusion) bool { return e.Node == &n.slot }), fleet.Excluded},
		{n.rec.Capacity.Slots-reserved < spec.Demands.Slots, fleet.NoSlots},
	} {
		if c.applies {
			return c.reason
		}
	}
	return fleet.NumReasons
}

// allowed lists the pools of design's resolution, once more and differently.
func (w *world) allowed(spec *fleet.JobSpec) []string {
	if spec.Pool != "" {
		return []string{spec.Pool}
	}
	app := w.d.apps[spec.App]
	for _, role := range []string{spec.Role, ""} {
		for _, b := range app.Bindings {
			if b.Role != role {
				continue
			}
			pools := slices.Compact(slices.DeleteFunc(slices.Clone(b.Pools), func(p string) bool { return p == fleet.PoolUnassigned }))
			if b.AllowFallback && !slices.Contains(pools, fleet.PoolDefault) {
				pools = append(pools, fleet.PoolDefault)
			}
			return pools
		}
	}
	if app.Owner == 0 {
		return []string{fleet.PoolDefault}
	}
	pools := []string{fleet.OwnerPool(app.Owner)}
	for _, n := range w.d.order {
		if n.rec.Owner == app.Owner && n.lease.State != fleet.LeaseLeft && n.rec.Pool != fleet.PoolUnassigned {
			return pools
		}
	}
	return append(pools, fleet.PoolDefault)
}

// checkEntries looks at the batch that gathers: one entry a job, and each new
// assignment inside its pools, with a record when it is a fallback.
func (w *world) checkEntries(e *Effects) {
	seen := map[ids.JobID]bool{}
	row := func(id ids.JobID, r *JobRow) {
		if seen[id] {
			w.fail("%s has two entries in one batch", id)
		}
		seen[id] = true
		if r.State == fleet.JobRunning {
			w.fail("running is never stored: %s", id)
		}
	}
	for i := range e.Inserts {
		row(e.Inserts[i].Spec.ID, &e.Inserts[i].Row)
	}
	for i := range e.Updates {
		row(e.Updates[i].Job, &e.Updates[i].Row)
	}
	for _, r := range e.Reservations {
		if placementIn(e, r.Job) != nil {
			continue
		}
		j := w.d.jobs[r.Job]
		if !seen[r.Job] || j == nil {
			w.fail("a reservation without its job's row: %+v", r)
		}
		if r.Release || r.Adopt {
			continue
		}
		dec := j.row.Decision
		if j.row.State == fleet.JobOffered && (dec.Node != r.Node || r.Pool != dec.Pools[len(dec.Pools)-1].Pool) {
			w.fail("assigned to %s in %s, decided %+v", r.Node, r.Pool, dec)
		}
		records := 0
		for _, f := range e.Fallbacks {
			if f.Job == r.Job && f.Attempt == j.row.Attempt {
				records++
			}
		}
		if (records == 1) != j.row.Fallback || records > 1 {
			w.fail("%d fallback records, fallback %v", records, j.row.Fallback)
		}
	}
}
