package core

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/pool"
	"rockpool/backend/internal/core/schedule"
)

// routeKey tells apart the work that resolves alike. The owner counts only for
// an app that nobody told of, and of a canary job nothing but the pool it names.
type routeKey struct {
	app    string
	owner  int64
	role   string
	canary string
}

func keyOf(spec *fleet.JobSpec) routeKey {
	if spec.Pool != "" {
		return routeKey{canary: spec.Pool}
	}
	return routeKey{app: spec.App, owner: spec.Owner, role: spec.Role}
}

// route is a resolution that is kept until something of it changes.
type route struct {
	chain pool.Chain
	tries []string
	pools []*schedule.Pool // of tries

	cohort *cohort // of the work that came last; nil: none did yet
}

// appOf gives the work's app; of one that nobody told of, what the job knows.
func (d *Dispatch) appOf(spec *fleet.JobSpec) fleet.App { return d.appNamed(spec.App, spec.Owner) }

func (d *Dispatch) appNamed(id string, owner int64) fleet.App {
	if a := d.apps[id]; a != nil {
		return *a
	}
	return fleet.App{ID: id, Owner: owner}
}

// chainIf resolves the work if users had so many nodes of their own.
func (d *Dispatch) chainIf(key routeKey, owners map[int64]int32) pool.Chain {
	if key.canary != "" {
		return pool.Canary(key.canary)
	}
	app := d.appNamed(key.app, key.owner)
	return pool.Resolve(&app, key.role, owners[app.Owner] > 0)
}

// routeOf gives a job's route.
func (d *Dispatch) routeOf(spec *fleet.JobSpec) *route { return d.routeBy(keyOf(spec)) }

// routeBy gives the work's route and keeps it for the next that resolves alike.
func (d *Dispatch) routeBy(key routeKey) *route {
	r := d.routes[key]
	if r == nil {
		r = newRoute(d.chainIf(key, d.owners), d.index.Pool)
		d.routes[key] = r
	}
	return r
}

// quietRoute is routeBy for whoever only looks: it keeps nothing.
func (d *Dispatch) quietRoute(key routeKey) *route {
	if r := d.routes[key]; r != nil {
		return r
	}
	return newRoute(d.chainIf(key, d.owners), d.index.Look)
}

func newRoute(chain pool.Chain, find func(id string) *schedule.Pool) *route {
	r := &route{chain: chain, tries: chain.Tries()}
	for _, id := range r.tries {
		r.pools = append(r.pools, find(id))
	}
	return r
}

// decide finds the node for a request; nil: there is none.
func (d *Dispatch) decide(now fleet.Time, r *route, request *schedule.Request, avoid []schedule.Exclusion) *node {
	if nodes := d.decideAll(now, r, request, 1, avoid); len(nodes) > 0 {
		return nodes[0]
	}
	return nil
}

// decideAll finds so many distinct nodes for a request, best first, in the first
// pool of the route that has as many: pools are never mixed. It leaves the reasons
// in the scratch decision, which the next call overwrites, as it does what is
// returned. It changes nothing else: previews and placing call the same function.
func (d *Dispatch) decideAll(now fleet.Time, r *route, request *schedule.Request, count int32, avoid []schedule.Exclusion) []*node {
	dec := &d.scratch
	*dec = fleet.Decision{
		Outcome: fleet.OutcomeWaiting, At: now, Rule: r.chain.Rule, Pools: dec.Pools[:0],
		FallbackOK: r.chain.Fallback, Epoch: d.shard,
	}
	for i, p := range r.pools {
		dec.Pools = append(dec.Pools, fleet.Tally{})
		pick := p.Find(request, avoid, &dec.Pools[i])
		if pick.Node == nil || !d.pickAll(p, request, count, avoid, pick.Node) {
			continue
		}
		dec.Outcome, dec.Node, dec.TieBreak = fleet.OutcomePlaced, pick.Node.ID, pick.Tie
		dec.RemainingSlots = pick.Node.FreeSlots() - request.Demand.Slots
		dec.Fallback = r.chain.IsFallback(i)
		return d.picked
	}
	return nil
}

// pickAll completes the pool's best node to as many as are asked for; false: the
// pool does not have them.
func (d *Dispatch) pickAll(p *schedule.Pool, request *schedule.Request, count int32, avoid []schedule.Exclusion, best *schedule.Node) bool {
	d.picked = append(d.picked[:0], d.nodes[best.ID])
	if count <= 1 {
		return true
	}
	taken := append(slices.Clone(avoid), schedule.Exclusion{Node: best})
	for int32(len(d.picked)) < count {
		var rest fleet.Tally
		next := p.Find(request, taken, &rest).Node
		if next == nil {
			return false
		}
		d.picked = append(d.picked, d.nodes[next.ID])
		taken = append(taken, schedule.Exclusion{Node: next})
	}
	return true
}

// kept copies the scratch decision.
func (d *Dispatch) kept() *fleet.Decision {
	dec := d.scratch
	dec.Pools = slices.Clone(dec.Pools)
	return &dec
}

// placeOrQueue gives the job its next attempt, or lets it wait or fail.
func (d *Dispatch) placeOrQueue(now fleet.Time, j *job, out *Effects) {
	r, over := d.routeOf(j.spec), d.overQuota(j.spec)
	n := d.decide(now, r, &j.wait.Request, j.avoid)
	waits := j.spec.WhenExhausted != fleet.WhenExhaustedFail
	if n != nil && !over && !(waits && d.contested(r)) {
		d.assign(now, j, r, n, out)
		return
	}
	d.unchoose()
	j.row.Decision = d.kept()
	if !waits {
		d.failExhausted(now, j, r, over, out)
		return
	}
	d.wait(now, j, r, over, out)
	d.bank(now, j)
	d.limitWait(now, j)
	d.write(j, out)
	if !over {
		d.noHope(now, j, r, out)
	}
}

// wait puts the job into the queue.
func (d *Dispatch) wait(now fleet.Time, j *job, r *route, over bool, out *Effects) {
	j.row.State = fleet.JobQueued
	if j.row.Cause == fleet.CauseNone {
		j.row.Cause = waitCauseOf(over)
	}
	d.enqueue(now, j, r, now)
	if over {
		d.queue.Park(now, &j.wait)
	}
	for _, id := range r.tries {
		if !over && d.contested(r) {
			d.wakePool(id)
		}
	}
}

func waitCauseOf(overQuota bool) fleet.Cause {
	if overQuota {
		return fleet.CauseQuota
	}
	return fleet.CausePoolExhausted
}

// contested reports that an event under way has made room for which others wait
// too: who gets it is the queue's matter.
func (d *Dispatch) contested(r *route) bool {
	if len(d.freed)+len(d.woken)+len(d.eased) == 0 {
		return false
	}
	return slices.ContainsFunc(r.tries, d.queue.Busy)
}

// unchoose makes the scratch decision that of work which waits, also when a node
// could take it.
func (d *Dispatch) unchoose() {
	dec := &d.scratch
	dec.Outcome, dec.Node, dec.TieBreak, dec.RemainingSlots, dec.Fallback = fleet.OutcomeWaiting, "", false, 0, false
}

// placeable reports that a node could take new work now.
func (d *Dispatch) placeable(now fleet.Time, spec *fleet.JobSpec, r *route) bool {
	request := schedule.RequestOf(spec)
	return d.decide(now, r, &request, nil) != nil
}

// failExhausted ends a job that does not want to wait, with the alarm when it is
// for nodes; not for its app's quota.
func (d *Dispatch) failExhausted(now fleet.Time, j *job, r *route, over bool, out *Effects) {
	j.row.Decision.Outcome = fleet.OutcomeFailed
	d.finish(now, j, fleet.JobFailed, waitCauseOf(over), "", nil, out)
	if !over {
		d.notPlaced(now, d.cohortFor(j.spec, r), keyOf(j.spec), j.spec.Owner, j.row.Decision, out)
	}
}

// assign reserves the node that the scratch decision chose and makes it the
// job's next attempt. The offer goes out when this is committed.
func (d *Dispatch) assign(now fleet.Time, j *job, r *route, n *node, out *Effects) {
	d.waits(now, j, waitsOffer)
	d.supersede(j, out)
	d.index.Reserve(&n.slot, &j.spec.Demands)
	d.served(now, j, n)
	d.succeeded(now, j, r, out)
	d.hold(j, n)
	j.placed = d.kept()
	n.past.chosen.add(j.choice(now), maxChosen)
	row := &j.row
	row.State, row.Cause, row.Detail = fleet.JobOffered, fleet.CauseNone, ""
	row.Attempt++
	row.Outcome, row.AssignedAt, row.StartedAt = fleet.AttemptOpen, now, 0
	row.Node, row.Pool, row.Fallback, row.Decision = n.rec.ID, n.rec.Pool, j.placed.Fallback, j.placed
	j.stage, j.boot, j.percent, j.missed, j.ended = stageUnsent, n.rec.BootID, 0, 0, 0
	e := d.open(j, out)
	e.fresh, e.adopt = true, false
	d.write(j, out)
	if row.Fallback {
		out.Fallbacks = append(out.Fallbacks, FallbackRecord{
			Job: j.spec.ID, Attempt: row.Attempt, App: j.spec.App, Role: j.spec.Role,
			From: r.chain.Pools, Node: row.Node, At: now,
		})
	}
}

// served lets the job's app pay for the place, if others wanted it too, and notes
// where small work may keep large work waiting.
func (d *Dispatch) served(now fleet.Time, j *job, n *node) {
	pool := n.rec.Pool
	if j.wait.Waiting() {
		d.queue.PassedOver(now, pool, &n.slot, &j.wait)
		d.queue.Served(now, &j.wait, pool, d.weightOf(j.spec))
	}
	d.crowd(pool, &j.spec.Demands)
}

// supersede keeps the attempt that the next one fences off.
func (d *Dispatch) supersede(j *job, out *Effects) {
	if j.row.Node == "" {
		return
	}
	j.past = append(j.past, pastAttempt{j.row.Attempt, j.row.Node})
	out.Attempts = append(out.Attempts, AttemptRow{
		Job: j.spec.ID, Attempt: j.row.Attempt, Node: j.row.Node, Pool: j.row.Pool, Fallback: j.row.Fallback,
		Outcome: j.row.Outcome, Cause: j.endCause, Decision: j.placed,
		AssignedAt: j.row.AssignedAt, StartedAt: j.row.StartedAt, EndedAt: j.ended,
	})
}

// readopt gives a waiting job back to the node that still has its newest
// attempt; false: the node has no room for it any more.
func (d *Dispatch) readopt(now fleet.Time, j *job, n *node, out *Effects) bool {
	if !d.index.Reserve(&n.slot, &j.spec.Demands) {
		return false
	}
	d.waits(now, j, waitsNot)
	d.dequeue(j)
	d.hold(j, n)
	row := &j.row
	row.State, row.Outcome, row.Cause = fleet.JobOffered, fleet.AttemptOpen, fleet.CauseNone
	row.Counted--
	if j.placed != nil {
		row.Decision = j.placed
	}
	j.stage, j.boot, j.missed, j.ended = stageStarted, n.rec.BootID, 0, 0
	e := d.open(j, out)
	e.fresh, e.adopt = true, true
	d.write(j, out)
	return true
}

// retry tries once more to place a job that waits. Its decision is written
// again only when other reasons than before keep it waiting.
func (d *Dispatch) retry(now fleet.Time, j *job, out *Effects) bool {
	r, over := d.routeOf(j.spec), d.overQuota(j.spec)
	if n := d.decide(now, r, &j.wait.Request, j.avoid); n != nil && !over {
		d.assign(now, j, r, n, out)
		return true
	}
	d.unchoose()
	if over {
		d.queue.Park(now, &j.wait)
	}
	cause := j.waitCause(over)
	if cause != j.row.Cause || !sameReasons(j.row.Decision, &d.scratch) {
		j.row.Cause, j.row.Decision = cause, d.kept()
		d.bank(now, j)
		d.write(j, out)
	}
	return false
}

// waitCause is why the job waits, as it is now: what ended its last attempt stays.
func (j *job) waitCause(overQuota bool) fleet.Cause {
	if c := j.row.Cause; c != fleet.CauseQuota && c != fleet.CausePoolExhausted {
		return c
	}
	return waitCauseOf(overQuota)
}

// sameReasons compares which pools were tried and which reasons they have,
// whatever their counts.
func sameReasons(a, b *fleet.Decision) bool {
	if a == nil || a.Rule != b.Rule || a.FallbackOK != b.FallbackOK || len(a.Pools) != len(b.Pools) {
		return false
	}
	for i := range a.Pools {
		if a.Pools[i].Pool != b.Pools[i].Pool {
			return false
		}
		for r := range a.Pools[i].Rejected {
			if (a.Pools[i].Rejected[r] == 0) != (b.Pools[i].Rejected[r] == 0) {
				return false
			}
		}
	}
	return true
}

// reroute resolves the waiting work that matches anew.
func (d *Dispatch) reroute(now fleet.Time, match func(*fleet.JobSpec) bool) {
	clear(d.routes)
	var moved []*job
	for _, w := range d.queue.All() {
		if j := d.jobs[w.Job]; match(j.spec) {
			moved = append(moved, j)
		}
	}
	d.look.hopes = true
	slices.SortFunc(moved, byWait) // each joins its line at the end
	for _, j := range moved {
		r := d.routeOf(j.spec)
		d.enqueue(now, j, r, j.waits.Since)
		for _, id := range r.tries {
			d.wakePool(id)
		}
	}
}

// free remembers a node that may have room for waiting work.
func (d *Dispatch) free(n *node) {
	if !n.freed && d.queue.Len() > 0 {
		n.freed = true
		d.freed = append(d.freed, n)
	}
}

// wakePool remembers a pool whose waiting work may have room somewhere.
func (d *Dispatch) wakePool(id string) {
	if d.queue.Len() > 0 && !slices.Contains(d.woken, id) {
		d.woken = append(d.woken, id)
	}
}

// settle ends an event: waiting work gets what the event made free.
func (d *Dispatch) settle(now fleet.Time, out *Effects) {
	for len(d.freed)+len(d.woken)+len(d.eased) > 0 {
		d.unpark(now)
		for i := 0; i < len(d.freed); i++ {
			n := d.freed[i]
			n.freed = false
			if n.slot.Eligible() && d.redeem(now, n, out) {
				d.serve(now, n.rec.Pool, &n.slot, out)
			}
		}
		d.freed = d.freed[:0]
		for i := 0; i < len(d.woken); i++ {
			d.serve(now, d.woken[i], nil, out)
		}
		d.woken = d.woken[:0]
	}
	d.reserveStuck(now)
	d.settleCohorts(now, out)
	d.awaitLook(now)
}

// serve places what waits for the pool, in its order. With a node it looks only
// at work that this node could take, since nothing else changed.
func (d *Dispatch) serve(now fleet.Time, pool string, n *schedule.Node, out *Effects) {
	round := d.queue.Round(pool)
	for w := round.Next(n); w != nil; w = round.Next(n) {
		j := d.jobs[w.Job]
		switch {
		case d.retry(now, j, out):
		case d.overQuota(j.spec): // parked
		case len(j.avoid) > 0:
			round.SetAside(w)
		default:
			round.Pass(w)
		}
	}
	round.End()
}
