package sim

import (
	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

// order is what a client asks for under one idempotency key, until it is answered:
// each time under a new id.
type order struct {
	spec   fleet.JobSpec // of its first job, which has the id
	length Time
	fails  bool
	asked  Time
	taken  bool // the store has a job of this key
	known  bool // the client was told so
	cancel Time // asks for its end so long after; 0: never
}

// beginDemand plans a demand's first job.
func (w *World) beginDemand(i int) {
	w.agenda.Add(Time(w.sc.Demand[i].From), event{kind: evDemand, node: -1, n: int64(i)})
}

// demand submits what is due of a demand and plans the next.
func (w *World) demand(n int) {
	i, at := n&0xffff, n>>16
	d := &w.sc.Demand[i]
	until := Time(d.Until)
	if until == 0 {
		until = Time(w.sc.Duration)
	}
	next := Never
	switch {
	case len(d.Trace) > 0:
		w.order(d, &d.Trace[at])
		if at+1 < len(d.Trace) {
			next = Time(d.From) + Time(float64(d.Trace[at+1].At)/d.Speed)
		}
	case d.Rate > 0:
		if at > 0 {
			w.order(d, nil)
		}
		next = w.now + w.chance.demand.exponential(1000/d.Rate)
	case d.Every > 0:
		w.order(d, nil)
		if d.Count == 0 || at+1 < d.Count {
			next = w.now + Time(d.Every)
		}
	default:
		for range d.Count {
			w.order(d, nil)
		}
	}
	if next < until {
		w.agenda.Add(next, event{kind: evDemand, node: -1, n: int64((at+1)<<16 | i)})
	}
}

// order makes one piece of work and submits it.
func (w *World) order(d *Demand, t *Task) {
	s := &w.chance.demand
	o := w.room.orders.take()
	o.asked, o.length = w.now, max(1, Time(d.Run))
	o.length = s.between(o.length/2, o.length)
	o.fails = s.chance(d.Fails)
	if s.chance(d.Cancel) {
		o.cancel = s.between(1, 2*o.length)
	}
	o.spec = d.spec()
	if len(d.Apps) > 0 {
		o.spec.App = d.Apps[s.rand().IntN(len(d.Apps))]
	}
	if app := w.store.app(o.spec.App); app != nil {
		o.spec.Owner = app.Owner
	}
	if t != nil {
		o.spec.Demands, o.length = t.Demands, max(1, Time(float64(t.Run)/d.Speed))
	}
	w.orders = append(w.orders, o)
	w.submit(len(w.orders) - 1)
}

// spec is the demand's job; what it does not say is the server's default.
func (d *Demand) spec() fleet.JobSpec {
	spec := fleet.JobSpec{
		App: d.App, Role: d.Role, Runner: d.Runner, Demands: fleet.Vector{Slots: max(1, d.Slots)},
		Priority: fleet.DefaultPriority, MaxAttempts: fleet.DefaultMaxAttempts,
		OnNodeLost: fleet.OnLostRequeue, WhenExhausted: fleet.WhenExhaustedWait, Pool: d.Pool,
	}
	if d.Memory > 0 {
		spec.Demands.Memory = []fleet.Quantity{{Name: "ram", Amount: d.Memory}}
	}
	if d.Priority > 0 {
		spec.Priority = d.Priority
	}
	if d.Attempts > 0 {
		spec.MaxAttempts = d.Attempts
	}
	if d.OnLost != "" {
		spec.OnNodeLost = fleet.NodeLostPolicy(d.OnLost)
	}
	if d.OnFull != "" {
		spec.WhenExhausted = fleet.ExhaustedPolicy(d.OnFull)
	}
	return spec
}

// askAgain is how long a client waits before it asks again without an answer.
const askAgain = second

// submit asks for an order's job. A key that the store has is answered from there.
func (w *World) submit(n int) {
	o := w.orders[n]
	switch s := &w.srv; {
	case o.taken:
		o.known = true
	case !s.up || s.doubt || s.paused:
		w.counts.unanswered++
		w.agenda.Add(w.now+askAgain, event{kind: evSubmit, node: -1, n: int64(n)})
	default:
		j := w.room.jobs.take()
		j.number, j.order, j.asked, j.length, j.fails = len(w.jobs), n, o.asked, o.length, o.fails
		j.attempts, j.begun = j.firstAttempt[:0], j.firstBegun[:0]
		j.spec = &o.spec
		if !o.spec.ID.IsZero() {
			again := o.spec
			j.spec = &again
		}
		j.spec.ID = newID(w.now, j.number)
		w.jobs = append(w.jobs, j)
		w.judgeBefore(j)
		s.core.Submit(s.clock(), core.JobInsert{Spec: j.spec, IdempotencyKey: "sim"}, s.pending)
		w.judgeAfter(j)
		if o.cancel > 0 {
			w.after(o.cancel, evTold, func() { w.cancel(j) })
			o.cancel = 0
		}
		s.settle()
	}
}

// cancel asks for a job's end.
func (w *World) cancel(j *job) {
	s := &w.srv
	if !s.up || s.doubt || s.paused {
		return
	}
	s.core.Cancel(s.clock(), j.spec.ID, "u:1", 2000, s.pending)
	w.counts.cancels++
	s.settle()
}

// acknowledge answers the clients whose jobs a committed batch has.
func (w *World) acknowledge(b *core.Effects, refused []core.Refusal) {
	for i := range b.Inserts {
		j := w.store.job(b.Inserts[i].Spec.ID)
		o := w.orders[j.order]
		if !j.stored && !refusedAs(refused, j, core.RefusedIdempotency) {
			continue // the core inserts it anew, with another node
		}
		o.known = true
	}
}

func refusedAs(refused []core.Refusal, j *job, why core.RefusedWhy) bool {
	for i := range refused {
		if refused[i].Job == j.spec.ID && refused[i].Why == why {
			return true
		}
	}
	return false
}

// resubmitAll lets the clients of a batch that came to nothing, as far as anybody
// knows, ask again.
func (w *World) resubmitAll(b *core.Effects) {
	for i := range b.Placements {
		if p := &b.Placements[i]; p.New {
			w.askLater(w.store.grant(p.Spec.ID).ask)
		}
	}
	for i := range b.Inserts {
		n := w.store.job(b.Inserts[i].Spec.ID).order
		w.counts.unanswered++
		w.agenda.Add(w.now+askAgain, event{kind: evSubmit, node: -1, n: int64(n)})
	}
}

// ended notes a job's end.
func (w *World) ended(j *job) { j.endedAt = w.now }
