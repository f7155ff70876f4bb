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

// Role is what a node is for: work names one.
type Role struct {
	Name    string `json:"name"`
	BuiltIn bool   `json:"builtIn"`
}

// RoleRequest is the body of POST /v1/admin/roles.
type RoleRequest struct {
	Name string `json:"name"`
}
