package rest

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

// LeaseCounts counts nodes by lease.
type LeaseCounts struct {
	New     int `json:"new"`
	Ready   int `json:"ready"`
	Suspect int `json:"suspect"`
	Lost    int `json:"lost"`
	Left    int `json:"left"`
}
