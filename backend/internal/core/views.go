package core

import (
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/core/lease"
	"rockpool/shared/ids"
)

// JobView is an open job as it is now, with what lives in memory only.
type JobView struct {
	ID        ids.JobID
	Owner     int64          // the app's at submit; 0: none
	State     fleet.JobState // running too
	Cause     fleet.Cause
	Attempt   int32
	Node      string // of the current attempt
	Pool      string // of the node when the attempt was assigned
	Fallback  bool
	Percent   int32
	StartedAt fleet.Time      // of the current attempt; 0: not started
	Decision  *fleet.Decision // of a waiting job: as it would be decided now
	NotBefore fleet.Time      // 0: it may run at once
	Waits     fleet.WaitLedger
}

// PlacementView is a placement that lasts, as it is now. Its ExpiresAt is later
// than the stored one while it is spared after a restart.
type PlacementView struct {
	Spec *fleet.PlacementSpec
	Row  PlacementRow
}

// Held is an attempt that the control plane holds on a node.
type Held struct {
	Running
	Spec      *fleet.JobSpec
	Pool      string     // of the node when the attempt was assigned
	StartedAt fleet.Time // 0: not yet
}

// NodeView is a node as it is now.
type NodeView struct {
	Record        fleet.NodeRecord
	Lease         fleet.LeaseState
	Since         fleet.Time        // when the lease came into its state; 0: before this process began
	Past          []lease.Change    // of the lease, newest last
	LastSeen      fleet.Time        // its last frame; 0: none since this process began
	Report        *fleet.NodeReport // of its newest hello; nil: none since this process began
	BootSince     fleet.Time        // when this process first heard of its boot; 0: it had that boot before
	SessionOpen   bool
	Accepting     bool
	AcceptReason  string // why it does not accept
	Healthy       bool
	HealthReasons []string
	Reasons       []fleet.Reason // why it gets no new work whatever is asked; empty: it may
	Reserved      fleet.Vector
	ReservedFor   ids.JobID // new work keeps away from it until this job fits; zero: it does not
	Free          fleet.Vector
	Running       []Held      // attempts that the control plane holds there, by job
	Placements    []ids.JobID // that last there, by id
	Spooled       int64
	LoadMilli     int64
	MemoryMiB     int64
	SkewMs        int64 // how far its clock is ahead of ours; 0: hardly, or it tells none
}

// PoolView is a pool with its sums.
type PoolView struct {
	Pool fleet.Pool
	// Nodes by lease state; Held counts those with a hold, whatever their lease.
	Nodes   int32
	Ready   int32
	Suspect int32
	Lost    int32
	Left    int32
	New     int32
	Held    int32
	// Of the ready ones, those with a hold by its first reason, then those of the
	// others that are unhealthy or not accepting.
	ReadyHeld HeldCounts
	Unhealthy int32
	Canary    bool // named, and nothing resolves to it
	// Slots of all nodes; of those Free can take work now, OutOfUse are the free
	// ones of nodes that get no new work. Nothing resolves to unassigned.
	SlotsTotal int64
	SlotsFree  int64
	OutOfUse   int64
	Queued     int64 // jobs that wait for this pool first
	Running    int64 // attempts held on its nodes
	// OldestWait is since when the oldest of those jobs has waited; 0: none waits.
	OldestWait fleet.Time
	Overdue    int64 // of the queued ones, those past the pool's threshold
	// MassLoss is since when most of its nodes are silent and their work is kept for
	// them; 0: it is not.
	MassLoss fleet.Time
}

// HeldCounts are held nodes by the kind of their first hold, in the order of the
// reasons. Auto counts all that the control plane put there, quarantines aside.
type HeldCounts struct {
	Quarantined int32
	Draining    int32
	Cordoned    int32
	Auto        int32
}

// Waits are the queue times, in milliseconds, of the work placed in the last five
// minutes.
type Waits struct {
	Placed   int64
	P50, P95 int64
}

// FleetView is the fleet at one moment; nobody changes it afterwards.
type FleetView struct {
	Nodes []*NodeView // by id
	Pools []PoolView  // by id
	Waits Waits
	At    fleet.Time
	Rev   uint64
}

// Changes is what became different of the fleet after a revision; nobody changes
// it afterwards.
type Changes struct {
	Whole bool       // these are all nodes: memory was loaded anew
	Nodes []NodeView // by id
	Pools []PoolView // by id: all of them, where they were wanted
	// Alarms that last, by id, Waits and Frozen: where the pools were wanted.
	Alarms []fleet.Alarm
	Waits  Waits
	Frozen Freeze // without Since: leases run out
	// Placements that changed, the ended ones last; with WholePlacements all that last.
	Placements      []PlacementView
	WholePlacements bool
	At              fleet.Time
	Rev             uint64
}

// JobNews is a committed step of a job. Spec and SubmittedAt are set with a new
// job alone.
type JobNews struct {
	Job         ids.JobID
	Spec        *fleet.JobSpec
	SubmittedAt fleet.Time
	Row         JobRow
}

// Ended is a job's end as it was committed; Result is set when a node's caused it.
type Ended struct {
	Row    JobRow
	Result *fleet.Result
}

// NodeReasons is one node's part of an explanation: every reason that applies,
// in their order; none: it could take the work.
type NodeReasons struct {
	Node      string
	Pool      string
	Reasons   []fleet.Reason
	FreeSlots int64
	Suffices  bool // it gets work, and empty it could take this
}

// Explanation is an open job with all reasons of every node of its pools now.
type Explanation struct {
	Job   JobView
	Now   fleet.Decision // what would be decided now, without effect
	Nodes []NodeReasons  // in the order of the pools, then by id
	// Standing is where it stands in the queue; nil: it does not wait for a node.
	Standing *Standing
}

// Standing is a job's place among what waits for the pool that it tries first. What
// is ahead of it holds nothing back that a node could take now.
type Standing struct {
	Pool       string
	Of         int64  // of its app wait for the pool, itself included
	AheadAlike int64  // of them before it, that ask for the same
	AheadOther int64  // of them before it, that ask for something else
	Apps       int64  // others whose work waits for the pool
	OtherWork  int64  // of those
	Weight     int32  // its app's
	Weights    int64  // of all apps whose work waits for the pool
	Reserved   string // the node that is kept for it, or empty
}

// Candidates is a quiet look at where work would go: the decision, and every node
// of the pools that it would try.
type Candidates struct {
	Decision fleet.Decision
	Nodes    []NodeReasons // in the order of the pools, then by id
}

// ProposalKind is what a dry run would do.
type ProposalKind uint8

// The changes that can be tried.
const (
	ProposeMove ProposalKind = iota // Nodes to Pool
	ProposeHold                     // Nodes get no new work: cordon or drain
	ProposePoolState
)

// Proposal is a change that nobody has made.
type Proposal struct {
	Kind  ProposalKind
	Nodes []string        // move, hold
	Pool  string          // move: where to; pool state: of which
	State fleet.PoolState // pool state
}

// Impact is what a proposal would do, against the fleet as it is now.
type Impact struct {
	At      fleet.Time
	Pools   []PoolImpact // those that would change, by id
	Apps    []AppImpact  // those whose nodes would change or that are exhausted anyway: worst first, then by app and role
	Running []Held       // attempts on the nodes (or in the pool) meant
	// Placements that last on the nodes (or in the pool) meant.
	Placements int64
	Waiting    int64 // jobs that would wait without any node to hope for
}

// PoolImpact compares a pool before and after. Usable nodes may get new work.
type PoolImpact struct {
	Pool                     string
	UsableBefore, Usable     int32
	FreeBefore, Free         int64 // slots
	SlotsBefore, Slots       int64 // of all its nodes
	OutOfUseBefore, OutOfUse int64 // free slots of nodes that get no new work
}

// AppImpact counts the usable nodes that an app's work of one role may go to,
// fallback included.
type AppImpact struct {
	App, Role            string
	Owner                int64
	UsableBefore, Usable int32
	Waiting              int64 // its jobs of that role that wait now
	Fallback             bool  // to default is allowed
}

// Exhausted reports an app that would have no usable node left.
func (a *AppImpact) Exhausted() bool { return a.Usable == 0 }

// Resolver is an app that resolves to a pool.
type Resolver struct {
	App      string
	Owner    int64
	Role     string // of the binding; empty: every role
	Rule     fleet.ResolutionRule
	Place    int   // in its order of pools, from 0
	Fallback bool  // it comes by fallback alone
	Allowed  bool  // it may go on to default
	Running  int32 // attempts of its work that the pool's nodes hold
}

// Alignment is what will fail, before a request does.
type Alignment struct {
	Apps  []Misaligned     // apps that resolve to no usable node, by id and role
	Pools []UnresolvedPool // pools with nodes that nothing resolves to, unassigned aside
}

// Misaligned is an app of which no pool has a usable node.
type Misaligned struct {
	App      string
	Owner    int64
	Role     string // of the binding; empty: every role
	Rule     fleet.ResolutionRule
	Pools    []string
	Fallback bool  // to default is allowed
	Nodes    int32 // in those pools, all of them unusable
	// Elsewhere counts usable nodes of the app's owner in other pools: often the
	// cause, and the cure is a move or a binding.
	Elsewhere int32
}

// UnresolvedPool is a pool with nodes that no app's work can reach.
type UnresolvedPool struct {
	Pool  string
	Kind  fleet.PoolKind
	Nodes int32
}

// Totals are sums over the whole fleet, for checks.
type Totals struct {
	Jobs     int   // open jobs
	Waiting  int   // of them queued, for a node or paused
	Held     int   // of them with a reservation
	Reserved int64 // slots
	// Placements that last, or whose end is not committed.
	Placements int
}
