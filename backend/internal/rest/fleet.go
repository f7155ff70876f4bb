package rest

// Capacity is a vector of capacity, or of what is reserved of it.
type Capacity struct {
	Slots     int64            `json:"slots"`
	Resources map[string]int64 `json:"resources,omitempty"`
	MemoryMib map[string]int64 `json:"memoryMib,omitempty"` // by domain; host is the machine's own
}

// Hold is why a node gets no new work.
type Hold struct {
	Kind     string `json:"kind"`  // cordon, drain, quarantine, auto, deaf
	Owner    string `json:"owner"` // operator, self, auto
	Actor    string `json:"actor,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Until    *Time  `json:"until,omitempty"`    // it ends by itself then
	Deadline *Time  `json:"deadline,omitempty"` // of a drain: what runs then is canceled and placed anew
}

// Node is a node's record and what the control plane sees of it now.
type Node struct {
	ID            string   `json:"id"`
	Owner         *string  `json:"owner"` // user id; null: none
	Pool          string   `json:"pool"`
	Role          string   `json:"role"`
	Region        string   `json:"region,omitempty"`
	Lease         string   `json:"lease"` // new, ready, suspect, lost, left
	Healthy       bool     `json:"healthy"`
	HealthReasons []string `json:"healthReasons,omitempty"`
	Accepting     bool     `json:"accepting"`              // it says that it takes work
	AcceptReason  string   `json:"acceptReason,omitempty"` // why it does not
	Holds         []Hold   `json:"holds"`
	Capacity      Capacity `json:"capacity"`
	Reserved      Capacity `json:"reserved"`
	Running       int      `json:"running"` // attempts that it holds
	Backend       string   `json:"backend,omitempty"`
	Runners       []string `json:"runners"`
	Epoch         int64    `json:"epoch"`
	License       string   `json:"license,omitempty"`
	AgentVersion  string   `json:"agentVersion,omitempty"`
	OS            string   `json:"os,omitempty"`
	Arch          string   `json:"arch,omitempty"`
	Address       string   `json:"address,omitempty"` // of its newest session's peer
	Endpoints     []Pair   `json:"endpoints,omitempty"`
	Labels        []Pair   `json:"labels,omitempty"`
	ClockSkewMs   int64    `json:"clockSkewMs,omitempty"` // how far its clock is ahead of the server's, within half a second; absent: less, or unknown
	CreatedAt     Time     `json:"createdAt"`
	LastSeenAt    *Time    `json:"lastSeenAt,omitempty"`
	Version       int64    `json:"version"` // ETag, If-Match
	// Claimants are the processes that came with the node's secret, while it is in
	// quarantine; Keep is the one that was chosen to be the node.
	Claimants []Claimant `json:"claimants,omitempty"`
	Keep      string     `json:"keep,omitempty"`
	Rotating  bool       `json:"rotating,omitempty"` // its secret is being changed

	// Of GET /v1/nodes/{id} alone: when its secret was changed last (absent: it is the
	// one that it came with), and its place among the nodes of its license, in the
	// order of joining, for those who may see the license.
	RotatedAt *Time `json:"rotatedAt,omitempty"`
	Seat      *Seat `json:"seat,omitempty"`

	Inventory *Inventory `json:"inventory,omitempty"` // of GET /v1/nodes/{id}; absent: it has told none
}

// Seat is a node's place among those of its license.
type Seat struct {
	Number int64 `json:"number"` // from 1
	Of     int64 `json:"of"`     // that the license has
}

// Claimant is a process that says it is a node in quarantine.
type Claimant struct {
	ID           string `json:"id"`
	Holder       bool   `json:"holder"` // its sessions are taken; another one's are refused
	Address      string `json:"address,omitempty"`
	MachineID    string `json:"machineId,omitempty"`
	BootID       string `json:"bootId,omitempty"`
	AgentVersion string `json:"agentVersion,omitempty"`
	SeenAt       Time   `json:"seenAt"` // its last hello
}

// RepairRequest is the body of POST /v1/admin/nodes/{id}/repair.
type RepairRequest struct {
	Keep   string `json:"keep"` // the claimant that is the node
	Reason string `json:"reason,omitempty"`
}

// NodeSecretRequest is the body of PUT /v1/node/secret: what a node made for a
// rotation that it was told of.
type NodeSecretRequest struct {
	ID     string `json:"id"` // the rotation
	Secret string `json:"secret"`
}

// MoveRequest is the body of PUT /v1/admin/nodes/{id}/pool.
type MoveRequest struct {
	Pool   string `json:"pool"`
	Reason string `json:"reason,omitempty"`
}

// Moved answers a node's move.
type Moved struct {
	Node    string `json:"node"`
	From    string `json:"from"`
	To      string `json:"to"`
	Running int    `json:"running"` // attempts that stay where they are
	Applied bool   `json:"applied"` // false: a dry run
	Version int64  `json:"version"` // of the node's record now
	// AppsExhausted are apps that have no usable node afterwards, of a dry run.
	AppsExhausted []string `json:"appsExhausted,omitempty"`
	Impact        *Impact  `json:"impact,omitempty"` // of a dry run
}

// DrainRequest is the optional body of POST /v1/admin/nodes/{id}/drain.
type DrainRequest struct {
	Deadline *Duration `json:"deadline,omitempty"` // from now; absent: running work goes on to its end
	Reason   string    `json:"reason,omitempty"`
}

// Drained answers a drain: what still runs there.
type Drained struct {
	Node    Node      `json:"node"`
	Applied bool      `json:"applied"` // false: a dry run
	Running []Blocker `json:"running"`
	Impact  *Impact   `json:"impact,omitempty"` // of a dry run
}

// Blocker is an attempt that a drain waits for.
type Blocker struct {
	Job     string `json:"job"`
	Attempt int32  `json:"attempt"`
	Phase   string `json:"phase"` // accepted, running, stopping
	Percent int32  `json:"percent"`
}

// UncordonRequest is the optional body of POST /v1/admin/nodes/{id}/uncordon.
type UncordonRequest struct {
	// Kind of the hold to lift: absent, the operator's own, cordon and drain; auto,
	// deaf and quarantine are for superadmins.
	Kind   string `json:"kind,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// NodeRequest is the body of POST /v1/admin/nodes.
type NodeRequest struct {
	ID       string `json:"id"`
	Owner    string `json:"owner,omitempty"` // user id; absent: none, and the node is in default
	Role     string `json:"role"`
	MaxSlots int64  `json:"maxSlots,omitempty"` // the most that it may bring; 0: what it says
}

// NewNode shows a node's secret, once.
type NewNode struct {
	Node
	Secret string `json:"secret"`
}

// ReasonRequest is the optional body of an administrative POST.
type ReasonRequest struct {
	Reason string `json:"reason,omitempty"`
}

// Pool is a pool and what is in it now.
type Pool struct {
	ID         string      `json:"id"`
	Name       string      `json:"name"`
	Kind       string      `json:"kind"`  // default, unassigned, user, named
	State      string      `json:"state"` // active, draining, disabled
	Nodes      int         `json:"nodes"`
	Leases     LeaseCounts `json:"leases"`
	Held       int         `json:"held"`       // nodes with a hold, whatever their lease
	TotalSlots int64       `json:"totalSlots"` // of all its nodes
	FreeSlots  int64       `json:"freeSlots"`  // that can take work now
	Running    int         `json:"running"`    // attempts that its nodes hold
	Queued     int         `json:"queued"`     // jobs whose first pool it is
	Overdue    int         `json:"overdue"`    // of these, past the threshold
	Canary     bool        `json:"canary"`     // named, and nothing resolves to it
	Thresholds Thresholds  `json:"thresholds"`
	// MassLossSince is since when most of its nodes have been silent and their work is
	// kept for them; absent: it is not.
	MassLossSince *Time `json:"massLossSince,omitempty"`
	Version       int64 `json:"version"` // ETag, If-Match
	// Detail alone, not in lists: who resolves here, and how shared it is.
	Resolvers []Resolver `json:"resolvers,omitempty"`
	Sharing   *Sharing   `json:"sharing,omitempty"`
	// ThresholdsChanged is told to those who have a role for the pool; absent: they
	// are as they were made.
	ThresholdsChanged *Change `json:"thresholdsChanged,omitempty"`
}

// Change is when something was changed, and by whom.
type Change struct {
	At Time   `json:"at"`
	By string `json:"by"` // a person's name, or who it was else
}

// PoolPoint is what a pool's slots were at one moment: used, free on nodes that get
// no new work, and all of them, with how many jobs waited. GET /v1/pools/{id}/history
// gives a point a minute of the last six hours, the oldest first; it begins with
// the server's start.
type PoolPoint struct {
	At       Time  `json:"at"`
	Used     int64 `json:"used"`
	OutOfUse int64 `json:"outOfUse"`
	Total    int64 `json:"total"`
	Queued   int64 `json:"queued"`
	Draining int64 `json:"draining"` // nodes
}

// Thresholds of a pool: past one an alarm is raised.
type Thresholds struct {
	QueueWait   Duration `json:"queueWait"`
	FreeSlots   int64    `json:"freeSlots"`   // so few or fewer while work waits
	NotReadyPct int32    `json:"notReadyPct"` // of its nodes; 100: never
}

// Resolver is an app that resolves to a pool.
type Resolver struct {
	App      string  `json:"app"`
	Owner    *string `json:"owner"`
	Role     string  `json:"role,omitempty"` // of the binding; absent: every role
	Rule     string  `json:"rule"`           // binding, owner_pool, no_owner
	Place    int     `json:"place"`          // in its order of pools, from 0
	Fallback bool    `json:"fallback"`       // it comes by fallback alone
	Allowed  bool    `json:"allowed"`        // its fallback to default is
	Running  int64   `json:"running"`        // attempts of its work that ended nowhere yet and count for the pool
}

// Sharing says how many apps and owners share a pool, those aside that come by
// fallback alone.
type Sharing struct {
	Apps   int    `json:"apps"`
	Owners int    `json:"owners"`
	Text   string `json:"text"` // shared by 4 apps of 2 owners
}

// PoolRequest is the body of POST /v1/admin/node-pools.
type PoolRequest struct {
	ID         string      `json:"id"`
	Name       string      `json:"name,omitempty"` // the id
	Thresholds *Thresholds `json:"thresholds,omitempty"`
	Reason     string      `json:"reason,omitempty"`
}

// PoolChange is the body of PUT /v1/admin/node-pools/{id}; what is absent stays.
type PoolChange struct {
	Name       *string     `json:"name,omitempty"`
	State      *string     `json:"state,omitempty"` // active, draining, disabled
	Thresholds *Thresholds `json:"thresholds,omitempty"`
	Reason     string      `json:"reason,omitempty"`
}

// PoolChanged answers a pool's change.
type PoolChanged struct {
	Pool    Pool    `json:"pool"`
	Applied bool    `json:"applied"`          // false: a dry run
	Impact  *Impact `json:"impact,omitempty"` // of a dry run
}

// PromoteRequest is the body of POST /v1/admin/node-pools/{id}/promote: the nodes
// of a canary pool move to another when the checks hold.
type PromoteRequest struct {
	To     string        `json:"to"`
	Checks PromoteChecks `json:"checks"`
	Reason string        `json:"reason,omitempty"`
}

// PromoteChecks are what must hold of the pool; zero values ask for nothing.
type PromoteChecks struct {
	Jobs      int       `json:"jobs"`                // canary jobs that succeeded on it
	NoRestart bool      `json:"noRestart,omitempty"` // no node's agent began anew within ReadyFor
	ReadyFor  *Duration `json:"readyFor,omitempty"`  // every node, without a break
}

// Promoted answers a promotion. A refusal is a conflict with the reasons.
type Promoted struct {
	Pool    string   `json:"pool"`
	To      string   `json:"to"`
	Nodes   []string `json:"nodes"`
	Applied bool     `json:"applied"` // false: a dry run
	Reasons []string `json:"reasons"` // why it would be refused, of a dry run
	Impact  *Impact  `json:"impact,omitempty"`
}

// Binding sends an app's work of one role, or of every role, to pools.
type Binding struct {
	Role                   string   `json:"role"`  // empty: every role
	Pools                  []string `json:"pools"` // 1 to 8, in the order in which they are tried
	AllowFallbackToDefault bool     `json:"allowFallbackToDefault"`
}

// BindingRequest is the body of PUT /v1/admin/app-pool-bindings/{app}: the binding
// of that role. Without pools it goes.
type BindingRequest struct {
	Binding
	Reason string `json:"reason,omitempty"`
}

// AppBindings are an app's bindings and what follows from them.
type AppBindings struct {
	App         string       `json:"app"`
	Owner       *string      `json:"owner"`
	Bindings    []Binding    `json:"bindings"`
	Resolutions []Resolution `json:"resolutions"` // by role; the empty one stands for every other
	Version     int64        `json:"version"`     // ETag, If-Match
}

// Resolution is where an app's work of a role goes, also in words.
type Resolution struct {
	Role            string   `json:"role"`
	Rule            string   `json:"rule"`
	Pools           []string `json:"pools"`
	FallbackAllowed bool     `json:"fallbackAllowed"`
	Usable          int      `json:"usable"` // nodes that may get new work of that role, fallback included
	Text            string   `json:"text"`
}

// Candidates is a quiet look at where an app's work would go now.
type Candidates struct {
	Hint     string            `json:"hint,omitempty"` // the one root cause, when no node can take it
	Decision Decision          `json:"decision"`
	Pools    []PoolExplanation `json:"pools"` // every reason of every node
}

// ImpactRequest is the body of POST /v1/admin/nodes/impact: what would be done to
// these nodes together. Nothing is.
type ImpactRequest struct {
	Action string   `json:"action"`         // move, cordon, drain
	Nodes  []string `json:"nodes"`          // 1 to 1000
	Pool   string   `json:"pool,omitempty"` // of a move: where to
}

// Impact is what a change would do.
type Impact struct {
	At      Time         `json:"at"`
	Pools   []PoolImpact `json:"pools"`
	Apps    []AppImpact  `json:"apps"` // worst first
	Running []Blocker    `json:"running"`
	Waiting int64        `json:"waiting"` // jobs that would wait without a node to hope for
	// Placements that last on the nodes meant: they stay until they end.
	Placements int64 `json:"placements"`
}

// PoolImpact compares a pool before and after.
type PoolImpact struct {
	Pool   string    `json:"pool"`
	Before PoolShape `json:"before"`
	After  PoolShape `json:"after"`
}

// PoolShape is what a pool has to offer.
type PoolShape struct {
	Usable   int32 `json:"usable"` // nodes that may get new work
	Slots    int64 `json:"slots"`
	Free     int64 `json:"free"`
	OutOfUse int64 `json:"outOfUse"` // free slots of nodes that get no new work
}

// AppImpact counts the nodes that an app's work of a role may go to.
type AppImpact struct {
	App             string  `json:"app"`
	Owner           *string `json:"owner"`
	Role            string  `json:"role"`
	Before          int32   `json:"before"`
	After           int32   `json:"after"`
	Waiting         int64   `json:"waiting"`
	FallbackAllowed bool    `json:"fallbackAllowed"`
}

// Alignment is what will fail, before a request does.
type Alignment struct {
	Apps  []MisalignedApp  `json:"apps"`
	Pools []UnresolvedPool `json:"pools"`
}

// MisalignedApp resolves to no usable node.
type MisalignedApp struct {
	App             string   `json:"app"`
	Owner           *string  `json:"owner"`
	Role            string   `json:"role,omitempty"`
	Rule            string   `json:"rule"`
	Pools           []string `json:"pools"`
	FallbackAllowed bool     `json:"fallbackAllowed"`
	Nodes           int      `json:"nodes"`     // in these pools, all unusable
	Elsewhere       int      `json:"elsewhere"` // usable nodes of its owner in other pools
	Text            string   `json:"text"`
}

// UnresolvedPool has nodes that no app's work can reach.
type UnresolvedPool struct {
	Pool  string `json:"pool"`
	Kind  string `json:"kind"`
	Nodes int    `json:"nodes"`
}

// Role is what a node is for: work names one.
type Role struct {
	Name    string `json:"name"`
	BuiltIn bool   `json:"builtIn"`
}

// RoleRequest is the body of POST /v1/admin/roles.
type RoleRequest struct {
	Name string `json:"name"`
}

// LeaseCounts counts nodes by lease.
type LeaseCounts struct {
	New     int `json:"new"`
	Ready   int `json:"ready"`
	Suspect int `json:"suspect"`
	Lost    int `json:"lost"`
	Left    int `json:"left"`
}
