package rest

// PlacementRequest is the body of POST /v1/placements: the same app, role and key
// give the same placement while it lasts.
type PlacementRequest struct {
	App       string    `json:"app"`
	Role      string    `json:"role"`
	Key       string    `json:"key,omitempty"`       // 1 to 200 visible characters
	Purpose   string    `json:"purpose,omitempty"`   // one line, for people
	Slots     *int64    `json:"slots,omitempty"`     // 0 of 0 to 64, of each node
	MemoryMib *int64    `json:"memoryMib,omitempty"` // 0
	Count     *int32    `json:"count,omitempty"`     // 1 of 1 to 16 distinct nodes, all or none
	TTL       *Duration `json:"ttl,omitempty"`       // 5m of 10s to 24h
	Backend   *string   `json:"backend,omitempty"`   // any
	Region    *string   `json:"region,omitempty"`    // any
}

// Placement reserves nodes for an outside client.
type Placement struct {
	ID        string          `json:"id"`
	App       string          `json:"app"`
	Role      string          `json:"role"`
	Key       string          `json:"key,omitempty"`
	Purpose   string          `json:"purpose,omitempty"`
	State     string          `json:"state"` // active, draining, released, expired, lost
	Slots     int64           `json:"slots"`
	Fallback  bool            `json:"fallback"`
	CreatedAt Time            `json:"createdAt"`
	ExpiresAt Time            `json:"expiresAt"`
	EndedAt   *Time           `json:"endedAt,omitempty"`
	Nodes     []PlacementNode `json:"nodes"`
	Decision  *Decision       `json:"decision,omitempty"` // in the detail alone
}

// PlacementNode is where the client goes: the endpoints as the node registered them.
type PlacementNode struct {
	ID        string            `json:"id"`
	Pool      string            `json:"pool"` // as it was placed
	Lease     string            `json:"lease"`
	Endpoints map[string]string `json:"endpoints"`
}

// RenewRequest is the optional body of POST /v1/placements/{id}/renew.
type RenewRequest struct {
	TTL *Duration `json:"ttl,omitempty"` // the one that it has
}
