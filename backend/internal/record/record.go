// Package record holds what the store keeps and the API shows, as plain data:
// users, apps, licenses, tokens, nodes, jobs, audit entries. It has no rules and
// no I/O; the store fills it, the API and enrollment read it. What the deciding
// code needs of these things stands in core/fleet.
package record

import (
	"slices"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// Page asks for at most Limit rows after an opaque position. The store caps
// Limit at MaxPage. After is the last row's key of the page before, or empty.
type Page struct {
	Limit int
	After string
}

// MaxPage is the most rows of one page; DefaultPage stands when none is asked for.
const (
	MaxPage     = 200
	DefaultPage = 50
)

// Scope is a filter of rights: what of the nodes, pools, jobs and alarms there is
// for a reader. The zero Scope is everything. Otherwise a row is there when it is
// the owner's or of one of the pools: what somebody may see adds up.
type Scope struct {
	Owner *int64
	Pools []string // not nil and empty: none
}

// All reports the scope of everything.
func (s Scope) All() bool { return s.Owner == nil && s.Pools == nil }

// Sees reports that a row of that owner (0: nobody's) and pool is there.
func (s Scope) Sees(owner int64, pool string) bool {
	return s.All() || s.Owner != nil && owner != 0 && *s.Owner == owner || slices.Contains(s.Pools, pool)
}

// Actor is who did an administrative thing, and from where: it goes into the
// audit entry of the same transaction.
type Actor struct {
	Subject   string // u:<id>, node:<id>, local (the server's own machine)
	Address   string // of the client
	RequestID string
	Claim     Claim // of a POST that came with an Idempotency-Key
}

// Claim is the right of one request to carry out what came with a key; the zero
// Claim is none. An Actor's says in the transaction of the first thing that is done
// with it that it was: nobody takes the claim over from then on.
type Claim struct {
	User   int64
	Key    string
	Number int64
}

// User is an account. Id 0 is nobody.
type User struct {
	ID        int64
	Name      string
	Roles     []string // fleet-wide: superadmin, operator, viewer, user
	Grants    []Grant  // for single pools
	Disabled  bool
	CreatedAt time.Time
}

// Grant is a role (operator, viewer) for one pool.
type Grant struct {
	Role string
	Pool string
}

// Token is an API token; its secret is shown once and stored as SHA-256.
type Token struct {
	ID        string
	User      int64
	Name      string
	Scopes    []string // empty: all that the user may
	ExpiresAt *time.Time
	CreatedAt time.Time
	LastUsed  *time.Time
}

// Role is what a node is for: work names one.
type Role struct {
	Name    string
	BuiltIn bool
}

// App is what work belongs to.
type App struct {
	ID        string
	Owner     int64 // 0: none
	CreatedAt time.Time
	Version   int64
	Share     fleet.Share
}

// License lets nodes join; its code is shown once and stored as SHA-256.
type License struct {
	ID        string
	User      int64
	Roles     []string // that its nodes may take; the first is the default
	Nodes     int64    // limit, exact
	Used      int64    // seats taken: nodes that have not left
	MaxSlots  int64    // clamp per node; 0: none
	ExpiresAt *time.Time
	RevokedAt *time.Time
	CreatedAt time.Time
}

// Node is a node's record with what its last hello reported.
type Node struct {
	fleet.NodeRecord
	AgentVersion string
	OS           string
	Arch         string
	RemoteAddr   string
	Endpoints    []fleet.Label
	Labels       []fleet.Label
	CreatedAt    time.Time
	LastSeen     *time.Time
}

// Member is what a session needs to know of its node's record before it opens.
type Member struct {
	ID       string
	Role     string
	MaxSlots int64 // that its license and an operator let it bring; 0: neither bounds them
	Next     bool  // it showed what it put beside its secret, while a rotation is under way
}

// NodeFacts are what only a node's own page tells of its record.
type NodeFacts struct {
	RotatedAt *time.Time // its secret; nil: it is the one that it registered with
	Seat      int64      // of its license, counted from 1 in the order of joining; 0: none
	Seats     int64      // of the license
}

// Change is when something was changed, and by whom.
type Change struct {
	At time.Time
	By string // the name of a person, or who it was else
}

// Passed are the jobs of an app that came later than one that waits, of no higher
// priority, and were placed in its pool; at most MaxPassed are counted.
type Passed struct {
	Jobs int64
	At   *time.Time // the last of them
}

// MaxPassed bounds what is counted of jobs that passed one.
const MaxPassed = 1000

// Inventory is what a node said last that it has, and when it came to say so.
type Inventory struct {
	fleet.Inventory
	At time.Time
}

// Job is a job's row.
type Job struct {
	Spec        fleet.JobSpec
	State       fleet.JobState // as stored: never running
	Cause       fleet.Cause
	Detail      string
	Attempt     int32
	Counted     int32
	Outcome     fleet.AttemptOutcome
	Node        string
	Pool        string
	Fallback    bool
	Decision    []byte // JSON of Decision, or nil
	ExitCode    *int64
	Output      []byte // JSON, or nil
	Outputs     []fleet.Output
	LogBytes    int64
	SubmittedAt time.Time
	AssignedAt  *time.Time
	StartedAt   *time.Time
	EndedAt     *time.Time
	NotBefore   *time.Time
	Waits       fleet.WaitLedger
}

// Attempt is a superseded attempt of a job.
type Attempt struct {
	Attempt    int32
	Node       string
	Pool       string
	Fallback   bool
	Outcome    fleet.AttemptOutcome
	Cause      fleet.Cause
	Decision   []byte
	AssignedAt *time.Time
	StartedAt  *time.Time
	EndedAt    *time.Time
}

// JobLog is the head and tail of the log that came with the result.
type JobLog struct {
	Attempt int32
	Head    []byte
	Tail    []byte
	Bytes   int64 // of the whole log
}

// Placement is a placement's row with its nodes, by rank.
type Placement struct {
	Spec      fleet.PlacementSpec
	State     fleet.PlacementState
	Nodes     []fleet.PlacedOn
	Fallback  bool
	Decision  []byte // JSON of Decision, of the first node
	CreatedAt time.Time
	ExpiresAt time.Time
	EndedAt   *time.Time
}

// PlacementFilter selects placements for a list; zero values select everything.
type PlacementFilter struct {
	Scope
	App     string
	Key     string
	Node    string
	State   *fleet.PlacementState
	Lasting bool // only those that have not ended
}

// JobFilter selects jobs for a list; zero values select everything.
type JobFilter struct {
	Scope
	App   string
	State *fleet.JobState
	Open  bool // only those that have not ended
	Node  string
	Cause fleet.Cause
	Label *fleet.Label // no index has it: with a state that is not terminal or an app it costs less
}

// AuditFilter selects audit entries that have these texts in them, whatever their
// case; empty ones select everything. Text is looked for in all of them.
type AuditFilter struct {
	Action, Object, Actor, Reason, Text string
}

// AlarmFilter selects alarms for a list; zero values select everything.
type AlarmFilter struct {
	Scope
	Lasting  bool // only those that have not resolved
	Resolved bool // only those that have
	Kind     fleet.AlarmKind
	Pool     string
}

// Artifact is a stored file, addressed by its content.
type Artifact struct {
	Digest    string // sha256:<64 hex>
	Size      int64
	Owner     int64
	CreatedAt time.Time
}

// AuditEntry is one link of the hash chain.
type AuditEntry struct {
	Seq     int64
	At      time.Time
	Actor   Actor
	Name    string // of the person who was the actor, as it is now; empty: no person, or not asked for
	Action  string
	Object  string // e.g. node:ams-edge-03
	Before  []byte // JSON or nil
	After   []byte // JSON or nil
	Reason  string
	PrevSum [32]byte
	Sum     [32]byte
}

// Idempotent is an earlier POST with the same key of the same user: it made a job or
// a placement, or did something else, which has an Answer once it is done.
type Idempotent struct {
	Job           ids.JobID
	Placement     ids.JobID
	RequestDigest [32]byte
	// Of something else, not Acted and without an Answer it is under way; Acted
	// without one it is nearly done, or was when its server was stopped.
	Acted  bool
	Answer *Answer
}

// Answer is what a POST was answered with, without secrets.
type Answer struct {
	Status   int
	Location string // empty: none
	Body     []byte // JSON of at most MaxAnswer bytes; nil: it was longer, or there was none
}

// MaxAnswer is the longest body that an answer is remembered with.
const MaxAnswer = 16 << 10

// UsageFilter selects what usage is told of; zero values select everything.
type UsageFilter struct {
	Scope
	App  string
	Pool string
}

// Usage is what an app's work took of a pool on one day (UTC).
type Usage struct {
	Day                 time.Time // its begin
	App                 string
	Pool                string
	Attempts            int64 // that ran on that day
	SlotSeconds         int64
	FallbackSlotSeconds int64 // of these, as fallback
	// Placements are counted and added up for themselves, by the nodes that they had.
	Placements                   int64
	PlacementSlotSeconds         int64
	PlacementFallbackSlotSeconds int64 // of these, as fallback
}

// Isolation is what an audit of the kept history found.
type Isolation struct {
	From, To   *time.Time // when the oldest and the newest work read was assigned; nil: none was read
	Jobs       int64
	Attempts   int64 // of jobs
	Placements int64
	Fallbacks  int64 // of both, with a record
	// Undecided attempts have no decision on record, because their job waits for the
	// next one, ended while it did, or did when the server began anew: what their
	// app resolved to and the records of fallbacks and moves spoke for them.
	Undecided int64
	Crossings []Crossing    // at most MaxCrossings
	Found     int64         // all of them
	Tolerance time.Duration // around a change, in which what stood before and after are both right
}

// MaxCrossings bounds the crossings that an audit names.
const MaxCrossings = 100

// Crossing is an attempt or a placement's node that is where it should not be.
type Crossing struct {
	Job       ids.JobID // or the placement's id
	Attempt   int32
	Placement bool
	Node      string
	Pool      string
	Detail    string // what is wrong, in words
}
