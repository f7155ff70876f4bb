package core

import (
	"slices"

	"rockpool/backend/internal/core/alarm"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/schedule"
)

// quiet is how long an alarm of work that does not wait lasts without a refusal.
const quiet = fleet.Time(5 * 60_000)

// cohort is the work of one app and role that resolves to the same first pool:
// what of it waits, and the alarm when it finds no candidate.
type cohort struct {
	cohortKey
	line  alarm.Line
	gauge *gauge      // of the first pool
	alarm *alarm.Case // that it is exhausted; nil: none lasts

	parked  fleet.Time // when all of it was seen last to wait for its app's quota; 0: never, or long ago
	refused *refusal   // for want of a candidate, the newest
	at      int        // in Dispatch.cohorts, or -1
}

// refusal is why work that does not wait was not placed.
type refusal struct {
	key      routeKey
	owner    int64 // as the work knows
	decision *fleet.Decision
}

type cohortKey struct{ app, role, pool string }

func (k cohortKey) fingerprint() fleet.Fingerprint {
	return fleet.Fingerprint{Kind: fleet.AlarmPoolExhausted, Role: k.role, Pool: k.pool, App: k.app}
}

func (d *Dispatch) cohortOf(key cohortKey) *cohort {
	c := d.cohortsByKey[key]
	if c == nil {
		c = &cohort{cohortKey: key, gauge: d.gaugeOf(key.pool), at: -1}
		d.cohortsByKey[key] = c
	}
	return c
}

// cohortFor gives the work's; its route remembers it for the next.
func (d *Dispatch) cohortFor(spec *fleet.JobSpec, r *route) *cohort {
	return d.cohortOn(spec.App, spec.Role, r)
}

func (d *Dispatch) cohortOn(app, role string, r *route) *cohort {
	if c := r.cohort; c != nil && c.app == app && c.role == role {
		return c
	}
	key := cohortKey{app: app, role: role}
	if len(r.tries) > 0 {
		key.pool = r.tries[0]
	}
	r.cohort = d.cohortOf(key)
	return r.cohort
}

// follow keeps a cohort in sight, or out of it when nothing of it waits and no
// alarm lasts.
func (d *Dispatch) follow(c *cohort) {
	wanted := c.line.Len() > 0 || c.alarm != nil
	switch {
	case wanted && c.at < 0:
		c.at = len(d.cohorts)
		d.cohorts = append(d.cohorts, c)
	case !wanted && c.at >= 0:
		last := d.cohorts[len(d.cohorts)-1]
		d.cohorts[c.at], last.at = last, c.at
		d.cohorts[len(d.cohorts)-1] = nil
		d.cohorts = d.cohorts[:len(d.cohorts)-1]
		c.at, c.refused = -1, nil
	}
}

// enqueue lets the job wait where its route leads, since when it began to. One
// that waits already may be led elsewhere.
func (d *Dispatch) enqueue(now fleet.Time, j *job, r *route, since fleet.Time) {
	d.waits(now, j, waitsQueue)
	d.unreserve(j.reserve)
	c := d.cohortFor(j.spec, r)
	if j.cohort != c {
		d.dequeue(j)
		j.cohort, j.waits.Since = c, since
		c.line.Add(&j.waits)
		d.recount(c)
		d.follow(c)
	}
	d.queue.Add(now, &j.wait, r.tries, j.waits.Since, d.owes(j.spec))
}

// dequeue ends the job's waiting, if it waits, and its pause.
func (d *Dispatch) dequeue(j *job) {
	d.unpause(j)
	c := j.cohort
	if c == nil {
		return
	}
	d.unreserve(j.reserve)
	d.queue.Remove(&j.wait)
	c.line.Remove(&j.waits)
	j.cohort = nil
	d.recount(c)
	if c.line.Len() == 0 {
		d.emptied = append(d.emptied, c)
	}
}

// succeeded ends the job's waiting, and the alarm of a cohort of which nothing
// waits: the next success is what that one waits for.
func (d *Dispatch) succeeded(now fleet.Time, j *job, r *route, out *Effects) {
	if c := j.cohort; c != nil {
		d.waited.Add(now, now-j.waits.Since)
		d.dequeue(j)
		return
	}
	d.waited.Add(now, 0)
	if len(d.cohorts) > 0 {
		d.relieved(now, d.cohortFor(j.spec, r), out)
	}
}

// recount lets the next look write how much waits.
func (d *Dispatch) recount(c *cohort) {
	if c.alarm != nil {
		d.alarms.Touch(c.alarm)
	}
}

// exhausted counts that work of the cohort found no candidate n times more.
func (d *Dispatch) exhausted(now fleet.Time, c *cohort, n int64, out *Effects) {
	if c.alarm == nil {
		c.alarm = d.newAlarm(now, c.fingerprint(), n, out)
		d.follow(c)
		d.writeAlarm(now, c.alarm, out)
		return
	}
	d.alarms.Again(now, c.alarm, n)
}

// notPlaced counts work of the cohort that does not wait, and was not placed.
func (d *Dispatch) notPlaced(now fleet.Time, c *cohort, key routeKey, owner int64, dec *fleet.Decision, out *Effects) {
	c.refused = &refusal{key, owner, dec}
	d.exhausted(now, c, 1, out)
}

// noHope tells at once of a job that waits although no node of its pools could
// ever take it.
func (d *Dispatch) noHope(now fleet.Time, j *job, r *route, out *Effects) {
	if !j.waits.Seen && !r.could(j) {
		j.waits.Seen = true
		d.exhausted(now, j.cohort, 1, out)
	}
}

// could reports that some node of the route's pools might take the job one day.
func (r *route) could(j *job) bool {
	for _, p := range r.pools {
		if p.Could(&j.wait.Request) {
			return true
		}
	}
	return false
}

// allNoHope looks at what waits for nodes, after these have changed: at one job of
// those that are alike, however many there are. Of each cohort one is enough: its
// alarm names all. What leads to no pool is alike in that.
func (d *Dispatch) allNoHope(now fleet.Time, c *cohort, out *Effects) {
	if c.pool == "" {
		j := d.jobs[c.line.First().Job]
		d.noHope(now, j, d.routeOf(j.spec), out)
		return
	}
	d.queue.Heads(c.pool, c.app, c.role, func(w *schedule.Waiter) {
		if j := d.jobs[w.Job]; c.alarm == nil && j.cohort == c {
			d.noHope(now, j, d.routeOf(j.spec), out)
		}
	})
}

// relieved ends the alarm of a cohort of which nothing waits (any more).
func (d *Dispatch) relieved(now fleet.Time, c *cohort, out *Effects) {
	if c.line.Len() > 0 {
		return
	}
	if c.alarm != nil {
		d.endAlarm(now, c.alarm, out)
		c.alarm = nil
	}
	d.follow(c)
}

// settleCohorts ends an event for those of which nothing waits any more.
func (d *Dispatch) settleCohorts(now fleet.Time, out *Effects) {
	for _, c := range d.emptied {
		d.relieved(now, c, out)
	}
	clear(d.emptied)
	d.emptied = d.emptied[:0]
}

// lookAtCohorts finds what has waited too long, and sums up what waits by pool.
func (d *Dispatch) lookAtCohorts(now fleet.Time, out *Effects) {
	for _, g := range d.gauges {
		g.before, g.waiting, g.late, g.lately = g.late, 0, 0, 0
	}
	for i := len(d.cohorts) - 1; i >= 0; i-- { // in place of one that goes out of sight comes the last
		c := d.cohorts[i]
		forNodes := c.line.Len() - d.queue.ParkedOf(c.pool, c.app, c.role)
		if forNodes > 0 {
			d.lookAtCohort(now, c, forNodes, out)
		} else if c.line.Len() > 0 {
			d.lookAtParked(now, c, out)
		}
		if c.line.Len() == 0 && now-c.alarm.LastSeen() >= quiet {
			d.relieved(now, c, out)
		}
	}
	d.look.hopes = false
	for _, g := range d.gauges {
		if g.late != g.before {
			d.rev++
		}
	}
}

// lookAtCohort looks at a cohort of which so much waits for nodes.
func (d *Dispatch) lookAtCohort(now fleet.Time, c *cohort, forNodes int64, out *Effects) {
	g, limit := c.gauge, fleet.Time(c.gauge.limits.QueueWaitMs)
	if d.look.hopes {
		d.allNoHope(now, c, out)
	}
	g.waiting += forNodes
	if c.parked > 0 && now-c.parked <= limit {
		return
	}
	c.parked = 0
	late, unseen := c.line.Pass(now, limit)
	if unseen > 0 {
		d.exhausted(now, c, unseen, out)
	}
	g.late += min(c.line.Late(), forNodes)
	g.lately += late
}

// lookAtParked ends the alarm of a cohort that waits for nothing but its app's
// quota: no node is missing. How long it waits for one is counted from here on.
func (d *Dispatch) lookAtParked(now fleet.Time, c *cohort, out *Effects) {
	c.parked = now
	if c.alarm != nil {
		d.endAlarm(now, c.alarm, out)
		c.alarm = nil
		c.line.Unsee()
	}
}

// describe brings the alarm's words and its list of work up to now.
func (c *cohort) describe(d *Dispatch, now fleet.Time, a *fleet.Alarm) {
	a.WaitingNow, a.Waiting = c.line.Len(), nil
	for w := c.line.First(); w != nil && len(a.Waiting) < fleet.MaxAlarmWaiting; w = w.Next() {
		a.Waiting = append(a.Waiting, w.Job)
	}
	why := c.refused
	if len(a.Waiting) > 0 {
		j := d.jobs[a.Waiting[0]]
		why = &refusal{keyOf(j.spec), j.spec.Owner, j.row.Decision}
		if j.wait.Waiting() {
			d.decide(now, d.routeOf(j.spec), &j.wait.Request, j.avoid)
			why.decision = &d.scratch
		}
	}
	if why == nil {
		return // read back, and nothing was refused since
	}
	a.Detail = why.decision.Refusal()
	if n := d.elsewhere(d.appNamed(c.app, why.owner).Owner, c.role, d.routeBy(why.key)); n > 0 {
		a.Detail += "; in other pools: " + fleet.Count(n, "usable node") + " of its owner"
	}
}

// elsewhere counts the owner's nodes of the role that may get new work in pools
// which the route does not lead to: often the cause.
func (d *Dispatch) elsewhere(owner int64, role string, r *route) (nodes int64) {
	if d.owners[owner] == 0 {
		return 0
	}
	for _, n := range d.order {
		if n.owner == owner && n.rec.Role == role && n.slot.Eligible() && !slices.Contains(r.tries, n.rec.Pool) {
			nodes++
		}
	}
	return nodes
}

// recallCohort gives the cohort its alarm back after a Load. What the alarm has counted
// of the work that waits is not counted again.
func (d *Dispatch) recallCohort(now fleet.Time, a *alarm.Case) {
	c := d.cohortOf(cohortKey{app: a.App, role: a.Role, pool: a.Pool})
	c.alarm = a
	d.follow(c)
	c.line.Pass(now, fleet.Time(c.gauge.limits.QueueWaitMs))
	for w := c.line.First(); w != nil; w = w.Next() {
		j := d.jobs[w.Job]
		w.Seen = w.Seen || !d.routeOf(j.spec).could(j)
	}
}
