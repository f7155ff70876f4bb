package session

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/enroll"
	"rockpool/shared/ids"
	"rockpool/shared/wire"
)

// What a node says, as the deciding code wants it. Every message here has passed
// wire.Decode: its fields are within their bounds and its texts are clean.

// claimOf is what a hello asks of enrollment.
func claimOf(h *wire.Hello, from netip.Addr) enroll.Claim {
	return enroll.Claim{
		NodeID: h.NodeID, Role: h.Role, MachineID: h.MachineID,
		Capacity: vectorOf(h.Capacity), Address: from,
	}
}

// helloOf is the event that opens the session. Capacity comes from registration,
// which clamped it; labels are those that claim nothing.
func helloOf(h *wire.Hello, reg enroll.Registered, labels []wire.Pair, from netip.Addr) core.HelloEvent {
	runners := slices.Clone(h.Runners)
	slices.Sort(runners)
	return core.HelloEvent{
		Node: reg.Node.ID,
		Report: &fleet.NodeReport{
			AgentVersion: h.AgentVersion, OS: h.OS, Arch: h.Arch, MachineID: h.MachineID, BootID: h.BootID,
			Role: h.Role, Region: h.Region, Backend: h.Backend, Capacity: reg.Capacity,
			Runners: slices.Compact(runners), Endpoints: labelsOf(h.Endpoints), Labels: labelsOf(labels),
			RemoteAddr: from.String(),
		},
		Running: runningOf(h.Running),
		Spooled: h.Spooled,
	}
}

// heartbeatOf takes a heartbeat that came at that time of our own wall clock.
func heartbeatOf(h *wire.Heartbeat, came time.Time) core.HeartbeatEvent {
	return core.HeartbeatEvent{
		Accepting: h.Accepting, Reason: h.Reason, Running: runningOf(h.Running), Spooled: h.Spooled,
		Healthy: h.Health.OK, HealthReasons: h.Health.Reasons, LoadMilli: h.LoadMilli, MemoryMiB: h.MemoryMiB,
		RoundTripMs: h.RoundTrip, Unsaved: h.Unsaved, SkewMs: skewOf(h, came),
	}
}

// skewOf is how far the node's clock is ahead of ours: half of the round trip went by
// on the way.
func skewOf(h *wire.Heartbeat, came time.Time) int64 {
	if h.At == 0 {
		return 0
	}
	return h.At + h.RoundTrip/2 - came.UnixMilli()
}

func runningOf(list []wire.RunningWork) []core.Running {
	if len(list) == 0 {
		return nil
	}
	running := make([]core.Running, len(list))
	for i, w := range list {
		attempt := attemptOf(w.Job, w.Attempt)
		running[i] = core.Running{Job: attempt.Job, Attempt: attempt.Attempt, Phase: phaseOf(w.Phase), Percent: int32(w.Percent)}
	}
	return running
}

func phaseOf(p wire.Phase) core.Phase {
	switch p {
	case wire.PhaseRunning:
		return core.PhaseRunning
	case wire.PhaseStopping:
		return core.PhaseStopping
	}
	return core.PhaseAccepted
}

// attemptOf reads the key of an attempt that was validated.
func attemptOf(job string, attempt int64) core.Attempt {
	id, _ := ids.ParseJobID(job)
	return core.Attempt{Job: id, Attempt: int32(attempt)}
}

// vectorOf sorts by name and leaves out what is zero.
func vectorOf(c wire.Capacity) fleet.Vector {
	return fleet.Vector{Slots: c.Slots, Resources: quantitiesOf(c.Resources), Memory: quantitiesOf(c.Memory)}
}

func quantitiesOf(list []wire.Amount) []fleet.Quantity {
	var all []fleet.Quantity
	for _, a := range list {
		if a.Amount > 0 {
			all = append(all, fleet.Quantity{Name: a.Name, Amount: a.Amount})
		}
	}
	slices.SortFunc(all, func(a, b fleet.Quantity) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func labelsOf(pairs []wire.Pair) []fleet.Label {
	if len(pairs) == 0 {
		return nil
	}
	labels := make([]fleet.Label, len(pairs))
	for i, p := range pairs {
		labels[i] = fleet.Label(p)
	}
	return labels
}
