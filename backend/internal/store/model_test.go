package store_test

import (
	"maps"
	"slices"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// model is what the database must hold, in a few lines of Go: it takes a batch
// job by job, without sets, arrays or SQL.
type model struct {
	nodes  map[string]*modelNode
	jobs   map[ids.JobID]*modelJob
	keys   map[string]bool
	alarms map[int64]fleet.Alarm

	placements map[ids.JobID]core.OpenPlacement
}

type modelNode struct {
	pool            string
	held            bool // by an operator
	auto            map[fleet.HoldKind]fleet.Hold
	slots, reserved int64
}

type modelJob struct {
	spec    *fleet.JobSpec
	state   fleet.JobState
	attempt int32
	node    string
}

// clone is a copy of what batches change.
func (m *model) clone() *model {
	c := &model{
		map[string]*modelNode{}, map[ids.JobID]*modelJob{}, maps.Clone(m.keys), maps.Clone(m.alarms), maps.Clone(m.placements),
	}
	for name, n := range m.nodes {
		node := *n
		node.auto = maps.Clone(n.auto)
		c.nodes[name] = &node
	}
	for id, j := range m.jobs {
		job := *j
		c.jobs[id] = &job
	}
	return c
}

// refusals predicts which jobs of a batch are refused, and applies the others.
// A node's assignments are refused together: they were decided on one picture.
func (m *model) refusals(e *core.Effects) map[ids.JobID]core.RefusedWhy {
	for _, h := range e.Holds {
		if h.Lift {
			delete(m.nodes[h.Node].auto, h.Hold.Kind)
		} else {
			m.nodes[h.Node].auto[h.Hold.Kind] = h.Hold
		}
	}
	for _, a := range e.Alarms {
		m.alarms[a.Alarm.ID] = a.Alarm
	}
	refused := m.conflicts(e)
	keys := maps.Clone(m.keys)
	for _, in := range e.Inserts {
		if _, out := refused[in.Spec.ID]; out {
			continue
		}
		if in.IdempotencyKey != "" && keys[in.IdempotencyKey] {
			refused[in.Spec.ID] = core.RefusedIdempotency
			continue
		}
		if in.IdempotencyKey != "" {
			keys[in.IdempotencyKey] = true
		}
	}
	for _, u := range e.Updates {
		job := m.jobs[u.Job]
		if _, out := refused[u.Job]; out {
			continue
		}
		if job == nil || job.state != stored(u.FromState) || job.attempt != u.FromAttempt {
			refused[u.Job] = core.RefusedStale
		}
	}
	m.refusePlacements(e, refused, keys)
	for m.refuseNodes(e, refused) {
	}
	m.apply(e, refused)
	return refused
}

// conflicts refuses assignments to a node that name another pool than the newest.
func (m *model) conflicts(e *core.Effects) map[ids.JobID]core.RefusedWhy {
	newest, refused := map[string]string{}, map[ids.JobID]core.RefusedWhy{}
	for _, r := range slices.Backward(e.Reservations) {
		switch {
		case r.Release:
		case newest[r.Node] == "":
			newest[r.Node] = r.Pool
		case newest[r.Node] != r.Pool:
			refused[r.Job] = core.RefusedAssignment
		}
	}
	return refused
}

// refuseNodes refuses the assignments of each node that doesn't take them all;
// it reports whether there was one.
func (m *model) refuseNodes(e *core.Effects, refused map[ids.JobID]core.RefusedWhy) bool {
	bad := map[string]bool{}
	for name, node := range m.nodes {
		sum, takes := int64(0), false
		for _, r := range e.Reservations {
			if _, out := refused[r.Job]; out || r.Node != name {
				continue
			}
			if r.Release {
				sum -= r.Demand.Slots
				continue
			}
			sum += r.Demand.Slots
			takes = true
			bad[name] = bad[name] || node.held || len(node.auto) > 0 || node.pool != r.Pool
		}
		bad[name] = takes && (bad[name] || node.reserved+sum > node.slots)
	}
	again := false
	for _, r := range e.Reservations {
		if _, out := refused[r.Job]; !out && !r.Release && bad[r.Node] {
			refused[r.Job] = core.RefusedAssignment
			again = true
		}
	}
	return again
}

func (m *model) apply(e *core.Effects, refused map[ids.JobID]core.RefusedWhy) {
	kept := func(id ids.JobID) bool { _, out := refused[id]; return !out }
	for _, in := range e.Inserts {
		if kept(in.Spec.ID) {
			m.jobs[in.Spec.ID] = &modelJob{in.Spec, stored(in.Row.State), in.Row.Attempt, in.Row.Node}
			if in.IdempotencyKey != "" {
				m.keys[in.IdempotencyKey] = true
			}
		}
	}
	for _, u := range e.Updates {
		if kept(u.Job) {
			job := m.jobs[u.Job]
			job.state, job.attempt, job.node = stored(u.Row.State), u.Row.Attempt, u.Row.Node
		}
	}
	m.applyPlacements(e, kept)
	for _, r := range e.Reservations {
		switch {
		case !kept(r.Job):
		case r.Release:
			m.nodes[r.Node].reserved -= r.Demand.Slots
		default:
			m.nodes[r.Node].reserved += r.Demand.Slots
		}
	}
}

func stored(s fleet.JobState) fleet.JobState {
	if s == fleet.JobRunning {
		return fleet.JobOffered
	}
	return s
}
