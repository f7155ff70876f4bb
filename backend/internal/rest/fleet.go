package rest

// Capacity is a vector of capacity, or of what is reserved of it.
type Capacity struct {
	Slots     int64            `json:"slots"`
	Resources map[string]int64 `json:"resources,omitempty"`
	MemoryMib map[string]int64 `json:"memoryMib,omitempty"` // by domain; host is the machine's own
}

// Hold is why a node gets no new work.
type Hold struct {
	Kind   string `json:"kind"`  // cordon, drain, quarantine, auto
	Owner  string `json:"owner"` // operator, self, auto
	Actor  string `json:"actor,omitempty"`
	Reason string `json:"reason,omitempty"`
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
	CreatedAt     Time     `json:"createdAt"`
	LastSeenAt    *Time    `json:"lastSeenAt,omitempty"`
	Version       int64    `json:"version"` // ETag, If-Match
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
	Applied bool   `json:"applied"`
	Version int64  `json:"version"` // of the node's record now
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
}

// LeaseCounts counts nodes by lease.
type LeaseCounts struct {
	New     int `json:"new"`
	Ready   int `json:"ready"`
	Suspect int `json:"suspect"`
	Lost    int `json:"lost"`
	Left    int `json:"left"`
}
