package core

import (
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

// SendKind tells what a Send carries.
type SendKind uint8

// What the core sends to nodes.
const (
	SendOffer SendKind = iota
	SendStart
	SendVoid
	SendCancel
	SendResultAck
	SendHeartbeatAck
	SendWelcome
	SendError
	SendRotate
	SendClose // close the session with Code
	SendProbe // an offer of no job, with Spec: any answer will do
)

// Verdict on a result.
type Verdict uint8

// The verdicts; each frees the node's spool.
const (
	VerdictStored Verdict = iota
	VerdictDuplicate
	VerdictFenced
	VerdictCanceled
)

// Attempt names one attempt of one job.
type Attempt struct {
	Job     ids.JobID
	Attempt int32
	GraceMs int64 // of a cancel
}

// Send is a message to one session of one node. Only the fields of its kind are set.
type Send struct {
	Kind    SendKind
	Node    string
	Epoch   int64
	Job     ids.JobID
	Attempt int32

	Spec    *fleet.JobSpec // offer
	Verdict Verdict        // result_ack
	GraceMs int64          // cancel
	Ack     *HeartbeatAck  // heartbeat_ack
	Welcome *Welcome       // welcome
	Rotate  string         // rotate: the rotation
	Code    fleet.Code     // error, close
	Detail  string         // error, close
}

// HeartbeatAck repeats what must be true of the node until it is.
type HeartbeatAck struct {
	OK     bool
	Holds  []fleet.Hold
	Cancel []Attempt
	Void   []Attempt
}

// Nearly every acknowledgement says one of these. Nobody changes them.
var unknownSession, plainAck = &HeartbeatAck{}, &HeartbeatAck{OK: true}

// Plain reports one that has nothing to ask of the node.
func (a *HeartbeatAck) Plain() bool { return a.OK && len(a.Holds)+len(a.Cancel)+len(a.Void) == 0 }

// kept is a of which there may be many.
func (a HeartbeatAck) kept() *HeartbeatAck {
	if a.Plain() {
		return plainAck
	}
	kept := a
	return &kept
}

// Welcome answers a hello whose session is committed.
type Welcome struct {
	Pool  string
	Holds []fleet.Hold
	Void  []Attempt
}
