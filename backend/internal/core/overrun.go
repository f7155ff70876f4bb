package core

import "rockpool/backend/internal/core/fleet"

// A node ends what runs too long by itself, and counts from when the tool started.
// The control plane believes it for as long as inputs, outputs and the tool's end
// may take, and then ends the attempt as a cancel would.

// overran reports an attempt that its node should have ended long ago.
func (d *Dispatch) overran(now fleet.Time, j *job) bool {
	if j.spec.RunTimeoutMs == 0 || j.ending() || j.row.StartedAt == 0 {
		return false
	}
	spare := d.cfg.DefaultGrace + d.cfg.CancelSlack + d.cfg.TransferTime
	if len(j.spec.Inputs) > 0 {
		spare += d.cfg.TransferTime
	}
	return now-j.row.StartedAt > fleet.Time(j.spec.RunTimeoutMs)+spare
}

// stopOverrun asks the node to end the attempt. Without its word it ends after the
// grace of a cancel and some more.
func (d *Dispatch) stopOverrun(now fleet.Time, j *job, out *Effects) {
	j.overrun, j.graceMs = true, int64(d.cfg.DefaultGrace)
	d.seenOf(j)
	d.sendCancel(now, j, out)
	d.awaitCancel(now, j)
}

// ending reports an attempt that its node was asked to end, by a drain or because
// it ran too long.
func (j *job) ending() bool { return j.draining || j.overrun }

// timedOut is a result of an attempt that was ended because it ran too long, as
// what it is.
func timedOut(res *fleet.Result) *fleet.Result {
	if res.Status != fleet.ResultCanceled {
		return res
	}
	late := *res
	late.Status, late.Cause = fleet.ResultTimedOut, fleet.CauseRunTimeout
	return &late
}
