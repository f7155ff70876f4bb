package api

import (
	"context"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// Dispatcher is the dispatch loop. Errors are *fleet.Error (unavailable while the
// database is away, with nothing done) or the context's.
type Dispatcher interface {
	Work
	Placing
	Live
	Previews
	Records
	Words
}

// Work takes and ends jobs; all answer after the commit.
type Work interface {
	Submit(ctx context.Context, jobs []core.JobInsert) ([]core.Submitted, error)
	// SubmitAndWait calls taken once the database has answered and returns at the job's
	// end; a nil end: it was refused, or the row tells. ctx's error comes before the
	// commit alone.
	SubmitAndWait(ctx context.Context, job *core.JobInsert, wait time.Duration, taken func()) (core.Submitted, *core.Ended, error)
	// Cancel is not_found when the job is not open.
	Cancel(ctx context.Context, id ids.JobID, actor string, graceMs int64) (fleet.JobState, error)
	CancelMany(ctx context.Context, jobs []ids.JobID, actor string, graceMs int64) ([]core.Canceled, error)
	// Resolve is conflict when the job is not held, not_found when it is not open.
	Resolve(ctx context.Context, id ids.JobID, action fleet.ResolveAction, by core.Actor) (fleet.JobState, error)
	// Wait returns once the job is terminal, or ctx's error. A nil end: the row tells it.
	Wait(ctx context.Context, id ids.JobID) (*core.Ended, error)
}

// Placing places, renews and releases placements; all answer after the commit.
// not_found: it does not last.
type Placing interface {
	// Place is rate_limited when the app has all that it may have.
	Place(ctx context.Context, wanted core.PlacementAsk) (core.Placed, error)
	// RenewPlacement takes milliseconds; 0: as long as was asked for at first.
	RenewPlacement(ctx context.Context, id ids.JobID, ttlMs int64) (core.PlacementView, error)
	ReleasePlacement(ctx context.Context, id ids.JobID) (core.PlacementView, error)
}

// Live reads what is true now, without side effects.
type Live interface {
	LiveJobs(ctx context.Context, ids []ids.JobID) (map[ids.JobID]core.JobView, error)
	LiveNodes(ctx context.Context, ids []string) (map[string]core.NodeView, error)
	Fleet(ctx context.Context) (*core.FleetView, error)
	Frozen(ctx context.Context) (core.Freeze, error)
	Explain(ctx context.Context, id ids.JobID) (core.Explanation, bool, error)
	NodePast(ctx context.Context, id string) (core.NodePast, error)
	WallAt(fleet.Time) time.Time
}

// Words of people about what the loop alone keeps. They answer after the commit;
// not_found: there is no such hold, mass loss or lasting alarm.
type Words interface {
	ReleasePool(ctx context.Context, pool string, by core.Actor, reason string) error
	LiftHold(ctx context.Context, node string, kind fleet.HoldKind, owner fleet.HoldOwner, by core.Actor, reason string) error
	AckAlarm(ctx context.Context, id int64, by core.Actor, name string) error
	SilenceAlarm(ctx context.Context, id int64, until time.Time, by core.Actor, name, reason string) error
}

// Previews tell what would be, by the very functions that decide, and leave no trace.
type Previews interface {
	Candidates(ctx context.Context, spec *fleet.JobSpec) (core.Candidates, error)
	Impact(ctx context.Context, proposal core.Proposal) (core.Impact, error)
	Alignment(ctx context.Context) (core.Alignment, error)
	Resolvers(ctx context.Context, pool string) ([]core.Resolver, error)
	Usable(ctx context.Context, app fleet.App, role string) (int32, error)
}

// Records takes committed changes: when a call returns, the very next decision
// uses them.
type Records interface {
	PutNode(ctx context.Context, node fleet.NodeRecord) error
	PutApp(ctx context.Context, app fleet.App) error
	PutPool(ctx context.Context, pool fleet.Pool) error
	RemovePool(ctx context.Context, id string) error
	RevokeNode(ctx context.Context, node fleet.NodeRecord, reason string) error
	LeaveNode(ctx context.Context, node fleet.NodeRecord, reason string) error
}
