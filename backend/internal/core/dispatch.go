package core

import (
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// Config holds the times of the deciding code, all in milliseconds.
type Config struct {
	Heartbeat    fleet.Time // interval that nodes are told
	Suspect      fleet.Time // without a frame
	Lost         fleet.Time // without a frame
	OfferTimeout fleet.Time // for the answer to an offer
	CancelSlack  fleet.Time // after a cancel's grace
	DefaultGrace fleet.Time // of a cancel that names none
	AvoidFor     fleet.Time // a job keeps away from a node that did not take it
}

// Dispatch decides for all pools of the process.
type Dispatch struct{ cfg Config }

// New makes an empty Dispatch; Load gives it a fleet.
func New(cfg Config) *Dispatch { return &Dispatch{cfg: cfg} }

func (d *Dispatch) Load(now fleet.Time, snap *Snapshot)                             {}
func (d *Dispatch) PutPool(now fleet.Time, p fleet.Pool, out *Effects)              {}
func (d *Dispatch) PutApp(now fleet.Time, a fleet.App, out *Effects)                {}
func (d *Dispatch) PutNode(now fleet.Time, rec fleet.NodeRecord, out *Effects)      {}
func (d *Dispatch) RevokeNode(now fleet.Time, node, reason string, out *Effects)    {}
func (d *Dispatch) Hello(now fleet.Time, ev HelloEvent, out *Effects) (epoch int64) { return 0 }
func (d *Dispatch) Heartbeat(now fleet.Time, node string, epoch int64, hb HeartbeatEvent, out *Effects) {
}
func (d *Dispatch) Alive(now fleet.Time, node string, epoch int64, out *Effects)                {}
func (d *Dispatch) Goodbye(now fleet.Time, node string, epoch int64, kind string, out *Effects) {}
func (d *Dispatch) SessionClosed(now fleet.Time, node string, epoch int64, out *Effects)        {}
func (d *Dispatch) Accept(now fleet.Time, node string, epoch int64, a Attempt, out *Effects)    {}
func (d *Dispatch) Decline(now fleet.Time, node string, epoch int64, a Attempt, reason string, out *Effects) {
}
func (d *Dispatch) Progress(now fleet.Time, node string, epoch int64, a Attempt, percent int32, out *Effects) {
}
func (d *Dispatch) Result(now fleet.Time, node string, epoch int64, a Attempt, res *fleet.Result, out *Effects) {
}
func (d *Dispatch) Recalled(now fleet.Time, r Recall, row RecalledRow, out *Effects) {}
func (d *Dispatch) Submit(now fleet.Time, ins JobInsert, out *Effects)               {}
func (d *Dispatch) Cancel(now fleet.Time, id ids.JobID, actor string, graceMs int64, out *Effects) (state fleet.JobState, open bool) {
	return 0, false
}
func (d *Dispatch) Committed(now fleet.Time, batch *Effects, refused []Refusal, out *Effects) {}
func (d *Dispatch) Tick(now fleet.Time, out *Effects)                                         {}
func (d *Dispatch) Next() fleet.Time                                                          { return fleet.Never }
func (d *Dispatch) Rev() uint64                                                               { return 0 }
func (d *Dispatch) LiveJob(now fleet.Time, id ids.JobID) (JobView, bool)                      { return JobView{}, false }
func (d *Dispatch) Fleet(now fleet.Time) *FleetView                                           { return &FleetView{} }
func (d *Dispatch) Explain(now fleet.Time, id ids.JobID) (Explanation, bool) {
	return Explanation{}, false
}
func (d *Dispatch) Preview(now fleet.Time, app, role string, spec *fleet.JobSpec) fleet.Decision {
	return fleet.Decision{}
}
func (d *Dispatch) Totals() Totals { return Totals{} }
