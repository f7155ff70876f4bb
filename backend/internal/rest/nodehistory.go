package rest

// NodeHistory is what the server remembers of a node since it started: a bounded
// number of each.
type NodeHistory struct {
	Node         string         `json:"node"`
	At           Time           `json:"at"`
	SessionSince *Time          `json:"sessionSince,omitempty"` // of the newest; absent: none since the server started
	SuspectMs    int64          `json:"suspectMs"`              // so long without a frame makes it suspect
	LostMs       int64          `json:"lostMs"`
	HeartbeatMs  int64          `json:"heartbeatMs"`           // so often it says that it lives
	RoundTripMs  int64          `json:"roundTripMs,omitempty"` // of a heartbeat, as the node measured it; absent: not told yet
	Decisions    []NodeDecision `json:"decisions"`             // those of now first, then the newest first
	Chosen       int64          `json:"chosen"`                // how often it was chosen since chosenSince
	ChosenSince  Time           `json:"chosenSince"`           // 24 to 25 hours ago, or the server's start
	Log          []NodeLogLine  `json:"log"`                   // newest first
}

// NodeDecision is one that chose the node, or that rejects it now.
type NodeDecision struct {
	At      *Time  `json:"at,omitempty"` // absent: of now, of a job that waits
	Outcome string `json:"outcome"`      // chosen, rejected
	Job     string `json:"job"`
	App     string `json:"app"`
	Reason  string `json:"reason"`
}

// NodeLogLine is one thing that happened on a node.
type NodeLogLine struct {
	At   Time   `json:"at"`
	Text string `json:"text"`
}
