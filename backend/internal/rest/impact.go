package rest

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
