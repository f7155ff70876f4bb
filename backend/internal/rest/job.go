package rest

import "encoding/json"

// JobRequest is the body of POST /v1/jobs. An absent or null key takes its
// default, which stands behind it.
type JobRequest struct {
	App           string            `json:"app"`
	Role          string            `json:"role,omitempty"` // worker
	Runner        string            `json:"runner"`
	Params        map[string]Scalar `json:"params,omitempty"`
	Inputs        map[string]string `json:"inputs,omitempty"` // name to sha256:<64 hex>
	Demands       *Demands          `json:"demands,omitempty"`
	Backend       *string           `json:"backend,omitempty"`       // any
	Region        *string           `json:"region,omitempty"`        // any
	Priority      *int32            `json:"priority,omitempty"`      // 50 of 0 to 100, high first
	MaxAttempts   *int32            `json:"maxAttempts,omitempty"`   // 3 of 1 to 100
	OnNodeLost    string            `json:"onNodeLost,omitempty"`    // requeue, fail, hold
	WhenExhausted string            `json:"whenExhausted,omitempty"` // wait, fail
	RunTimeout    *Duration         `json:"runTimeout,omitempty"`    // none
	Labels        []Pair            `json:"labels,omitempty"`
	// Pool makes it a canary job: superadmins send one to a named pool.
	Pool string `json:"pool,omitempty"`
	// QueueTimeout is the longest that it may wait in all; NotBefore, at most 30 days
	// away, the time before which it does not run. Both: none.
	QueueTimeout    *Duration `json:"queueTimeout,omitempty"`
	NotBefore       *Time     `json:"notBefore,omitempty"`
	RetryBackoff    *Duration `json:"retryBackoff,omitempty"` // 1s of 0s to 5m; doubles with each attempt, up to 5m
	AvoidFailedNode bool      `json:"avoidFailedNode,omitempty"`
}

// Waits is the time that a job waited so far, split by what it waited for, in
// milliseconds.
type Waits struct {
	Pool     int64 `json:"pool"`     // no node could take it
	Fairness int64 `json:"fairness"` // one could, other work was first
	Backoff  int64 `json:"backoff"`  // not-before, or the pause after an attempt
	Quota    int64 `json:"quota"`    // its app had all that it may have
	Hold     int64 `json:"hold"`     // a person had to resolve it
	Offer    int64 `json:"offer"`    // from the assignment to the node's yes
}

// ResolveRequest is the body of POST /v1/jobs/{id}/resolve, of a job that waits for
// a person.
type ResolveRequest struct {
	Action string `json:"action"` // requeue, fail
}

// CancelSelection is the body of POST /v1/jobs/cancel: the jobs with these ids (at
// most 1,000), or with ?dryRun those that the filter selects, as the list to send.
type CancelSelection struct {
	IDs   []string  `json:"ids,omitempty"`
	App   string    `json:"app,omitempty"`
	State string    `json:"state,omitempty"`
	Label *Pair     `json:"label,omitempty"`
	Grace *Duration `json:"grace,omitempty"`
}

// CancelSelected answers for each job.
type CancelSelected struct {
	Applied bool           `json:"applied"` // false: a dry run
	Items   []CanceledItem `json:"items"`
}

// CanceledItem is one job of a selection: its state afterwards, or the problem's code.
type CanceledItem struct {
	ID    string `json:"id"`
	State string `json:"state,omitempty"`
	Code  string `json:"code,omitempty"`
}

// Demands is what a job reserves on its node.
type Demands struct {
	Slots     *int64 `json:"slots,omitempty"`     // 1 of 0 to 64
	MemoryMib *int64 `json:"memoryMib,omitempty"` // 0
}

// BatchRequest is the body of POST /v1/jobs/batch: 1 to MaxBatch jobs. When one
// of them is not valid none is taken.
type BatchRequest struct {
	Jobs  []JobRequest `json:"jobs"`
	Brief bool         `json:"brief,omitempty"` // answer with the jobs' ids, without their documents: false
}

// Batch answers a batch: one item per job, in the order of the request.
type Batch struct {
	Items []BatchItem `json:"items"`
}

// BatchItem is one job's answer: Job (ID when the answer is to be brief) with 201
// (or 200 for a replay), or Problem.
type BatchItem struct {
	Status  int          `json:"status"`
	ID      string       `json:"id,omitempty"`
	Job     *Job         `json:"job,omitempty"`
	Problem *ItemProblem `json:"problem,omitempty"`
}

// CancelRequest is the optional body of POST /v1/jobs/{id}/cancel.
type CancelRequest struct {
	Grace *Duration `json:"grace,omitempty"` // until the tool is killed: 10s of 0 to 10m
}

// Job is a job as it is now.
type Job struct {
	ID         string            `json:"id"`
	App        string            `json:"app"`
	Role       string            `json:"role"`
	Runner     string            `json:"runner"`
	State      string            `json:"state"`
	Reason     *string           `json:"reason"`           // why it waits, or why it ended so
	Detail     string            `json:"detail,omitempty"` // one line for people
	Reasons    []Reason          `json:"reasons,omitempty"`
	Priority   int32             `json:"priority"`
	Attempt    int32             `json:"attempt"` // the newest; 0: none yet
	Node       string            `json:"node,omitempty"`
	Pool       string            `json:"pool,omitempty"` // as it was placed
	Fallback   bool              `json:"fallback"`
	Percent    *int32            `json:"percent,omitempty"`   // while it runs
	QueuedMs   *int64            `json:"queuedMs,omitempty"`  // how long it waited so far, over all its attempts
	Waits      *Waits            `json:"waits,omitempty"`     // the same by what it waited for
	NotBefore  *Time             `json:"notBefore,omitempty"` // while it waits for that
	RetryOf    string            `json:"retryOf,omitempty"`
	CreatedAt  Time              `json:"createdAt"`
	AssignedAt *Time             `json:"assignedAt,omitempty"`
	StartedAt  *Time             `json:"startedAt,omitempty"`
	EndedAt    *Time             `json:"endedAt,omitempty"`
	ExitCode   *int64            `json:"exitCode,omitempty"`
	Output     json.RawMessage   `json:"output,omitempty"`
	Outputs    map[string]string `json:"outputs,omitempty"` // name to digest
	Labels     []Pair            `json:"labels,omitempty"`
	Asks       JobAsks           `json:"asks"`
	Links      JobLinks          `json:"links"`
}

// JobAsks is what a job was submitted with, defaults filled in, and how many of its
// attempts count.
type JobAsks struct {
	Slots        int64    `json:"slots"`
	MemoryMib    int64    `json:"memoryMib"`
	Backend      string   `json:"backend,omitempty"` // any
	Region       string   `json:"region,omitempty"`  // any
	QueueTimeout Duration `json:"queueTimeout"`      // 0s: none
	RunTimeout   Duration `json:"runTimeout"`        // 0s: none
	OnNodeLost   string   `json:"onNodeLost"`
	MaxAttempts  int32    `json:"maxAttempts"`
	Counted      int32    `json:"counted"`
}

// JobLinks are paths of the same server.
type JobLinks struct {
	Decision string `json:"decision"`
	Log      string `json:"log"`
}

// Decision says why a job went where it went, or nowhere.
type Decision struct {
	Outcome        string         `json:"outcome"` // placed, waiting, failed
	At             Time           `json:"at"`
	Rule           string         `json:"rule"` // binding, owner_pool, no_owner
	Pools          []PoolDecision `json:"pools"`
	Node           string         `json:"node,omitempty"`
	RemainingSlots int64          `json:"remainingSlots"`
	TieBreak       bool           `json:"tieBreak"`
	Fallback       bool           `json:"fallback"`
	FallbackOK     bool           `json:"fallbackAllowed"`
	Epoch          int64          `json:"epoch"`
	Text           string         `json:"text"`
}

// PoolDecision counts one pool's nodes, each under its first reason.
type PoolDecision struct {
	Pool       string           `json:"pool"`
	Nodes      int32            `json:"nodes"`
	Candidates int32            `json:"candidates"`
	Rejected   map[string]int32 `json:"rejected"`
}

// Explanation is every reason of every node against one job, as it is now. Node
// ids are shown to those who may see the whole fleet; others get the counts.
type Explanation struct {
	Job   string            `json:"job"`
	State string            `json:"state"`
	At    Time              `json:"at"`
	Rule  string            `json:"rule"`
	Hint  string            `json:"hint,omitempty"` // the one root cause, when no node can take it
	Pools []PoolExplanation `json:"pools"`
	Queue *Standing         `json:"queue,omitempty"` // of a job that waits for a node
	Text  string            `json:"text"`
}

// Standing is a job's place among what waits for the pool that it tries first. What
// is ahead of it and can't be placed holds nothing back.
type Standing struct {
	Pool       string `json:"pool"`
	Position   int64  `json:"position"`           // 1 is first
	Of         int64  `json:"of"`                 // of its app, itself included
	AheadAlike int64  `json:"aheadAlike"`         // ask for the same
	AheadOther int64  `json:"aheadOther"`         // ask for something else
	OtherApps  int64  `json:"otherApps"`          // whose work waits for the pool
	OtherWork  int64  `json:"otherWork"`          // of those
	Weight     int32  `json:"weight"`             // its app's
	Weights    int64  `json:"weights"`            // of all apps whose work waits for the pool
	Reserved   string `json:"reserved,omitempty"` // the node that is kept for it
	Passed     int64  `json:"passed"`             // jobs of its app that came later and were placed in the pool, of no higher priority; 1000: or more
	PassedAt   *Time  `json:"passedAt,omitempty"` // the last of them
}

// PoolExplanation explains one pool. A node stands under each of its reasons, and
// once under its first.
type PoolExplanation struct {
	Pool           string            `json:"pool"`
	Nodes          int32             `json:"nodes"`
	Candidates     int32             `json:"candidates"`
	CandidateNodes []string          `json:"candidateNodes,omitempty"`
	Reasons        []NodeExplanation `json:"reasons"`
	First          []NodeExplanation `json:"first"` // with the candidates they are all nodes
	// Alone are the reasons that are some node's only one: without it, it could take
	// the job.
	Alone    []NodeExplanation `json:"alone"`
	Roomiest *Roomiest         `json:"roomiest,omitempty"`
	Nearest  *Roomiest         `json:"nearest,omitempty"` // of those large enough for the job
}

// Roomiest is the node that lacks nothing but slots and has the most of them free.
type Roomiest struct {
	Node      string `json:"node,omitempty"`
	FreeSlots int64  `json:"freeSlots"`
}

// NodeExplanation counts (and may name) the nodes with one reason.
type NodeExplanation struct {
	Reason  string   `json:"reason"`
	Nodes   int32    `json:"nodes"`
	NodeIDs []string `json:"nodeIds,omitempty"`
	// Words say what those nodes have and what is asked, beside ids of first reasons.
	Words string `json:"words,omitempty"`
}

// Attempt is one attempt of a job.
type Attempt struct {
	Attempt    int32     `json:"attempt"`
	Node       string    `json:"node"`
	Pool       string    `json:"pool"`
	Fallback   bool      `json:"fallback"`
	Outcome    string    `json:"outcome"` // open, ended, declined, unanswered, orphaned
	Reason     *string   `json:"reason"`
	AssignedAt *Time     `json:"assignedAt,omitempty"`
	StartedAt  *Time     `json:"startedAt,omitempty"`
	EndedAt    *Time     `json:"endedAt,omitempty"`
	Decision   *Decision `json:"decision,omitempty"`
}

// JobLog is the head and the tail of the log that came with the result. Bytes
// that are not UTF-8 read as U+FFFD.
type JobLog struct {
	Job       string `json:"job"`
	Attempt   int32  `json:"attempt"`
	Head      string `json:"head"`
	Tail      string `json:"tail"` // what follows the gap, or empty
	Bytes     int64  `json:"bytes"`
	Truncated bool   `json:"truncated"` // bytes between head and tail are not kept
}
