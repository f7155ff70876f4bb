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
	Refusal   *Refusal   `json:"refusal,omitempty"` // the last one since the newest welcome
	Node      string     `json:"node,omitempty"`    // empty: not registered yet
	Process   string     `json:"process"`           // a new one with each start; a copy of the state directory has its own
	Machine   string     `json:"machine,omitempty"` // SHA-256 in hex; empty: nothing names this machine
	Pool      string     `json:"pool,omitempty"`    // as the newest welcome said
	Epoch     int64      `json:"epoch"`
	LastAck   *time.Time `json:"lastAck,omitempty"` // newest acknowledged heartbeat
	Accepting bool       `json:"accepting"`
	Reason    string     `json:"reason,omitempty"` // why it takes no new work
	Slots     int        `json:"slots"`
	Used      int        `json:"used"`
	Spooled   int        `json:"spooled"` // results that wait for the control plane
	Backend   string     `json:"backend"`
	Runners   []string   `json:"runners"`
	Isolation []string   `json:"isolation"` // what keeps jobs apart and within their limits
	Running   []Running  `json:"running"`
}

// Refusal is what the control plane has against this node.
type Refusal struct {
	Code   string    `json:"code"` // of its answer: a word, an HTTP status, or a close code in words
	Detail string    `json:"detail"`
	Advice string    `json:"advice,omitempty"` // what a person is to do; empty: it may pass by itself
	Since  time.Time `json:"since"`            // first of those in a row with this code
}

// Short is enough of a process or machine to tell it from another, as the control
// plane's command line shows it.
func Short(id string) string { return id[:min(len(id), 12)] }

// Running is one attempt that the node holds.
type Running struct {
	Job     string `json:"job"`
	Attempt int64  `json:"attempt"`
	Phase   string `json:"phase"`
}
