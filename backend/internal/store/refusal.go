package store

import (
	"context"
	"slices"

	"rockpool/backend/internal/core"
	"rockpool/shared/ids"
)

// leftOut is what a commit does without.
type leftOut struct {
	jobs  map[ids.JobID]bool // and placements
	nodes map[string]bool    // their sessions
	list  []core.Refusal     // the same, in order, with reasons
}

func (o *leftOut) job(id ids.JobID) bool { return len(o.jobs) > 0 && o.jobs[id] }

func (o *leftOut) session(node string) bool { return len(o.nodes) > 0 && o.nodes[node] }

func (o *leftOut) add(refused ...core.Refusal) {
	if o.jobs == nil {
		o.jobs, o.nodes = map[ids.JobID]bool{}, map[string]bool{}
	}
	for _, r := range refused {
		switch {
		case r.Node != "" && !o.nodes[r.Node]:
			o.nodes[r.Node] = true
		case r.Node == "" && !o.jobs[r.Job]:
			o.jobs[r.Job] = true
		default:
			continue
		}
		o.list = append(o.list, r)
	}
}

// but is the same with further units left out.
func (o *leftOut) but(units []core.Refusal) *leftOut {
	more := &leftOut{}
	more.add(o.list...)
	more.add(units...)
	return more
}

// units lists what can be left out of e one by one: its jobs, placements and sessions.
func units(e *core.Effects, out *leftOut) []core.Refusal {
	var list []core.Refusal
	seen := &leftOut{}
	add := func(u core.Refusal) {
		if before := len(seen.list); !out.job(u.Job) && !out.session(u.Node) {
			if seen.add(u); len(seen.list) > before {
				list = append(list, u)
			}
		}
	}
	job := func(id ids.JobID) { add(core.Refusal{Job: id, Why: core.RefusedData}) }
	for i := range e.Inserts {
		job(e.Inserts[i].Spec.ID)
	}
	for i := range e.Updates {
		job(e.Updates[i].Job)
	}
	for i := range e.Attempts {
		job(e.Attempts[i].Job)
	}
	for i := range e.Reservations {
		job(e.Reservations[i].Job)
	}
	for i := range e.Fallbacks {
		job(e.Fallbacks[i].Job)
	}
	for i := range e.Placements {
		job(e.Placements[i].Spec.ID)
	}
	for i := range e.Sessions {
		add(core.Refusal{Node: e.Sessions[i].Node, Why: core.RefusedData})
	}
	return list
}

// leaveOutBad finds by halving which jobs, placements or sessions hold what can't be stored,
// and leaves them out. cause is returned when there is no such one.
func (w *Writer) leaveOutBad(ctx context.Context, e *core.Effects, out *leftOut, cause error) error {
	all := units(e, out)
	bad, err := w.findBad(ctx, e, out, all, all)
	if err != nil {
		return problem("find what can't be stored", err)
	}
	if len(bad) == 0 {
		return problem("write a batch", cause)
	}
	w.db.log.Warn("jobs, placements or sessions that can't be stored are left out", "count", len(bad), "first", bad[0].Job.String(),
		"sqlstate", sqlState(cause))
	out.add(bad...)
	return nil
}

// findBad returns those of some that can't be stored; all are the units of e.
func (w *Writer) findBad(ctx context.Context, e *core.Effects, out *leftOut, all, some []core.Refusal) ([]core.Refusal, error) {
	rest := slices.DeleteFunc(slices.Clone(all), func(u core.Refusal) bool { return slices.Contains(some, u) })
	_, err := w.try(ctx, e, out.but(rest), false)
	if !isDataError(err) {
		return nil, err
	}
	if len(some) <= 1 {
		return some, nil
	}
	half := len(some) / 2
	first, err := w.findBad(ctx, e, out, all, some[:half])
	if err != nil {
		return nil, err
	}
	second, err := w.findBad(ctx, e, out, all, some[half:])
	return append(slices.Clone(first), second...), err
}
