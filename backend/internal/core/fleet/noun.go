package fleet

import "strconv"

// Built-in pools.
const (
	PoolDefault    = "default"    // shared
	PoolUnassigned = "unassigned" // sentinel: never resolved to
)

// OwnerPool names the pool that every user has.
func OwnerPool(user int64) string { return "pool-" + strconv.FormatInt(user, 10) }

// PoolKind tells who a pool is for.
type PoolKind string

// The kinds of pools.
const (
	KindDefault    PoolKind = "default"
	KindUnassigned PoolKind = "unassigned"
	KindUser       PoolKind = "user"
	KindNamed      PoolKind = "named"
)

// PoolState tells what a pool takes.
type PoolState string

// Draining: no new work, running work ends. Disabled: as if empty.
const (
	PoolActive   PoolState = "active"
	PoolDrains   PoolState = "draining"
	PoolIsClosed PoolState = "disabled"
)

// Pool is the candidate-set boundary.
type Pool struct {
	ID         string
	Name       string
	Kind       PoolKind
	State      PoolState
	Thresholds Thresholds
	Version    int64 // of the record, for ETag and If-Match
}

// Thresholds are a pool's own: past one of them an alarm is raised.
type Thresholds struct {
	QueueWaitMs int64 // the longest that work may wait
	FreeSlots   int64 // so few or fewer while work waits
	NotReadyPct int32 // of its nodes that have not left; 100: never
}

// DefaultThresholds are those of a pool that nobody gave others.
func DefaultThresholds() Thresholds {
	return Thresholds{QueueWaitMs: 60_000, FreeSlots: 0, NotReadyPct: 50}
}

// Binding sends one app's work of one role (or of every role, when Role is
// empty) to an ordered list of 1 to 8 pools.
type Binding struct {
	Role          string
	Pools         []string
	AllowFallback bool
}

// App is what work belongs to. Owner 0 is an app without an owner.
type App struct {
	ID       string
	Owner    int64
	Bindings []Binding
	Version  int64 // of the record with its bindings
	Share    Share
}

// Share is what an app may have: its weight against the others that wait for the
// same pool, and bounds; a bound of 0 is none.
type Share struct {
	Weight        int32 // 1 to MaxWeight
	MaxOpenJobs   int64 // a submit past it is refused
	MaxPlacements int64 // a placement past it is refused
	MaxSlots      int64 // reserved by jobs and placements together: jobs wait, placements are refused
}

// Weights of apps.
const (
	DefaultWeight = 100
	MaxWeight     = 1_000
)

// HoldKind is why a node gets no new work.
type HoldKind string

// The kinds of holds.
const (
	HoldCordon     HoldKind = "cordon"
	HoldDrain      HoldKind = "drain"
	HoldQuarantine HoldKind = "quarantine"
	HoldAuto       HoldKind = "auto"
	HoldDeaf       HoldKind = "deaf" // it answers no offers
)

// HoldOwner is who put a hold there, and who lifts it.
type HoldOwner string

// The owners of holds. An operator's outlive everything, a node's own ends with
// the session after, an automatic one with its time.
const (
	OwnerOperator HoldOwner = "operator"
	OwnerSelf     HoldOwner = "self"
	OwnerAuto     HoldOwner = "auto"
)

// Hold stands on a node until its owner or a superadmin lifts it. A node has at
// most one of each kind and owner.
type Hold struct {
	Kind   HoldKind
	Owner  HoldOwner
	Actor  string
	Reason string
	Until  Time // 0: until it is lifted
	// Deadline of a drain: what runs then is canceled and placed anew. 0: it may
	// run to its end.
	Deadline Time
}

// Quantity is so much of one named thing: a resource in units, memory of a
// domain in MiB.
type Quantity struct {
	Name   string `json:"name"`
	Amount int64  `json:"amount"`
}

// Vector is capacity, a demand or a reservation. Lists are sorted by name,
// without doubles and without zero amounts; nothing is negative.
type Vector struct {
	Slots     int64      `json:"slots"`
	Resources []Quantity `json:"resources,omitempty"`
	Memory    []Quantity `json:"memory,omitempty"` // MiB by domain
}

// Plain reports a vector that is slots and nothing else.
func (v Vector) Plain() bool { return len(v.Resources) == 0 && len(v.Memory) == 0 }

// MaxSlots is the most slots that one node may bring and one job may ask for.
const MaxSlots = 64

// NodeRecord is a node as the database has it: the credential record with what
// its last hello reported. PoolID is written by the control plane only.
type NodeRecord struct {
	ID       string
	Owner    int64  // 0: none
	Pool     string // never empty here: an empty column reads as default
	Role     string
	Region   string
	License  string // the license it came with, or empty
	MaxSlots int64  // that an operator lets it bring; 0: what its license does
	Epoch    int64  // of its newest session
	BootID   string // of the process that had that session
	// MachineID is the one of that session, or of the registration; empty: unknown.
	MachineID string
	Left      bool
	Holds     []Hold
	Capacity  Vector // clamped claim of its last hello
	Backend   string
	Runners   []string // sorted
	Version   int64    // of the record, for ETag and If-Match
	Identity  Identity // what tells copies of it apart
}

// NodeReport is what a hello claims, after validation and clamping. It never
// decides pool, owner or role.
type NodeReport struct {
	AgentVersion string
	OS           string
	Arch         string
	MachineID    string
	BootID       string
	Role         string // as claimed; the record's role wins
	Region       string
	Backend      string
	Capacity     Vector
	Runners      []string // sorted
	Endpoints    []Label
	Labels       []Label
	RemoteAddr   string
}

// Label is a name and a value.
type Label struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}
