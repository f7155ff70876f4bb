package core

import (
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// Phase is how far an attempt is on its node, as the node says.
type Phase uint8

// Accepted attempts wait for start; stopping ones were told to end.
const (
	PhaseAccepted Phase = iota
	PhaseRunning
	PhaseStopping
)

// Running is one attempt that a node says it has.
type Running struct {
	Job     ids.JobID
	Attempt int32
	Phase   Phase
	Percent int32 // 0..100
}

// HelloEvent is a node's hello, authenticated, validated and clamped.
type HelloEvent struct {
	Node    string
	Report  *fleet.NodeReport
	Running []Running
	Spooled int64 // results that the node has not been able to hand in

	// Secret is the one that it came with, Chain what it showed of the chain (zero:
	// nothing) and ChainNext what its welcome will bring (zero: nothing).
	Secret    fleet.Sum
	Chain     fleet.Sum
	ChainNext fleet.Sum
	LastEpoch int64  // of the newest session that it knows of
	Claimant  string // short id of the process with this secret, for people
}

// HeartbeatEvent is what a node says of itself, latest wins.
type HeartbeatEvent struct {
	Accepting     bool
	Reason        string // why it does not accept
	Running       []Running
	Spooled       int64
	Healthy       bool
	HealthReasons []string
	LoadMilli     int64 // load average x 1000
	MemoryMiB     int64 // in use
	SkewMs        int64 // how far its clock is ahead of ours, roughly; 0: it tells none
	RoundTripMs   int64 // of the last acknowledged heartbeat; 0: none was measured
	Unsaved       bool  // what the welcome brought is not on the node's disk
}

// Kinds of goodbye. Left frees the node's work at once; after the others the
// node is expected back.
const (
	GoodbyeStop    = "stop"
	GoodbyeUpgrade = "upgrade"
	GoodbyeLeft    = "left"
)

// Details of a SendClose; the session maps them to its close codes.
const (
	CloseSuperseded = "superseded by a newer session of this node" // code conflict
	CloseRevoked    = "revoked"                                    // code forbidden
	CloseLeft       = "taken out of the fleet"                     // code forbidden
	CloseLost       = "lease lost: register again"                 // code unavailable
	CloseDuplicate  = "another process has this node's identity"   // code duplicate_identity
)

// Actions of the audit notes that the core writes.
const (
	AuditResultFenced     = "result_fenced"    // a stale attempt, or over a superseded session
	AuditResultNotYours   = "result_not_yours" // the attempt belongs to another node
	AuditAcceptNotYours   = "accept_not_yours"
	AuditAcceptFenced     = "accept_fenced"      // over a superseded session
	AuditResultConflict   = "result_conflict"    // another body for a result that is stored
	AuditHoldLifted       = "hold_lifted"        // a person lifted an automatic or a node's own hold
	AuditSecretRotated    = "secret_rotated"     // a session was opened with the new one: the old one is good for nothing
	AuditMassLossReleased = "mass_loss_released" // a person ended what kept a pool's work

	AuditAlarmAcknowledged = "alarm_acknowledged"
	AuditAlarmSilenced     = "alarm_silenced"
)

// PlacementAsk asks for a placement, validated and under a new id.
type PlacementAsk struct {
	Spec *fleet.PlacementSpec
	// IdempotencyKey and RequestDigest are as in JobInsert.
	IdempotencyKey string
	RequestDigest  [32]byte
}

// Placed is the outcome of an ask. Exactly one of View (with a Spec), Exhausted,
// Over and Refused is set.
type Placed struct {
	View      PlacementView
	Existing  bool            // the key's own, that lasted already
	Exhausted *fleet.Decision // no pool has so many nodes for it
	Over      string          // the bound of the app's share that it would pass: placements or slots
	Refused   *RefusedWhy     // the database did not take it: its idempotency key exists, or its data
}

// Submitted is the committed outcome of one submitted job.
type Submitted struct {
	ID      ids.JobID
	Row     JobRow
	Refused *RefusedWhy // nil: stored

	RetryAfter fleet.Time // of a job past its app's bounds: after so long there may be room
}
