package sim

import "rockpool/backend/internal/core/fleet"

// Scenario is a fleet, what is asked of it, what happens to it, and what must
// come of that. Every moment in it is a time after its begin.
type Scenario struct {
	Name     string `toml:"-"`
	Title    string `toml:"title"`
	Seed     uint64 `toml:"seed"`
	Duration Span   `toml:"duration"`
	// Heartbeat interval of the nodes; 10 s when not said. Suspect and lost follow.
	Heartbeat Span `toml:"heartbeat"`
	// Redial window that nodes are told; 5 s when not said.
	Redial Span `toml:"redial"`

	Network Network    `toml:"network"`
	Store   StoreModel `toml:"store"`

	Pools  []Pool   `toml:"pool"`
	Apps   []App    `toml:"app"`
	Nodes  []Nodes  `toml:"nodes"`
	Demand []Demand `toml:"demand"`
	Churn  []Churn  `toml:"churn"`
	Steps  []Step   `toml:"at"`
	Swarm  *Swarm   `toml:"swarm"`
	Expect []Expect `toml:"expect"`

	// Oracle compares every placement at a submit with a scan over all nodes.
	Oracle bool `toml:"oracle"`
}

// Network is how messages travel.
type Network struct {
	RTT     string `toml:"rtt"`  // "lan" (default) or "seattle": measured between homes
	Loss    Share  `toml:"loss"` // of messages, each sent again after a pause
	Samples []Time `toml:"-"`    // round trips of the matrix, in ms
}

// Share is a part of 1.
type Share = float64

// StoreModel is how long transactions take.
type StoreModel struct {
	Commit  Span  `toml:"commit"`  // at most; 4 ms when not said
	Fail    Share `toml:"fail"`    // of the transactions
	Unknown Share `toml:"unknown"` // of the transactions: half of them were committed
}

// Pool is one that nobody gets by being there: default, unassigned and the pools
// of apps' and nodes' owners exist anyway.
type Pool struct {
	ID          string          `toml:"id"`
	State       fleet.PoolState `toml:"state"`
	QueueWait   Span            `toml:"queue_wait"`
	NotReadyPct int32           `toml:"not_ready_pct"`
}

// App with at most one binding for every role.
type App struct {
	ID       string   `toml:"id"`
	Owner    int64    `toml:"owner"`
	Pools    []string `toml:"pools"`
	Fallback bool     `toml:"fallback"`
}

// Nodes are Count nodes alike. With more than one their names are <id>-00,
// <id>-01 and so on.
type Nodes struct {
	ID      string   `toml:"id"`
	Count   int      `toml:"count"`
	Pool    string   `toml:"pool"`
	Owner   int64    `toml:"owner"`
	Role    string   `toml:"role"`
	Zone    string   `toml:"zone"`
	Slots   int64    `toml:"slots"`
	Memory  int64    `toml:"memory"` // MiB of the domain ram
	Runners []string `toml:"runners"`
	Backend string   `toml:"backend"`
	Joins   Span     `toml:"joins"` // the processes begin within this time
	// Spoils is how its work ends: "" as the job says, "start_failed", "exit_code",
	// or "hang": never.
	Spoils string           `toml:"spoils"`
	Extra  []fleet.Quantity `toml:"-"` // further resources
}

// Demand is work that clients ask for.
type Demand struct {
	App   string `toml:"app"`
	Role  string `toml:"role"`
	From  Span   `toml:"from"`
	Until Span   `toml:"until"` // the scenario's end when not said
	// Count jobs at From, Every one after the other, or Rate a second at random.
	Count    int      `toml:"count"`
	Every    Span     `toml:"every"`
	Rate     float64  `toml:"rate"`
	Runner   string   `toml:"runner"`
	Slots    int64    `toml:"slots"`
	Memory   int64    `toml:"memory"`
	Run      Span     `toml:"run"`    // at most this; half of it at least
	Fails    Share    `toml:"fails"`  // end with an exit code
	Cancel   Share    `toml:"cancel"` // are canceled while they wait or run
	Attempts int32    `toml:"attempts"`
	Priority int32    `toml:"priority"`
	OnLost   string   `toml:"on_node_lost"`
	OnFull   string   `toml:"when_exhausted"`
	Pool     string   `toml:"pool"` // canary jobs
	Apps     []string `toml:"apps"` // at random, instead of App
	Trace    []Task   `toml:"-"`
	TraceOf  string   `toml:"trace"` // "openb": a recorded load
	Speed    float64  `toml:"speed"` // of the trace
}

// Task is a job of a recorded load.
type Task struct {
	At      Time
	Run     Time
	Demands fleet.Vector
}

// Churn lets nodes come and go by a measured distribution (Weibull fits).
type Churn struct {
	Nodes  string  `toml:"nodes"`
	Fit    string  `toml:"fit"`   // e.g. "skype06"
	Scale  float64 `toml:"scale"` // of all times: 0.01 plays a day in a quarter of an hour
	Power  Share   `toml:"power"` // of the ends come without a word
	Up     Weibull `toml:"-"`
	Down   Weibull `toml:"-"`
	Until  Span    `toml:"until"`
	HourMs float64 `toml:"-"`
}

// Weibull is a distribution of times; its scale is in ms.
type Weibull struct{ Shape, Scale float64 }

// Step is one line of the script: what an operator, the machines or the network
// do at a time. See Actions for the words.
type Step struct {
	T        Span     `toml:"t"`
	Do       string   `toml:"do"`
	Every    Span     `toml:"every"` // it is done again and again, until then
	Until    Span     `toml:"until"`
	Nodes    string   `toml:"nodes"` // an id, "<id>-*", "zone:<zone>", "pool:<pool>", "running:<app>" or "*"
	Pool     string   `toml:"pool"`
	State    string   `toml:"state"`
	App      string   `toml:"app"`
	Pools    []string `toml:"pools"`
	Fallback bool     `toml:"fallback"`
	For      Span     `toml:"for"`   // how long it lasts; 0: for good
	Share    Share    `toml:"share"` // of messages or transactions
	Count    int      `toml:"count"`
	Slots    int64    `toml:"slots"`  // place: of each node
	Spread   int32    `toml:"spread"` // place: on so many distinct nodes each
	Key      string   `toml:"key"`    // place: whoever asks with it shares one
	Way      string   `toml:"way"`    // partition: "up" (to the server), "down" or both
	By       string   `toml:"by"`     // clock_jump: "+1h" or "-1h" of the wall clock
	Role     string   `toml:"role"`
	Runner   string   `toml:"runner"`
	Run      Span     `toml:"run"`
	Deadline Span     `toml:"deadline"` // of a drain, from then
	Spoils   string   `toml:"spoils"`
	Up       Span     `toml:"up"` // of a flapping node
	Down     Span     `toml:"down"`
	To       string   `toml:"to"`   // promote: the pool to move to
	Jobs     int64    `toml:"jobs"` // promote: canary jobs that must have succeeded
	Fault    bool     `toml:"-"`    // a seed made it
}

// Swarm draws faults by the seed until Until; then everything heals.
type Swarm struct {
	From  Span `toml:"from"`
	Until Span `toml:"until"`
	Mean  Span `toml:"mean"` // between two faults
}

// Expect is one figure that must hold: of a counter (see Counters), at the end or
// at At, less what it was at Since.
type Expect struct {
	Counter string `toml:"counter"`
	At      Span   `toml:"at"`
	Since   Span   `toml:"since"`
	Is      *int64 `toml:"is"`
	Min     *int64 `toml:"min"`
	Max     *int64 `toml:"max"`
	Same    string `toml:"same"` // as this counter
	Why     string `toml:"why"`
}
