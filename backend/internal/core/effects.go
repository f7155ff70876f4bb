// Package core composes the machines that decide: pools, candidates, leases,
// jobs. It is pure: the driver gives `now` and one event at a time, the core
// appends effects, and the driver carries them out and brings their outcome
// back as events. Production and the simulator share it.
package core

import (
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// Effects is what a run of events wants done.
//
// Writes (everything but Sends, Recalls and Reload) are durable: the driver
// commits them in one transaction and calls Committed with this same value.
// Nothing that depends on a write is sent before: offers, acknowledgements of
// results and welcomes come out of Committed. Sends may go out at once.
//
// Within one uncommitted Effects a job or placement appears at most once: a later
// step of the same one rewrites the entry that is there. Ends of placements come
// before new ones: they free their keys. The driver begins each batch with
// a zero Effects or one that was Reset, and hands that one value to events until
// it commits it.
type Effects struct {
	Inserts      []JobInsert
	Updates      []JobUpdate
	Attempts     []AttemptRow
	Reservations []Reservation
	Fallbacks    []FallbackRecord
	Sessions     []SessionWrite
	Identities   []IdentityWrite
	Inventories  []InventoryWrite
	Placements   []PlacementWrite
	Holds        []HoldWrite
	Alarms       []AlarmWrite
	Audits       []AuditNote

	Sends   []Send
	Recalls []Recall
	// Unplaced are placements that came to nothing after they were asked for: whoever
	// waits for them is told, once the batch before is committed.
	Unplaced []Unplaced
	// Reload asks the driver to load everything anew from the database: memory
	// was shown to differ from it.
	Reload bool

	gen  uint64 // the core's own number of this batch; 0: not seen yet
	acks []Send // answers to results, sent when the batch is committed
}

// Reset empties e for the next batch and keeps its memory.
func (e *Effects) Reset() {
	e.Inserts, e.Updates, e.Attempts = emptied(e.Inserts), emptied(e.Updates), emptied(e.Attempts)
	e.Reservations, e.Fallbacks, e.Sessions = emptied(e.Reservations), emptied(e.Fallbacks), emptied(e.Sessions)
	e.Identities, e.Inventories, e.Placements = emptied(e.Identities), emptied(e.Inventories), emptied(e.Placements)
	e.Holds, e.Alarms, e.Audits = emptied(e.Holds), emptied(e.Alarms), emptied(e.Audits)
	e.Sends, e.Recalls, e.Unplaced, e.acks = emptied(e.Sends), emptied(e.Recalls), emptied(e.Unplaced), emptied(e.acks)
	e.Reload, e.gen = false, 0
}

// emptied keeps the memory of a list, and nothing of what it led to.
func emptied[T any](list []T) []T {
	clear(list)
	return list[:0]
}

// Durable reports whether there is anything to commit.
func (e *Effects) Durable() bool {
	return len(e.Inserts)+len(e.Updates)+len(e.Attempts)+len(e.Reservations)+len(e.Fallbacks)+len(e.Sessions)+len(e.Placements)+
		len(e.Identities)+len(e.Inventories)+len(e.Holds)+len(e.Alarms)+len(e.Audits) > 0
}

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

// SendKind tells what a Send carries.
type SendKind uint8

// What the core sends to nodes.
const (
	SendOffer SendKind = iota
	SendStart
	SendVoid
	SendCancel
	SendResultAck
	SendHeartbeatAck
	SendWelcome
	SendError
	SendRotate
	SendClose // close the session with Code
	SendProbe // an offer of no job, with Spec: any answer will do
)

// Verdict on a result.
type Verdict uint8

// The verdicts; each frees the node's spool.
const (
	VerdictStored Verdict = iota
	VerdictDuplicate
	VerdictFenced
	VerdictCanceled
)

// Attempt names one attempt of one job.
type Attempt struct {
	Job     ids.JobID
	Attempt int32
	GraceMs int64 // of a cancel
}

// Send is a message to one session of one node. Only the fields of its kind are set.
type Send struct {
	Kind    SendKind
	Node    string
	Epoch   int64
	Job     ids.JobID
	Attempt int32

	Spec    *fleet.JobSpec // offer
	Verdict Verdict        // result_ack
	GraceMs int64          // cancel
	Ack     *HeartbeatAck  // heartbeat_ack
	Welcome *Welcome       // welcome
	Rotate  string         // rotate: the rotation
	Code    fleet.Code     // error, close
	Detail  string         // error, close
}

// HeartbeatAck repeats what must be true of the node until it is.
type HeartbeatAck struct {
	OK     bool
	Holds  []fleet.Hold
	Cancel []Attempt
	Void   []Attempt
}

// Nearly every acknowledgement says one of these. Nobody changes them.
var unknownSession, plainAck = &HeartbeatAck{}, &HeartbeatAck{OK: true}

// Plain reports one that has nothing to ask of the node.
func (a *HeartbeatAck) Plain() bool { return a.OK && len(a.Holds)+len(a.Cancel)+len(a.Void) == 0 }

// kept is a of which there may be many.
func (a HeartbeatAck) kept() *HeartbeatAck {
	if a.Plain() {
		return plainAck
	}
	kept := a
	return &kept
}

// Welcome answers a hello whose session is committed.
type Welcome struct {
	Pool  string
	Holds []fleet.Hold
	Void  []Attempt
}

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
