package core

import (
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// Recall asks the driver for the row of a job that is no longer in memory, to
// judge a result that names it. The answer comes back as the event Recalled.
type Recall struct {
	Node    string
	Epoch   int64
	Job     ids.JobID
	Attempt int32
	Digest  [32]byte
}

// RecalledRow is what the store knows of a job that ended.
type RecalledRow struct {
	Found   bool
	State   fleet.JobState
	Attempt int32  // the newest attempt
	Node    string // of the newest attempt
	// AttemptNode is the node of the attempt that was asked about, from the row
	// or from the superseded attempts; empty: there was no such attempt.
	AttemptNode  string
	HasResult    bool
	ResultDigest [32]byte
}

// RefusedWhy says why the database did not take a write.
type RefusedWhy uint8

// Assignment: node moved, held or full. Stale: the job's row was not in the
// state that memory believed. Idempotency: the key exists. Data: the row itself
// can't be stored. The last two are the core's own and come from Submit alone:
// nothing was written. QueueFull: too much of the app waits for the pool already.
// OpenJobs: the app has all the open jobs that it may have.
const (
	RefusedAssignment RefusedWhy = iota
	RefusedStale
	RefusedIdempotency
	RefusedData
	RefusedQueueFull
	RefusedOpenJobs
)

// Refusal is one write of a committed batch that was left out of it.
type Refusal struct {
	Job  ids.JobID // zero for a session
	Node string    // of a session; of a placement, the node that refused it, where that is known
	Why  RefusedWhy
}

// OpenJob is a job that is not terminal, as read back from the database.
type OpenJob struct {
	Spec        *fleet.JobSpec
	Row         JobRow
	SubmittedAt fleet.Time
	// Failed are the nodes of its superseded attempts that ended there without a
	// success and by no drain; read for jobs that avoid those.
	Failed []string
}

// OpenPlacement is a placement that lasts, as read back from the database.
type OpenPlacement struct {
	Spec *fleet.PlacementSpec
	Row  PlacementRow
}

// Snapshot is everything that the core needs to begin or to begin again.
type Snapshot struct {
	Epoch int64 // of the shard
	Pools []fleet.Pool
	Apps  []fleet.App
	Nodes []fleet.NodeRecord
	Jobs  []OpenJob // by id
	// Placements that last, by id.
	Placements []OpenPlacement
	Alarms     []fleet.Alarm // that last, and ended ones that are still silenced
	// NewestAlarm is the greatest id that any alarm ever had; 0: none, or unknown.
	NewestAlarm int64
}
