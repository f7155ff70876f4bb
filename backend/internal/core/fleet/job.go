package fleet

import "rockpool/shared/ids"

// NodeLostPolicy is what happens to a job whose node was lost.
type NodeLostPolicy string

// Requeue is the default. Held jobs wait for a person to resolve them.
const (
	OnLostRequeue NodeLostPolicy = "requeue"
	OnLostFail    NodeLostPolicy = "fail"
	OnLostHold    NodeLostPolicy = "hold"
)

// ResolveAction is what a person decides about a held job.
type ResolveAction string

// Requeue gives it one more attempt.
const (
	ResolveRequeue ResolveAction = "requeue"
	ResolveFail    ResolveAction = "fail"
)

// ExhaustedPolicy is what happens to a job that no node can take.
type ExhaustedPolicy string

// Wait is the default.
const (
	WhenExhaustedWait ExhaustedPolicy = "wait"
	WhenExhaustedFail ExhaustedPolicy = "fail"
)

// Defaults and bounds of a job.
const (
	DefaultPriority    = 50
	MaxPriority        = 100
	DefaultMaxAttempts = 3
	MaxMaxAttempts     = 100
	DefaultBackoffMs   = 1_000   // after the first counted attempt; doubled by each further one
	MaxBackoffMs       = 300_000 // however many there were
	NoBackoff          = -1      // asks for none
)

// Input names an artifact that the agent fetches before start.
type Input struct {
	Name   string `json:"name"`
	Digest string `json:"digest"` // sha256:<64 hex>
	Size   int64  `json:"size"`   // bytes
}

// JobSpec is what was asked for. It is validated before it gets here and never
// changes afterwards, so that it is shared, not copied.
type JobSpec struct {
	ID            ids.JobID       `json:"-"`
	App           string          `json:"-"`
	Owner         int64           `json:"-"` // the app's owner at submit; 0: none
	Submitter     int64           `json:"-"` // user who submitted it
	Role          string          `json:"role"`
	Runner        string          `json:"runner"`
	Params        []Label         `json:"params,omitempty"`
	Inputs        []Input         `json:"inputs,omitempty"`
	Demands       Vector          `json:"demands"`
	Backend       string          `json:"backend,omitempty"` // empty: any
	Region        string          `json:"region,omitempty"`  // empty: any
	Priority      int32           `json:"priority"`
	MaxAttempts   int32           `json:"maxAttempts"`
	OnNodeLost    NodeLostPolicy  `json:"onNodeLost"`
	WhenExhausted ExhaustedPolicy `json:"whenExhausted"`
	RunTimeoutMs  int64           `json:"runTimeoutMs,omitempty"`
	Labels        []Label         `json:"labels,omitempty"`
	// Pool makes it a canary job: it runs in this named pool and nowhere else.
	Pool string `json:"pool,omitempty"`
	// QueueTimeoutMs is the longest that it may wait for a node in all, pauses and the
	// wait for a person aside; 0: as long as it takes.
	QueueTimeoutMs int64 `json:"queueTimeoutMs,omitempty"`
	// NotBeforeMs is the wall time, in Unix milliseconds, before which it must not
	// run, as it was asked for; JobRow.NotBefore is what decides.
	NotBeforeMs int64 `json:"notBeforeMs,omitempty"`
	// RetryBackoffMs is the pause after the first counted attempt; 0: the default.
	RetryBackoffMs int64 `json:"retryBackoffMs,omitempty"`
	// AvoidFailedNode keeps it from nodes on which an attempt of it has failed.
	AvoidFailedNode bool `json:"avoidFailedNode,omitempty"`
	// RetryOf is the job that this one repeats; zero: none.
	RetryOf ids.JobID `json:"retryOf,omitzero"`
}

// WaitLedger splits a job's time in the queue by what it waited for, in
// milliseconds, over all its attempts.
type WaitLedger struct {
	Pool     int64 // no node could take it
	Fairness int64 // one could, but other work was first
	Backoff  int64 // not-before, or the pause after an attempt
	Quota    int64 // its app had all the slots that it may have
	Hold     int64 // a person had to resolve it
	Offer    int64 // from the assignment to the node's yes
}

// ResolutionRule says by which rule an app's work found its pools.
type ResolutionRule string

// The rules, in their order.
const (
	RuleBinding   ResolutionRule = "binding"
	RuleOwnerPool ResolutionRule = "owner_pool"
	RuleNoOwner   ResolutionRule = "no_owner"
	RuleCanary    ResolutionRule = "canary" // a superadmin named the pool
)

// Tally counts one pool's nodes for one decision: Nodes = Candidates + the sum
// of Rejected, each node under its first reason.
type Tally struct {
	Pool       string
	Nodes      int32
	Candidates int32
	Rejected   [NumReasons]int32
	// Names of what was short, for the printed resource:<name> and
	// memory:<domain>; the least of those that counted.
	Resource string
	Domain   string
}

// Outcome of a decision.
type Outcome string

// Placed has a node; waiting and failed have reasons.
const (
	OutcomePlaced  Outcome = "placed"
	OutcomeWaiting Outcome = "waiting"
	OutcomeFailed  Outcome = "failed"
)

// Decision is the compact record of why work went where it went, or nowhere.
// It stands on the job's row while it is current.
type Decision struct {
	Outcome        Outcome
	At             Time
	Rule           ResolutionRule
	Pools          []Tally // in the order in which they were tried
	Node           string  // empty unless placed
	RemainingSlots int64   // of the node after the reservation
	TieBreak       bool    // another node had as many free slots
	Fallback       bool    // default was used although it was not resolved to
	FallbackOK     bool    // fallback to default was allowed
	Epoch          int64   // of the shard
}

// ResultStatus is how an attempt ended on its node.
type ResultStatus uint8

// The ends that a node can report.
const (
	ResultSucceeded ResultStatus = iota
	ResultFailed
	ResultTimedOut
	ResultCanceled
)

// Output is a declared output file of an attempt.
type Output struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

// Result is what a node reports of one attempt. The bytes are carried, never read.
type Result struct {
	Status   ResultStatus
	Cause    Cause
	Detail   string // one line for people, cleaned
	ExitCode *int64 // nil: no program ran
	Output   []byte // a JSON document or empty
	Head     []byte // of the log
	Tail     []byte
	LogBytes int64 // of the whole log
	Outputs  []Output
	FetchMs  int64
	RunMs    int64
	Digest   [32]byte // SHA-256 of the message as received
}
