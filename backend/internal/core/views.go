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
}

// NodeView is a node as it is now.
type NodeView struct {
	Record        fleet.NodeRecord
	Lease         fleet.LeaseState
	Since         fleet.Time        // when the lease came into its state; 0: before this process began
	Past          []lease.Change    // of the lease, newest last
	LastSeen      fleet.Time        // its last frame; 0: none since this process began
	Report        *fleet.NodeReport // of its newest hello; nil: none since this process began
	SessionOpen   bool
	Accepting     bool
	AcceptReason  string // why it does not accept
	Healthy       bool
	HealthReasons []string
	Reasons       []fleet.Reason // why it gets no new work whatever is asked; empty: it may
	Reserved      fleet.Vector
	Free          fleet.Vector
	Running       []Running // attempts that the control plane holds there, by job
	Spooled       int64
	LoadMilli     int64
	MemoryMiB     int64
}

// PoolView is a pool with its sums.
type PoolView struct {
	Pool fleet.Pool
	// Nodes by lease state; Held counts those with a hold, whatever their lease.
	Nodes     int32
	Ready     int32
	Suspect   int32
	Lost      int32
	Left      int32
	New       int32
	Held      int32
	ReadyHeld int32 // of the ready ones, those with a hold
	Unhealthy int32 // of the others, those that are unhealthy or not accepting
	// Slots of all nodes; of those Free can take work now, OutOfUse are the free
	// ones of nodes that get no new work. Nothing resolves to unassigned.
	SlotsTotal int64
	SlotsFree  int64
	OutOfUse   int64
	Queued     int64 // jobs that wait for this pool first
	Running    int64 // attempts held on its nodes
}

// FleetView is the fleet at one moment; nobody changes it afterwards.
type FleetView struct {
	Nodes []NodeView // by id
	Pools []PoolView // by id
	At    fleet.Time
	Rev   uint64
}

// Changes is what became different of the fleet after a revision; nobody changes
// it afterwards.
type Changes struct {
	Whole bool       // these are all nodes: memory was loaded anew
	Nodes []NodeView // by id
	Pools []PoolView // by id: all of them, where they were wanted
	At    fleet.Time
	Rev   uint64
}

// JobNews is a committed step of a job. Spec and SubmittedAt are set with a new
// job alone.
type JobNews struct {
	Job         ids.JobID
	Spec        *fleet.JobSpec
	SubmittedAt fleet.Time
	Row         JobRow
}

// NodeReasons is one node's part of an explanation: every reason that applies,
// in their order; none: it could take the work.
type NodeReasons struct {
	Node      string
	Pool      string
	Reasons   []fleet.Reason
	FreeSlots int64
}

// Explanation is an open job with all reasons of every node of its pools now.
type Explanation struct {
	Job   JobView
	Now   fleet.Decision // what would be decided now, without effect
	Nodes []NodeReasons  // in the order of the pools, then by id
}

// Totals are sums over the whole fleet, for checks.
type Totals struct {
	Jobs     int   // open jobs
	Waiting  int   // of them queued
	Held     int   // of them with a reservation
	Reserved int64 // slots
}
