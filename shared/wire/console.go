package wire

// The console's side of the channel. A console subscribes to topics and gets a
// snapshot in parts, then deltas; it changes nothing here: that goes over REST.
// Times in rows are unix milliseconds (0: none) or, where the key ends in _ms,
// ages in milliseconds when the row was sent.

// The messages of the console's side of the channel.
const (
	TypeSubscribe      Type = "subscribe"
	TypeMore           Type = "more"
	TypeUnsubscribe    Type = "unsubscribe"
	TypePing           Type = "ping"
	TypePong           Type = "pong"
	TypeWelcomeConsole Type = "welcome_console"
	TypeSnapshot       Type = "snapshot"
	TypeDelta          Type = "delta"
)

// Topics. One node's and one job's are the prefix and the id.
const (
	TopicFleet = "fleet" // one row: the totals
	TopicPools = "pools"
	TopicNodes = "nodes"
	TopicNode  = "node/"
	TopicJobs  = "jobs" // the newest ones; history pages over REST
	TopicJob   = "job/"
	// TopicAlarms has those that last; history pages over REST.
	TopicAlarms = "alarms"
	// TopicPlacements has those that last; history pages over REST.
	TopicPlacements = "placements"
)

// States of a filter beside those of the lease: with a hold, with one of that kind.
const (
	StateHeld        = "held"
	StateCordoned    = "cordoned"
	StateDraining    = "draining"
	StateQuarantined = "quarantined"
	StateAutoHeld    = "auto_held"
)

// Filter narrows the topic nodes; empty fields let everything through. State is a
// lease state or one of the states above, whatever the lease.
type Filter struct {
	Pool  string `msgpack:"pool,omitempty"`
	State string `msgpack:"state,omitempty"`
}

// Subscribe asks for a topic; a second one for the same topic begins it anew.
type Subscribe struct {
	Topic  string `msgpack:"topic"`
	Filter Filter `msgpack:"filter"`
}

// More asks for the next part of a snapshot, counted from 0.
type More struct {
	Topic string `msgpack:"topic"`
	Part  int64  `msgpack:"part"`
}

// Unsubscribe ends a topic.
type Unsubscribe struct {
	Topic string `msgpack:"topic"`
}

// Ping asks for a Pong: a browser's code can't see those of the WebSocket.
type Ping struct{}

// Pong answers a Ping.
type Pong struct{}

// ConsoleTimes are milliseconds. A console that heard nothing for two and a half
// ticks pings; for Stale, its data are stale and it dials anew.
type ConsoleTimes struct {
	Tick  int64 `msgpack:"tick_ms"`
	Stale int64 `msgpack:"stale_ms"`
}

// WelcomeConsole is the first message to a console: who it is.
type WelcomeConsole struct {
	User    string       `msgpack:"user"` // id
	Name    string       `msgpack:"name"`
	Roles   []string     `msgpack:"roles"`
	Version string       `msgpack:"version"` // of the server
	Times   ConsoleTimes `msgpack:"times"`
}

// Snapshot is one part of all rows of a topic as they were at Rev. Deltas follow
// the last part.
type Snapshot struct {
	Topic      string         `msgpack:"topic"`
	Rev        int64          `msgpack:"rev"`
	Part       int64          `msgpack:"part"`
	Last       bool           `msgpack:"last"`
	Fleet      []FleetRow     `msgpack:"fleet,omitempty"`
	Pools      []PoolRow      `msgpack:"pools,omitempty"`
	Nodes      []NodeRow      `msgpack:"nodes,omitempty"`
	Jobs       []JobRow       `msgpack:"jobs,omitempty"`
	Alarms     []AlarmRow     `msgpack:"alarms,omitempty"`
	Placements []PlacementRow `msgpack:"placements,omitempty"`
}

// Delta leads from the rows at Prev to those at Rev: whole rows that are new or
// changed, and the ids of those that are gone. A console that does not hold Prev
// subscribes anew.
type Delta struct {
	Topic      string         `msgpack:"topic"`
	Prev       int64          `msgpack:"prev"`
	Rev        int64          `msgpack:"rev"`
	Fleet      []FleetRow     `msgpack:"fleet,omitempty"`
	Pools      []PoolRow      `msgpack:"pools,omitempty"`
	Nodes      []NodeRow      `msgpack:"nodes,omitempty"`
	Jobs       []JobRow       `msgpack:"jobs,omitempty"`
	Alarms     []AlarmRow     `msgpack:"alarms,omitempty"`
	Placements []PlacementRow `msgpack:"placements,omitempty"`
	Deletes    []string       `msgpack:"deletes,omitempty"`
}

// NodeCounts are nodes by lease state. Held ones (quarantined, draining, cordoned
// or on automatic hold, each counted under the first of these) and unhealthy ones
// are among the ready ones; one that is both is held.
type NodeCounts struct {
	Ready       int64 `msgpack:"ready"`
	Suspect     int64 `msgpack:"suspect"`
	Lost        int64 `msgpack:"lost"`
	Left        int64 `msgpack:"left"`
	New         int64 `msgpack:"new"`
	Quarantined int64 `msgpack:"quarantined"`
	Draining    int64 `msgpack:"draining"`
	Cordoned    int64 `msgpack:"cordoned"`
	AutoHeld    int64 `msgpack:"auto_held"`
	Unhealthy   int64 `msgpack:"unhealthy"`
}

// FleetRow is the fleet's totals; its id is "fleet". Used + out of use + free
// slots are the total.
type FleetRow struct {
	ID            string     `msgpack:"id"`
	Nodes         NodeCounts `msgpack:"nodes"`
	SlotsTotal    int64      `msgpack:"slots_total"`
	SlotsFree     int64      `msgpack:"slots_free"`
	SlotsOutOfUse int64      `msgpack:"slots_out_of_use"`
	Queued        int64      `msgpack:"queued"`
	Overdue       int64      `msgpack:"overdue"` // of the queued: past their pool's threshold
	Running       int64      `msgpack:"running"`
	Placed        int64      `msgpack:"placed"` // in the last five minutes; the waits are theirs
	WaitP50       int64      `msgpack:"wait_p50_ms"`
	WaitP95       int64      `msgpack:"wait_p95_ms"`
	Placements    int64      `msgpack:"placements"` // that last
	// Frozen is for how long no lease has run out by a fault of the control plane; 0:
	// leases run out. FrozenFor is how much longer that is, 0: nobody knows yet. FrozenBy
	// is what froze it: database, standstill, restart.
	Frozen    int64  `msgpack:"frozen_ms,omitempty"`
	FrozenFor int64  `msgpack:"frozen_for_ms,omitempty"`
	FrozenBy  string `msgpack:"frozen_by,omitempty"`
}

// PoolRow is one pool with its sums, as in FleetRow. OldestWait is the age of its
// oldest waiting job; -1: none waits. Spark is how many jobs were queued, minute
// by minute, at most the 60 last, oldest first.
type PoolRow struct {
	ID            string     `msgpack:"id"`
	Name          string     `msgpack:"name"`
	Kind          string     `msgpack:"kind"`
	State         string     `msgpack:"state"`
	Canary        bool       `msgpack:"canary"`
	Nodes         NodeCounts `msgpack:"nodes"`
	SlotsTotal    int64      `msgpack:"slots_total"`
	SlotsFree     int64      `msgpack:"slots_free"`
	SlotsOutOfUse int64      `msgpack:"slots_out_of_use"`
	Queued        int64      `msgpack:"queued"`
	Overdue       int64      `msgpack:"overdue"`
	OldestWait    int64      `msgpack:"oldest_wait_ms"`
	Running       int64      `msgpack:"running"`
	Spark         []int64    `msgpack:"spark"`
	QueueWait     int64      `msgpack:"threshold_queue_wait_ms"`
	FreeSlots     int64      `msgpack:"threshold_free_slots"`
	NotReadyPct   int64      `msgpack:"threshold_not_ready_pct"`
	Version       int64      `msgpack:"version"` // of the record, for If-Match
	// MassLoss is for how long most of its nodes have been silent and their work kept
	// for them; 0: it is not.
	MassLoss int64 `msgpack:"mass_loss_ms,omitempty"`
}

// AlarmRow is one alarm that lasts. Age and Last are the ages of its raising and
// of when it was last seen; the lists of waiting work are read over REST.
type AlarmRow struct {
	ID       string `msgpack:"id"`
	Kind     string `msgpack:"kind"`
	Severity string `msgpack:"severity"` // critical, warning
	Role     string `msgpack:"role"`
	Pool     string `msgpack:"pool"`
	App      string `msgpack:"app"`
	Node     string `msgpack:"node"`
	Count    int64  `msgpack:"count"`
	Age      int64  `msgpack:"age_ms"`
	Last     int64  `msgpack:"last_ms"`
	Waiting  int64  `msgpack:"waiting"`
	Detail   string `msgpack:"detail"`
	AckedBy  string `msgpack:"acked_by"` // who acknowledged it, or empty
	// SilencedFor is how much longer it is silenced; 0: it is not.
	SilencedFor int64 `msgpack:"silenced_for_ms"`
}

// RowHold is one hold of a node.
type RowHold struct {
	Kind   string `msgpack:"kind"`
	Owner  string `msgpack:"owner"`
	Actor  string `msgpack:"actor"`
	Reason string `msgpack:"reason"`
	// Left is how long until it ends by itself, or for a drain until what runs is
	// ended; -1: it does not.
	Left int64 `msgpack:"left_ms"`
}

// LeaseChange is one change of a node's lease. Cause is a word: hello,
// heartbeat, silence, disconnected, restart (of the server), left. At is unix milliseconds.
type LeaseChange struct {
	State string `msgpack:"state"`
	Cause string `msgpack:"cause"`
	At    int64  `msgpack:"at_ms"`
}

// Share is what a node has of one thing beside slots, and what of it is reserved:
// memory of a domain in MiB, a resource in units.
type Share struct {
	Name     string `msgpack:"name"`
	Total    int64  `msgpack:"total"`
	Reserved int64  `msgpack:"reserved"`
}

// NodeWork is one attempt that the server holds on a node. App, Runner and StartedAt
// stand in the topic of the node alone, of work that the console may see.
type NodeWork struct {
	Job       string `msgpack:"job"`
	Attempt   int64  `msgpack:"attempt"`
	Phase     Phase  `msgpack:"phase"`
	Percent   int64  `msgpack:"percent"`
	Slots     int64  `msgpack:"slots"`
	App       string `msgpack:"app,omitempty"`
	Runner    string `msgpack:"runner,omitempty"`
	StartedAt int64  `msgpack:"started_at,omitempty"` // 0: not yet
}

// NodeRow is one node. Since is the age of its lease state, LastSeen that of its
// last frame; -1: never. Epoch 0: it never had a session. Timeline stands in the
// topic of the node alone: at most 50 changes, newest last.
type NodeRow struct {
	ID            string        `msgpack:"id"`
	Pool          string        `msgpack:"pool"`
	Owner         string        `msgpack:"owner"` // id of a user, or empty
	Role          string        `msgpack:"role"`
	Region        string        `msgpack:"region"`
	Lease         string        `msgpack:"lease"`
	Since         int64         `msgpack:"since_ms"`
	LastSeen      int64         `msgpack:"last_seen_ms"`
	Holds         []RowHold     `msgpack:"holds"`
	Accepting     bool          `msgpack:"accepting"`
	AcceptReason  string        `msgpack:"accept_reason"`
	Healthy       bool          `msgpack:"healthy"`
	HealthReasons []string      `msgpack:"health_reasons"`
	SlotsTotal    int64         `msgpack:"slots_total"`
	SlotsUsed     int64         `msgpack:"slots_used"`
	Memory        []Share       `msgpack:"memory"` // by domain; host is the machine's own
	Resources     []Share       `msgpack:"resources"`
	Running       []NodeWork    `msgpack:"running"`
	Placements    int64         `msgpack:"placements"` // that last there
	Backend       string        `msgpack:"backend"`
	Runners       []string      `msgpack:"runners"`
	Epoch         int64         `msgpack:"epoch"`
	AgentVersion  string        `msgpack:"agent_version"`
	OS            string        `msgpack:"os"`
	Arch          string        `msgpack:"arch"`
	MachineID     string        `msgpack:"machine_id"`
	Address       string        `msgpack:"address"`
	Endpoints     []Pair        `msgpack:"endpoints"`
	Labels        []Pair        `msgpack:"labels"`
	LoadMilli     int64         `msgpack:"load_milli"` // load average x 1000
	MemoryMiB     int64         `msgpack:"memory_mib"` // in use
	Spooled       int64         `msgpack:"spooled"`
	Skew          int64         `msgpack:"skew_ms,omitempty"` // of its clock against the server's, ahead when positive
	Version       int64         `msgpack:"version"`           // of the record, for If-Match
	Timeline      []LeaseChange `msgpack:"timeline,omitempty"`
}

// JobRow is one job. Waits says in words why it waits or why it runs where it
// runs, in the topic of the job alone.
type JobRow struct {
	ID        string `msgpack:"id"`
	App       string `msgpack:"app"`
	Runner    string `msgpack:"runner"`
	State     string `msgpack:"state"`
	Reason    string `msgpack:"reason"`
	Detail    string `msgpack:"detail"`
	Pool      string `msgpack:"pool"`
	Node      string `msgpack:"node"`
	Attempt   int64  `msgpack:"attempt"`
	Percent   int64  `msgpack:"percent"`
	Fallback  bool   `msgpack:"fallback"`
	Priority  int64  `msgpack:"priority"`
	CreatedAt int64  `msgpack:"created_at"`
	StartedAt int64  `msgpack:"started_at"`
	EndedAt   int64  `msgpack:"ended_at"`
	NotBefore int64  `msgpack:"not_before"` // 0: it may run at once
	Waits     string `msgpack:"waits,omitempty"`
}

// PlacementRow is one placement that lasts. Nodes are by rank; Left is how long
// until it expires unless it is renewed.
type PlacementRow struct {
	ID        string   `msgpack:"id"`
	App       string   `msgpack:"app"`
	Role      string   `msgpack:"role"`
	Key       string   `msgpack:"key"`
	Purpose   string   `msgpack:"purpose"`
	State     string   `msgpack:"state"`
	Nodes     []string `msgpack:"nodes"`
	Pools     []string `msgpack:"pools"` // of the nodes as they were placed
	Slots     int64    `msgpack:"slots"` // of each node
	Fallback  bool     `msgpack:"fallback"`
	CreatedAt int64    `msgpack:"created_at"`
	Left      int64    `msgpack:"left_ms"`
}

// Type names the message that the struct is the body of.
func (Subscribe) Type() Type      { return TypeSubscribe }
func (More) Type() Type           { return TypeMore }           // see Subscribe.Type
func (Unsubscribe) Type() Type    { return TypeUnsubscribe }    // see Subscribe.Type
func (Ping) Type() Type           { return TypePing }           // see Subscribe.Type
func (Pong) Type() Type           { return TypePong }           // see Subscribe.Type
func (WelcomeConsole) Type() Type { return TypeWelcomeConsole } // see Subscribe.Type
func (Snapshot) Type() Type       { return TypeSnapshot }       // see Subscribe.Type
func (Delta) Type() Type          { return TypeDelta }          // see Subscribe.Type
