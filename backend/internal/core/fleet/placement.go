package fleet

import "rockpool/shared/ids"

// PlacementState is where a placement is in its life.
type PlacementState uint8

// The states of a placement. A draining one works on, but its node goes.
const (
	PlacementActive PlacementState = iota
	PlacementDraining
	PlacementReleased // by its holder
	PlacementExpired  // nobody renewed it in time
	PlacementLost     // its node was lost or has left
)

var placementStateNames = [...]string{
	PlacementActive: "active", PlacementDraining: "draining", PlacementReleased: "released",
	PlacementExpired: "expired", PlacementLost: "lost",
}

func (s PlacementState) String() string { return placementStateNames[s] }

// Ended reports a state that never changes again.
func (s PlacementState) Ended() bool { return s >= PlacementReleased }

// ParsePlacementState reads a state's name.
func ParsePlacementState(name string) (PlacementState, bool) {
	for i, n := range placementStateNames {
		if n == name {
			return PlacementState(i), true
		}
	}
	return 0, false
}

// Bounds of a placement.
const (
	DefaultTTLMs      = 300_000
	MinTTLMs          = 10_000
	MaxTTLMs          = 86_400_000
	MaxPlacementNodes = 16
)

// PlacementSpec is what was asked for: so much of Count distinct nodes, until it
// is released or not renewed. It never changes.
type PlacementSpec struct {
	ID        ids.JobID `json:"-"` // a UUIDv7 as a job's; works share one space of ids
	App       string    `json:"-"`
	Owner     int64     `json:"-"` // the app's owner; 0: none
	Submitter int64     `json:"-"`
	Role      string    `json:"-"`
	Key       string    `json:"-"`                 // the same (app, role, key) is the same placement while it lasts; empty: none
	Purpose   string    `json:"purpose,omitempty"` // for people
	Demands   Vector    `json:"demands"`           // of each node; zero slots are allowed
	Count     int32     `json:"count"`
	TTLMs     int64     `json:"ttlMs"`
	Backend   string    `json:"backend,omitempty"`
	Region    string    `json:"region,omitempty"`
}

// PlacedOn is one node of a placement. Pool is the node's when it was placed.
type PlacedOn struct {
	Node string
	Pool string
}
