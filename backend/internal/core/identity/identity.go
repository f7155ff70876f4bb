// Package identity judges whether a hello is the node's own. A node shows a value
// that changes with every session (the chain): who shows an older one came from a
// copy of its state. It is pure: values come in as sums, and verdicts go out.
package identity

import (
	"slices"

	"rockpool/backend/internal/core/fleet"
)

// Bounds of what is kept of a node's identity.
const (
	MaxPast      = 16 // earlier values
	MaxPending   = 4  // values that were given and not confirmed
	MaxClaimants = 4
	// MaxAhead is how many sessions a node may have had beyond those that the
	// database knows of for that to be the trace of a restored backup. A backup that
	// is older than that, or somebody who makes a number up, is a person's to judge.
	MaxAhead = 1000
)

// Presented is what a hello shows of who says it.
type Presented struct {
	ID           string    // that it gets if it becomes a new claimant
	Chain        fleet.Sum // zero: none
	MachineID    string
	BootID       string
	Address      string
	AgentVersion string
	LastEpoch    int64
}

// Seen is what this process knows of the node's sessions.
type Seen struct {
	Epoch     int64  // of the newest session
	Open      bool   // that session stands
	BootID    string // of that session; empty: unknown
	MachineID string // likewise, or what the node registered with
	// Earlier are processes that had sessions before that one, since anybody looked.
	Earlier []string
	// Confirmed reports that the node has confirmed a value to this process: its
	// database was not restored since.
	Confirmed bool
	Held      bool // it is in quarantine
}

// Verdict on a hello.
type Verdict uint8

// Own is the node; Restored is the node, and its database is older than it;
// Duplicate is somebody else, or one of two.
const (
	Own Verdict = iota
	Restored
	Duplicate
)

// Judge says whose a hello is.
func Judge(id *fleet.Identity, p *Presented, s *Seen) Verdict {
	switch {
	case id.Keep != "":
		if at := find(id, p); at >= 0 && id.Claimants[at].ID == id.Keep {
			return Own
		}
		return Duplicate
	case slices.Contains(id.Past, p.Chain) && p.Chain != fleet.Sum{}:
		return Duplicate
	case !right(id, p.Chain) && ahead(p, s):
		return Restored
	case !right(id, p.Chain):
		return Duplicate
	case s.Held:
		return judgeHeld(id, p)
	case together(p, s):
		return Duplicate
	case id.Current == fleet.Sum{} && ahead(p, s):
		return Restored
	}
	return Own
}

// ahead reports a node that has had a session which the database does not know of.
// That is no more than what it says: it counts only on the machine that the database
// does know, and within what a backup may be old.
func ahead(p *Presented, s *Seen) bool {
	by := p.LastEpoch - s.Epoch
	same := p.MachineID != "" && p.MachineID == s.MachineID
	return same && by > 0 && by <= MaxAhead && !s.Confirmed && !s.Held
}

// right reports a value that the node may show: its newest one, those that may not
// have reached it, and anything at all while it never showed one.
func right(id *fleet.Identity, chain fleet.Sum) bool {
	return id.Current == fleet.Sum{} || chain == id.Current || chain != fleet.Sum{} && slices.Contains(id.Pending, chain)
}

// judgeHeld decides between claimants that may show the same value: it is the
// holder, or the holder's machine after a restart.
func judgeHeld(id *fleet.Identity, p *Presented) Verdict {
	at := find(id, p)
	if at >= 0 && id.Claimants[at].Holder {
		return Own
	}
	_, known := id.Holder()
	if !known && (at < 0 || id.Claimants[at].Chain != p.Chain) {
		return Own
	}
	return Duplicate
}

// together finds two processes at once where the chain can't tell them apart yet.
// Another machine that comes while the session of the first stands is not its
// restart, and no process comes back after another one had a session.
func together(p *Presented, s *Seen) bool {
	other := p.MachineID != "" && s.MachineID != "" && p.MachineID != s.MachineID
	back := p.BootID != "" && p.BootID != s.BootID && slices.Contains(s.Earlier, p.BootID)
	return s.Open && other || back
}

// Opened is the identity after a session of p was taken: next is the value that
// its welcome brings; zero: none.
func Opened(id fleet.Identity, p *Presented, next fleet.Sum, now fleet.Time, held bool) fleet.Identity {
	holder, _ := id.Holder()
	at := find(&id, p) // as it was when p was judged
	switch known := right(&id, p.Chain) && (id.Keep == "" || id.Keep == holder.ID); {
	case known && p.Chain == id.Current: // also: neither ever was
	case known: // a value that had not been confirmed, or its first
		id.Past = past(id.Past, id.Current)
		id.Current, id.Pending = p.Chain, nil
	default: // a person's choice, or what a restored backup does not know
		id.Past = past(id.Past, append([]fleet.Sum{id.Current}, id.Pending...)...)
		id.Past = slices.DeleteFunc(id.Past, func(s fleet.Sum) bool { return s == p.Chain })
		id.Current, id.Pending = p.Chain, nil
	}
	if next != (fleet.Sum{}) {
		id.Pending = newest(append(slices.Clone(id.Pending), next), MaxPending)
	}
	if held {
		id.Claimants = claimed(&id, at, p, now, true)
	}
	return id
}

// Confirm is the identity after the first heartbeat of a session whose hello
// showed a value: from now on the newest pending one counts. False: nothing
// changes.
func Confirm(id fleet.Identity) (fleet.Identity, bool) {
	if len(id.Pending) == 0 || id.Current == (fleet.Sum{}) {
		return id, false
	}
	id.Past = past(id.Past, id.Current)
	id.Current, id.Pending = id.Pending[len(id.Pending)-1], nil
	return id, true
}

// Refused is the identity after p was refused as a duplicate. holder is the process
// whose session stood when the node was held, when that is now; nil: it is known, or
// none is.
func Refused(id fleet.Identity, p, holder *Presented, now fleet.Time) fleet.Identity {
	if holder != nil {
		first := holder.claimant(holder.ID, now, true)
		id.Claimants = []fleet.Claimant{first, p.claimant(unused([]fleet.Claimant{first}, p.ID), now, false)}
		return id
	}
	id.Claimants = claimed(&id, find(&id, p), p, now, false)
	return id
}

// Cleared is the identity once the quarantine and the rotation are over.
func Cleared(id fleet.Identity) fleet.Identity {
	id.Claimants, id.Keep, id.Rotation, id.NextSecret = nil, "", "", fleet.Sum{}
	return id
}

// Merged takes what people and the node's PUT wrote from the record, and what the
// core keeps from memory.
func Merged(record, memory fleet.Identity) fleet.Identity {
	memory.Keep, memory.Rotation, memory.NextSecret = record.Keep, record.Rotation, record.NextSecret
	return memory
}

// past keeps the newest values, without the zero one.
func past(list []fleet.Sum, more ...fleet.Sum) []fleet.Sum {
	list = slices.Clone(list)
	for _, s := range more {
		if s != (fleet.Sum{}) {
			list = append(list, s)
		}
	}
	return newest(list, MaxPast)
}

func newest(list []fleet.Sum, limit int) []fleet.Sum { return list[max(0, len(list)-limit):] }
