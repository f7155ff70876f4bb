package core

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
)

// checkAlarms holds after every event: what waits stands in the line of its
// fingerprint, and every alarm that must last does, and no other.
func (w *world) checkAlarms() {
	waiting := map[fleet.Fingerprint]int64{}
	queued := map[string]int64{}
	for _, spec := range w.jobs {
		j := w.d.jobs[spec.ID]
		if j == nil || !j.wait.Waiting() {
			continue
		}
		f := w.fingerprint(spec)
		waiting[f]++
		queued[f.Pool]++
		w.checkAlarmOf(j, f)
	}
	var sum int64
	for _, c := range w.d.cohorts {
		if c.line.Len() != waiting[c.fingerprint()] || c.line.Len() == 0 && !c.alarm.Lasts() {
			w.fail("%+v has %d in line, %d wait", c.cohortKey, c.line.Len(), waiting[c.fingerprint()])
		}
		sum += c.line.Len()
	}
	if sum != int64(w.d.queue.Len()) || len(w.d.emptied) > 0 {
		w.fail("%d in line, %d wait", sum, w.d.queue.Len())
	}
	if w.checks++; w.checks%16 == 0 {
		w.checkPoolViews(queued)
	}
	for _, a := range w.d.Alarms() {
		w.checkLasting(&a, waiting)
	}
}

// fingerprint tells the alarm of a job's exhaustion, by the text of the rules.
func (w *world) fingerprint(spec *fleet.JobSpec) fleet.Fingerprint {
	f := fleet.Fingerprint{Kind: fleet.AlarmPoolExhausted, Role: spec.Role, App: spec.App}
	if pools := w.allowed(spec); len(pools) > 0 {
		f.Pool = pools[0]
	}
	return f
}

// checkAlarmOf wants an alarm of a job that has waited too long, or that nobody
// could ever take. One look a second finds them.
func (w *world) checkAlarmOf(j *job, f fleet.Fingerprint) {
	limit := fleet.DefaultThresholds().QueueWaitMs
	if p := w.d.pools[f.Pool]; p != nil {
		limit = p.Thresholds.QueueWaitMs
	}
	if j.wait.Parked() {
		return // for its app's quota
	}
	tooLong := w.now-max(j.waits.Since, j.cohort.parked) > fleet.Time(limit)+lookPause && !w.d.look.hopes
	noHope := !w.d.look.hopes && !w.couldEver(j.spec)
	if c := w.d.alarms.Find(f); (tooLong || noHope) && c == nil {
		w.fail("%s has waited since %d (too long: %v, no hope: %v) without an alarm", j.spec.ID, j.waits.Since, tooLong, noHope)
	}
}

// couldEver asks whether any node of the pools has what the work asks for.
func (w *world) couldEver(spec *fleet.JobSpec) bool {
	for _, pool := range w.allowed(spec) {
		p := w.d.pools[pool]
		if p != nil && p.State == fleet.PoolIsClosed {
			continue
		}
		for _, n := range w.d.order {
			if n.rec.Pool == pool && !n.rec.Left && n.rec.Role == spec.Role && slices.Contains(n.rec.Runners, spec.Runner) &&
				n.rec.Capacity.Slots >= spec.Demands.Slots {
				return true
			}
		}
	}
	return false
}

func (w *world) checkPoolViews(queued map[string]int64) {
	for _, p := range w.d.poolViews() {
		if p.Queued != queued[p.Pool.ID] || (p.OldestWait == 0) != (p.Queued == 0) || p.Overdue > p.Queued {
			w.fail("%d wait for %s, and it shows %+v", queued[p.Pool.ID], p.Pool.ID, p)
		}
	}
}

// checkLasting wants the cause of an alarm that lasts.
func (w *world) checkLasting(a *fleet.Alarm, waiting map[fleet.Fingerprint]int64) {
	switch a.Kind {
	case fleet.AlarmPoolExhausted:
		if c := w.d.alarms.Find(a.Fingerprint); waiting[a.Fingerprint] == 0 && w.now-c.LastSeen() > quiet+lookPause && w.d.resume == nil {
			w.fail("nothing of %+v waits, and it lasts", a)
		}
	case fleet.AlarmNodeDeaf:
		if n := w.d.nodes[a.Node]; w.d.resume == nil && (n == nil || !n.deaf()) {
			w.fail("%+v lasts, and its node hears", a)
		}
	case fleet.AlarmNodeLost:
		if n := w.d.nodes[a.Node]; n == nil || n.lease.State == fleet.LeaseReady || n.lease.State == fleet.LeaseLeft {
			w.fail("%+v lasts, and its node is there or gone for good", a)
		}
	}
	if a.WaitingNow < int64(len(a.Waiting)) || a.Detail == "" || a.Count < 1 {
		w.fail("an alarm that may not be: %+v", a)
	}
}

// restAlarms wants that all alarms about work end when nothing waits any more.
func (w *world) restAlarms() {
	for end := w.now + quiet + 10*lookPause; w.d.Next() <= end; {
		w.now = max(w.now, w.d.Next())
		w.d.Tick(w.now, w.pending)
	}
	w.commit()
	for _, a := range w.d.Alarms() {
		if slices.Contains([]fleet.AlarmKind{fleet.AlarmPoolExhausted, fleet.AlarmQueueWait, fleet.AlarmFreeSlots}, a.Kind) {
			w.fail("nothing waits, and this lasts: %+v", a)
		}
	}
	if w.d.look.pools || len(w.d.cohorts) > 0 {
		w.fail("nothing waits, and somebody goes on looking: %+v, %d", w.d.look, len(w.d.cohorts))
	}
}

// people acknowledge and silence an alarm that lasts.
func (w *world) people() {
	lasting := w.d.Alarms()
	if len(lasting) == 0 {
		return
	}
	a := lasting[w.pick("alarm", len(lasting))]
	known := w.d.AckAlarm(w.now, a.ID, Actor{Subject: "u:1"}, "ann", w.pending)
	until := w.now + []fleet.Time{-1, 5000, 500_000}[w.pick("until", 3)]
	known = w.d.SilenceAlarm(w.now, a.ID, until, Actor{Subject: "u:2"}, "bob", "", w.pending) && known
	if now := w.d.alarms.Find(a.Fingerprint); !known || now.AckedAt == 0 || now.SilencedUntil != max(0, until) && until > w.now {
		w.fail("%+v was acknowledged and silenced, and is %+v", a, now)
	}
	w.after()
}
