package core

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/hold"
	"rockpool/backend/internal/core/lease"
	"rockpool/backend/internal/core/placement"
)

// resume is what the first Tick after a Load has to do.
type resume struct {
	at     fleet.Time
	closed []Send // sessions of nodes that are gone, or that others took over
	unsent []*job // assigned, and known never to have been offered
	lost   []*job // on nodes that are gone or have left

	gone []*holding // likewise
}

// Load begins, or begins again after the database was away, from what the
// database has. Of what was in memory it keeps the live part: sessions, what
// nodes said of themselves, and how far this process got with attempts that the
// database has too. Every node gets a full grace. Batches that were not
// committed are forgotten: hand none of them to Committed any more. What follows
// from the difference comes out of the next Tick, which is due at once.
func (d *Dispatch) Load(now fleet.Time, snap *Snapshot) {
	before, beforeJobs := d.nodes, d.jobs
	first := d.loaded == 0
	order := d.order
	d.clear()
	d.rev++
	d.loaded = d.rev
	d.shard = snap.Epoch
	d.resume = &resume{at: now}
	for i := range snap.Pools {
		d.setPool(snap.Pools[i])
	}
	for i := range snap.Apps {
		d.setApp(&snap.Apps[i])
	}
	records, rooms := slices.Clone(snap.Nodes), roomsFor(len(snap.Nodes))
	for i := range records {
		n := d.newNode(&records[i], &rooms, i)
		n.rec.Holds = hold.Bounded(n.rec.Holds, now)
		d.inherit(now, n, before[n.rec.ID])
	}
	for _, n := range order {
		if d.nodes[n.rec.ID] == nil {
			d.closeLater(n, fleet.CodeForbidden, CloseRevoked)
		}
	}
	for _, n := range d.order {
		d.reindex(now, n)
	}
	if byID := func(a, b OpenJob) int { return a.Spec.ID.Compare(b.Spec.ID) }; !slices.IsSortedFunc(snap.Jobs, byID) {
		slices.SortFunc(snap.Jobs, byID)
	}
	for i := range snap.Jobs {
		d.restore(now, &snap.Jobs[i], beforeJobs[snap.Jobs[i].Spec.ID])
	}
	d.restorePlacements(now, snap.Placements)
	for _, n := range d.order {
		d.grace(now, n)
	}
	d.look.calm = now + d.cfg.Lost
	d.thaw(now)
	if first && slices.ContainsFunc(d.order, func(n *node) bool { return n.lease.State == fleet.LeaseSuspect }) {
		d.frozen(now, now, now+d.cfg.Lost, FrozenByRestart)
	}
	d.recallAlarms(now, snap)
	if first {
		d.fallWithRestart(now)
	}
}

// inherit keeps what the sessions of the node told.
func (d *Dispatch) inherit(now fleet.Time, n, old *node) {
	if old == nil {
		return
	}
	n.epoch = old.epoch
	switch {
	case n.rec.Left:
		d.closeLater(old, fleet.CodeForbidden, CloseRevoked)
	case n.rec.Epoch > old.epoch: // another process has had a session of it since
		d.closeLater(old, fleet.CodeConflict, CloseSuperseded)
	default:
		old.registered(*n.rec)
		n.live = old.live
		n.recallIdentity(old.rec)
		if n.rec.BootID != old.rec.BootID { // its commit was not known of
			n.bootSince = now
		}
		for _, h := range old.rec.Holds {
			if hold.InMemory(h) {
				n.rec.Holds = hold.With(n.rec.Holds, h)
			}
		}
	}
}

// closeLater ends a session that stands but must not.
func (d *Dispatch) closeLater(n *node, code fleet.Code, detail string) {
	if n.open {
		d.resume.closed = append(d.resume.closed, Send{Kind: SendClose, Node: n.rec.ID, Epoch: n.epoch, Code: code, Detail: detail})
	}
}

// grace gives a node full time to speak. One that was lost and has said hello may
// break off before that is committed: the work that it has again needs a time in
// which it is lost again.
func (d *Dispatch) grace(now fleet.Time, n *node) {
	switch {
	case n.open && n.lease.State != fleet.LeaseLost:
		n.lease.On(lease.Excused, now, d.leases())
	case len(n.jobs)+len(n.placements) > 0 || n.rec.Epoch > 0:
		n.lease.On(lease.Granted, now, d.leases())
	}
	d.reblock(n)
	d.watch(now, n)
}

// restore makes an open job of its row. Its open attempt may have been started,
// unless this process knows better.
func (d *Dispatch) restore(now fleet.Time, o *OpenJob, old *job) {
	j := d.newJob(o.Spec)
	j.row = o.Row
	j.written = stored{state: o.Row.State, attempt: o.Row.Attempt}
	d.openJob(j)
	d.recallFailures(o, j)
	if j.row.State == fleet.JobQueued {
		d.restoreQueued(now, o, j, old)
		return
	}
	j.placed, j.stage = j.row.Decision, stageMaybe
	j.written.held = j.row.Node
	n := d.nodes[j.row.Node]
	if n == nil {
		d.resume.lost = append(d.resume.lost, j)
		return
	}
	d.index.Charge(&n.slot, &j.spec.Demands)
	d.hold(j, n)
	j.boot = n.rec.BootID
	if old != nil && old.row.Attempt == j.row.Attempt && old.row.Node == j.row.Node {
		j.remember(old)
	}
	switch {
	case n.lease.State == fleet.LeaseLeft:
		d.resume.lost = append(d.resume.lost, j)
	case j.row.State == fleet.JobCanceling:
		j.cancelSent = true // and is repeated
		if j.graceMs == 0 {
			j.graceMs = int64(d.cfg.DefaultGrace)
		}
		d.awaitCancel(now, j)
	case j.ending():
		d.awaitCancel(now, j)
	case j.stage == stageUnsent:
		j.ledger = ledger{waitsOffer, j.row.AssignedAt}
		d.resume.unsent = append(d.resume.unsent, j)
	case j.stage == stageSent:
		j.ledger = ledger{waitsOffer, j.row.AssignedAt}
		d.timers.add(timer{at: now + d.cfg.OfferTimeout, kind: offerDue, job: j.spec.ID, attempt: j.row.Attempt})
	}
}

// restoreQueued lets a job wait, or rest, as its row says.
func (d *Dispatch) restoreQueued(now fleet.Time, o *OpenJob, j, old *job) {
	switch known := old != nil && old.row.Attempt == j.row.Attempt; {
	case known:
		j.endCause, j.past = old.endCause, old.past
	case j.row.Outcome == fleet.AttemptOrphaned && j.row.Cause != fleet.CauseDrained:
		j.endCause = fleet.CauseNodeLost
	case j.row.Outcome != fleet.AttemptOpen && !paused(j.row.Cause) && j.row.Cause != fleet.CausePoolExhausted:
		j.endCause = j.row.Cause
	}
	j.ledger = o.ledgerOf(now, j)
	if paused(j.row.Cause) {
		if j.row.Cause != fleet.CauseHeld { // it may have ended before this process began
			j.row.NotBefore = max(1, j.row.NotBefore)
			if j.row.Cause == fleet.CauseBackoff { // stored as a wall time, and that clock may have been set back
				j.row.NotBefore = min(j.row.NotBefore, now+j.backoff())
			}
		}
		d.rest(now, j)
		return
	}
	d.enqueue(now, j, d.routeOf(j.spec), o.waitingSince(now, old))
	d.limitWait(now, j)
}

// recallFailures lets the job avoid again what it avoids for good.
func (d *Dispatch) recallFailures(o *OpenJob, j *job) {
	for _, id := range o.Failed {
		d.shun(j, d.nodes[id])
	}
	if j.row.State == fleet.JobQueued && j.row.Outcome == fleet.AttemptEnded && j.row.Cause != fleet.CauseDrained {
		d.shun(j, d.nodes[j.row.Node])
	}
}

// waitingSince is when a waiting job began to: as this process remembers, else by
// its row, where the decision to let it wait is at most newer.
func (o *OpenJob) waitingSince(now fleet.Time, old *job) fleet.Time {
	switch {
	case old != nil && old.cohort != nil:
		return old.waits.Since
	case o.Row.Attempt == 0: // after its pause, if it had to rest first
		return min(now, o.SubmittedAt+fleet.Time(o.Row.Waits.Backoff))
	case o.Row.Decision != nil && o.Row.Decision.Outcome == fleet.OutcomeWaiting:
		return min(now, o.Row.Decision.At)
	}
	return now
}

// remember keeps what this process did and saw of the same attempt.
func (j *job) remember(old *job) {
	if old.stage != stageNone {
		j.stage = old.stage
	}
	j.boot, j.percent, j.graceMs, j.past = old.boot, old.percent, old.graceMs, old.past
	j.draining, j.overrun, j.cancelSent = old.draining, old.overrun, old.cancelSent
	if j.row.StartedAt == 0 {
		j.row.StartedAt = old.row.StartedAt
	}
}

// goOn does what Load found to be due.
func (d *Dispatch) goOn(now fleet.Time, out *Effects) {
	r := d.resume
	d.resume = nil
	d.reviewAlarms(now, out)
	out.Sends = append(out.Sends, r.closed...)
	for _, n := range d.order {
		switch {
		case n.lease.State == fleet.LeaseLeft && !n.rec.Left: // its goodbye was not stored
			n.rec.Left = true
			d.reblock(n)
			d.look.hopes = true
			out.Sessions = append(out.Sessions, SessionWrite{Node: n.rec.ID, Epoch: n.epoch, Left: true})
		case !n.open:
		case n.pending == nil:
			d.turnSecret(now, n, out)
		case n.rec.Epoch >= n.epoch: // its commit was not known of
			d.opened(now, n, out)
		default:
			d.openIdentity(now, n, n.pending, out)
			out.Sessions = append(out.Sessions, SessionWrite{Node: n.rec.ID, Epoch: n.epoch, Report: n.pending.Report})
		}
	}
	for _, j := range r.lost {
		d.lose(now, j, out)
	}
	for _, p := range r.gone {
		d.endPlacement(now, p, placement.Gone, out)
	}
	for _, j := range r.unsent {
		if j.stage == stageUnsent {
			d.assignmentCommitted(now, j, out)
		}
	}
	for _, n := range d.order {
		n.writeInventory(out)
		d.passHolds(now, n, out)
		d.free(n)
	}
}
