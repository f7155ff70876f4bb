package core

import (
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// JobRow is the part of a job's row that changes, always written whole.
type JobRow struct {
	State    fleet.JobState
	Cause    fleet.Cause
	Detail   string // one line for people
	Attempt  int32  // number of the current (newest) attempt; 0: none yet
	Counted  int32  // attempts that count against maxAttempts
	Outcome  fleet.AttemptOutcome
	Node     string // of the current attempt
	Pool     string // of the node when the attempt was assigned
	Fallback bool
	Decision *fleet.Decision // nil only before the first decision

	AssignedAt fleet.Time // of the current attempt; 0: never
	StartedAt  fleet.Time // of the current attempt; 0: not started. Durable only with the end
	EndedAt    fleet.Time // 0: not ended
	CancelBy   string     // who asked for the cancel
	NotBefore  fleet.Time // it is not offered before: asked for, or a pause after an attempt; 0: at once
	Waits      fleet.WaitLedger
}

// JobInsert is a new job; offered at once when a node was free.
type JobInsert struct {
	Spec *fleet.JobSpec
	Row  JobRow
	At   fleet.Time
	// NotBefore is when the job may be offered first; 0 or past: at once.
	NotBefore fleet.Time
	// IdempotencyKey is unique per submitter for 24 hours; empty: none. A job whose
	// key is there already is refused with RefusedIdempotency.
	IdempotencyKey string
	RequestDigest  [32]byte
}

// JobUpdate moves a job's row from one (state, attempt) to Row. The database
// applies it only when both still hold, so that a stale writer changes nothing.
type JobUpdate struct {
	Job         ids.JobID
	FromState   fleet.JobState // as stored: never running
	FromAttempt int32
	Row         JobRow
	Result      *fleet.Result // with a terminal state that a node's result caused
}

// PlacementRow is the part of a placement's row that changes, always written whole.
type PlacementRow struct {
	State     fleet.PlacementState
	Nodes     []fleet.PlacedOn // by rank; never changes once stored
	Fallback  bool
	Decision  *fleet.Decision // of the first node
	CreatedAt fleet.Time
	ExpiresAt fleet.Time
	EndedAt   fleet.Time // 0: it lasts
}

// PlacementWrite is a new placement, or the newer state of one. Its reservations
// stand in Reservations under its id, one for each node; a node that the database
// does not grant refuses the whole of it (RefusedAssignment).
type PlacementWrite struct {
	Spec *fleet.PlacementSpec
	Row  PlacementRow
	New  bool
	// IdempotencyKey and RequestDigest are as in JobInsert, of a new one.
	IdempotencyKey string
	RequestDigest  [32]byte
}

// Unplaced is a placement that the database refused and that has no nodes
// elsewhere. Without a decision it may be asked for anew.
type Unplaced struct {
	ID       ids.JobID
	Decision *fleet.Decision
}

// AttemptRow keeps a superseded attempt with its decision.
type AttemptRow struct {
	Job      ids.JobID
	Attempt  int32
	Node     string
	Pool     string
	Fallback bool
	Outcome  fleet.AttemptOutcome
	Cause    fleet.Cause
	Decision *fleet.Decision

	AssignedAt fleet.Time
	StartedAt  fleet.Time
	EndedAt    fleet.Time
}

// Reservation changes what one job holds on one node: positive when assigned
// (checked against pool, holds and capacity in SQL), negative when released.
// The store adds them up by node.
type Reservation struct {
	Job     ids.JobID
	Node    string
	Pool    string // what the node's pool must be, for an assignment
	Demand  *fleet.Vector
	Release bool
	// Adopt marks an assignment to the node that already runs the attempt: it
	// must fit, but pool and holds of today do not matter.
	Adopt bool
}

// FallbackRecord says that work (a job's attempt, or with Attempt 0 a placement) ran in default although it resolved elsewhere;
// it stands in the same transaction as its assignment.
type FallbackRecord struct {
	Job     ids.JobID
	Attempt int32
	App     string
	Role    string
	From    []string // pools resolved to
	Node    string
	At      fleet.Time
}

// SessionWrite opens a session of a node in the database: its epoch, and what
// the hello reported. It applies only when the stored epoch is lower.
type SessionWrite struct {
	Node   string
	Epoch  int64
	Report *fleet.NodeReport // nil: Left alone is written
	Left   bool              // goodbye(left)
}

// IdentityWrite keeps what the core knows of a node's identity: the chain and the
// claimants. A node has at most one in a batch.
type IdentityWrite struct {
	Node     string
	Identity fleet.Identity
	// Over names a rotation that has ended, with the claimant that was chosen for it;
	// empty: none. Secret, of one that was carried through, is the node's from now
	// on, in place of the one before.
	Over   string
	Secret fleet.Sum
}

// HoldWrite puts a hold that is not an operator's on a node, or lifts it. It
// raises no version of the record: it is no change that a person made to it.
type HoldWrite struct {
	Node string
	Hold fleet.Hold // to lift: Kind and Owner
	Lift bool
}

// AlarmWrite keeps an alarm as it is now: a new row, or the newer state of one.
type AlarmWrite struct {
	Alarm fleet.Alarm
}

// Actor is who asked for something, as audit entries name them.
type Actor struct {
	Subject   string // u:<id>
	Address   string
	RequestID string
}

// AuditNote is a security event that the deciding code saw, or what a person had
// it do (By): the driver gives it time and chain.
type AuditNote struct {
	Action string // e.g. result_fenced, alarm_acknowledged
	Node   string
	Job    ids.JobID // zero: none
	Alarm  int64     // 0: none
	Pool   string    // of what concerns one
	Detail string
	By     *Actor // nil: the node's own doing
}
