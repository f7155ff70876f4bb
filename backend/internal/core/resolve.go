package core

import (
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// AuditJobResolved notes what a person decided about a held job.
const AuditJobResolved = "job_resolved"

// Resolve decides, on a person's word, about a job that is held because its node
// was lost: it gets one more attempt, however many have counted, or fails. False:
// no such job is held; then nothing was done.
func (d *Dispatch) Resolve(now fleet.Time, id ids.JobID, action fleet.ResolveAction, by Actor, out *Effects) (fleet.JobState, bool) {
	j := d.jobs[id]
	if j == nil || !j.paused || j.row.Cause != fleet.CauseHeld {
		return 0, false
	}
	node := j.row.Node
	if action == fleet.ResolveFail {
		d.finish(now, j, fleet.JobFailed, j.endCause, "failed by a person after its node was lost", nil, out)
	} else {
		d.requeue(now, j, out)
	}
	out.Audits = append(out.Audits, AuditNote{Action: AuditJobResolved, Node: node, Job: id, Detail: string(action), By: &by})
	d.settle(now, out)
	return j.row.State, true
}
