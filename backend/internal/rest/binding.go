package rest

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
