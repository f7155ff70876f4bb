// Package local is how a node's owner talks to the agent that runs: HTTP over a
// unix socket in the state directory, which is the owner's alone.
package local

import "time"

// Sessions of a Status.
const (
	SessionOpen = "open"
	SessionNone = "none" // the agent dials, again and again
)

// Status is what a running agent says of itself.
type Status struct {
	Version   string     `json:"version"`
	Server    string     `json:"server"`
	Session   string     `json:"session"`
	Node      string     `json:"node,omitempty"` // empty: not registered yet
	Pool      string     `json:"pool,omitempty"` // as the newest welcome said
	Epoch     int64      `json:"epoch"`
	LastAck   *time.Time `json:"lastAck,omitempty"` // newest acknowledged heartbeat
	Accepting bool       `json:"accepting"`
	Reason    string     `json:"reason,omitempty"` // why it takes no new work
	Slots     int        `json:"slots"`
	Used      int        `json:"used"`
	Spooled   int        `json:"spooled"` // results that wait for the control plane
	Backend   string     `json:"backend"`
	Runners   []string   `json:"runners"`
	Running   []Running  `json:"running"`
}

// Running is one attempt that the node holds.
type Running struct {
	Job     string `json:"job"`
	Attempt int64  `json:"attempt"`
	Phase   string `json:"phase"`
}
