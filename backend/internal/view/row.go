package view

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/shared/wire"
)

// NodeOf is a node as people see it: live is what memory has, kept what the
// database had (the newest report and when the node was last seen before this
// process began); either may be nil, not both. Ages are those at now, which the
// core calls at.
func NodeOf(live *core.NodeView, kept *record.Node, now time.Time, at fleet.Time) wire.NodeRow {
	var row wire.NodeRow
	if kept != nil {
		fillRecord(&row, &kept.NodeRecord, at)
		fillReport(&row, &fleet.NodeReport{
			AgentVersion: kept.AgentVersion, OS: kept.OS, Arch: kept.Arch, MachineID: kept.MachineID,
			Endpoints: kept.Endpoints, Labels: kept.Labels, RemoteAddr: kept.RemoteAddr,
		})
		row.Lease = restingLease(&kept.NodeRecord).String()
		row.Since, row.LastSeen = -1, age(kept.LastSeen, now)
	}
	if live == nil {
		return row
	}
	fillRecord(&row, &live.Record, at)
	if live.Report != nil {
		fillReport(&row, live.Report)
	}
	fillLive(&row, live)
	row.Since = coreAge(live.Since, at, -1)
	row.LastSeen = coreAge(live.LastSeen, at, row.LastSeen)
	return row
}

// restingLease is that of a node which memory does not know.
func restingLease(r *fleet.NodeRecord) fleet.LeaseState {
	if r.Left {
		return fleet.LeaseLeft
	}
	return fleet.LeaseNew
}

func fillRecord(row *wire.NodeRow, r *fleet.NodeRecord, at fleet.Time) {
	row.ID, row.Pool, row.Owner, row.Role, row.Region = r.ID, r.Pool, userText(r.Owner), r.Role, r.Region
	row.SlotsTotal, row.Backend, row.Runners = r.Capacity.Slots, r.Backend, r.Runners
	row.Memory, row.Resources = shares(r.Capacity.Memory, nil), shares(r.Capacity.Resources, nil)
	row.Epoch, row.Version = r.Epoch, r.Version
	row.Holds = convert(r.Holds, func(h fleet.Hold) wire.RowHold {
		return wire.RowHold{
			Kind: string(h.Kind), Owner: string(h.Owner), Actor: h.Actor, Reason: h.Reason, Left: left(max(h.Until, h.Deadline), at),
		}
	})
}

func fillReport(row *wire.NodeRow, r *fleet.NodeReport) {
	row.AgentVersion, row.OS, row.Arch, row.MachineID, row.Address = r.AgentVersion, r.OS, r.Arch, r.MachineID, r.RemoteAddr
	row.Endpoints = convert(r.Endpoints, func(l fleet.Label) wire.Pair { return wire.Pair(l) })
	row.Labels = convert(r.Labels, func(l fleet.Label) wire.Pair { return wire.Pair(l) })
}

func fillLive(row *wire.NodeRow, live *core.NodeView) {
	row.Lease = live.Lease.String()
	row.Accepting, row.AcceptReason = live.Accepting, live.AcceptReason
	row.Healthy, row.HealthReasons = live.Healthy, live.HealthReasons
	row.SlotsUsed = live.Reserved.Slots
	row.Memory = shares(live.Record.Capacity.Memory, live.Reserved.Memory)
	row.Resources = shares(live.Record.Capacity.Resources, live.Reserved.Resources)
	row.Placements = int64(len(live.Placements))
	row.LoadMilli, row.MemoryMiB, row.Spooled, row.Skew = live.LoadMilli, live.MemoryMiB, live.Spooled, live.SkewMs
	row.Running = convert(live.Running, func(h core.Held) wire.NodeWork {
		return wire.NodeWork{
			Job: h.Job.String(), Attempt: int64(h.Attempt), Phase: phases[h.Phase], Percent: int64(h.Percent), Slots: h.Spec.Demands.Slots,
		}
	})
}

// shares are what there is of each thing with what of it is reserved; both are
// sorted by name.
func shares(capacity, reserved []fleet.Quantity) []wire.Share {
	return convert(capacity, func(q fleet.Quantity) wire.Share {
		s := wire.Share{Name: q.Name, Total: q.Amount}
		at, there := slices.BinarySearchFunc(reserved, q.Name, func(r fleet.Quantity, name string) int { return strings.Compare(r.Name, name) })
		if there {
			s.Reserved = reserved[at].Amount
		}
		return s
	})
}

var phases = map[core.Phase]wire.Phase{
	core.PhaseAccepted: wire.PhaseAccepted, core.PhaseRunning: wire.PhaseRunning, core.PhaseStopping: wire.PhaseStopping,
}

// timelineOf is the lease's past; wall gives the wall time of a moment of the core.
func timelineOf(live *core.NodeView, wall func(fleet.Time) time.Time) []wire.LeaseChange {
	list := make([]wire.LeaseChange, len(live.Past))
	for i, c := range live.Past {
		list[i] = wire.LeaseChange{State: c.State.String(), Cause: c.Event.String(), At: wall(c.At).UnixMilli()}
	}
	return list
}

// tellWork says of a node's work what it is, where the scope sees it; row is that of live.
func tellWork(row *wire.NodeRow, live *core.NodeView, scope record.Scope, wall func(fleet.Time) time.Time) {
	for i := range live.Running {
		held := &live.Running[i]
		if scope.Sees(held.Spec.Owner, held.Pool) {
			work := &row.Running[i]
			work.App, work.Runner, work.StartedAt = held.Spec.App, held.Spec.Runner, wallMillis(held.StartedAt, wall)
		}
	}
}

func poolRow(p *core.PoolView, spark []int64, at fleet.Time) wire.PoolRow {
	return wire.PoolRow{
		ID: p.Pool.ID, Name: p.Pool.Name, Kind: string(p.Pool.Kind), State: string(p.Pool.State), Canary: p.Canary, Nodes: countsOf(p),
		SlotsTotal: p.SlotsTotal, SlotsFree: p.SlotsFree, SlotsOutOfUse: p.OutOfUse,
		Queued: p.Queued, Overdue: p.Overdue, OldestWait: coreAge(p.OldestWait, at, -1), Running: p.Running, Spark: spark,
		QueueWait: p.Pool.Thresholds.QueueWaitMs, FreeSlots: p.Pool.Thresholds.FreeSlots, NotReadyPct: int64(p.Pool.Thresholds.NotReadyPct),
		Version: p.Pool.Version, MassLoss: lasting(p.MassLoss, at),
	}
}

// lasting is for how long something has lasted, in milliseconds; 0: it does not.
func lasting(since, now fleet.Time) int64 {
	if since == 0 {
		return 0
	}
	return max(1, int64(now-since))
}

func alarmRow(a *fleet.Alarm, at fleet.Time) wire.AlarmRow {
	return wire.AlarmRow{
		ID: alarmID(a), Kind: string(a.Kind), Severity: string(a.Kind.Severity()), Role: a.Role, Pool: a.Pool, App: a.App, Node: a.Node,
		Count: a.Count, Age: coreAge(a.RaisedAt, at, 0), Last: coreAge(a.LastAt, at, 0), Waiting: a.WaitingNow, Detail: a.Detail,
		AckedBy: a.AckedBy, SilencedFor: max(0, left(a.SilencedUntil, at)),
	}
}

func alarmID(a *fleet.Alarm) string { return strconv.FormatInt(a.ID, 10) }

func countsOf(p *core.PoolView) wire.NodeCounts {
	return wire.NodeCounts{
		Ready: int64(p.Ready), Suspect: int64(p.Suspect), Lost: int64(p.Lost), Left: int64(p.Left), New: int64(p.New),
		Quarantined: int64(p.ReadyHeld.Quarantined), Draining: int64(p.ReadyHeld.Draining), Cordoned: int64(p.ReadyHeld.Cordoned),
		AutoHeld: int64(p.ReadyHeld.Auto), Unhealthy: int64(p.Unhealthy),
	}
}

// fleetRow adds up the pools that are seen. The waits are the whole fleet's.
func fleetRow(pools []core.PoolView, sees func(pool string) bool, waits core.Waits, frozen core.Freeze, at fleet.Time) wire.FleetRow {
	row := wire.FleetRow{
		ID: wire.TopicFleet, Placed: waits.Placed, WaitP50: waits.P50, WaitP95: waits.P95,
		Frozen: lasting(frozen.Since, at), FrozenFor: max(0, left(frozen.Until, at)), FrozenBy: string(frozen.Cause),
	}
	for i := range pools {
		p := &pools[i]
		if !sees(p.Pool.ID) {
			continue
		}
		n := countsOf(p)
		row.Nodes.Ready += n.Ready
		row.Nodes.Suspect += n.Suspect
		row.Nodes.Lost += n.Lost
		row.Nodes.Left += n.Left
		row.Nodes.New += n.New
		row.Nodes.Quarantined += n.Quarantined
		row.Nodes.Draining += n.Draining
		row.Nodes.Cordoned += n.Cordoned
		row.Nodes.AutoHeld += n.AutoHeld
		row.Nodes.Unhealthy += n.Unhealthy
		row.SlotsTotal += p.SlotsTotal
		row.SlotsFree += p.SlotsFree
		row.SlotsOutOfUse += p.OutOfUse
		row.Queued += p.Queued
		row.Overdue += p.Overdue
		row.Running += p.Running
	}
	return row
}

// age is in milliseconds; -1: never.
func age(t *time.Time, now time.Time) int64 {
	if t == nil {
		return -1
	}
	return max(0, now.Sub(*t).Milliseconds())
}

func coreAge(t, now fleet.Time, never int64) int64 {
	if t == 0 {
		return never
	}
	return max(0, int64(now-t))
}

// left is how long until a moment, in milliseconds; -1: there is none.
func left(t, now fleet.Time) int64 {
	if t == 0 {
		return -1
	}
	return max(0, int64(t-now))
}

func userText(id int64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}

func convert[From, To any](list []From, item func(From) To) []To {
	if len(list) == 0 {
		return nil
	}
	all := make([]To, len(list))
	for i := range list {
		all[i] = item(list[i])
	}
	return all
}
