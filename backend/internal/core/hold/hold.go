// Package hold has the rules of holds: whose they are, when they end by
// themselves, and what a node does that earns it one. It is pure. Lists of holds
// are shared with views and messages: every change makes a new list.
package hold

import (
	"cmp"
	"slices"

	"rockpool/backend/internal/core/fleet"
)

// OfCore reports a hold that the core puts and lifts by itself. The others are
// operators' and come with the node's record.
func OfCore(h fleet.Hold) bool { return h.Owner == fleet.OwnerAuto || h.Owner == fleet.OwnerSelf }

// InMemory reports a hold that is never written: what it says is of the node's
// session, and a new process finds it out anew.
func InMemory(h fleet.Hold) bool { return h.Owner == fleet.OwnerSelf || h.Kind == fleet.HoldDeaf }

// Merged takes operators' holds from the record and the others from memory, which
// is the authority for them.
func Merged(record, memory []fleet.Hold) []fleet.Hold {
	var list []fleet.Hold
	for _, h := range record {
		if !OfCore(h) {
			list = append(list, h)
		}
	}
	for _, h := range memory {
		if OfCore(h) {
			list = append(list, h)
		}
	}
	return sorted(list)
}

// With puts h in the list, in place of one of the same kind and owner.
func With(list []fleet.Hold, h fleet.Hold) []fleet.Hold {
	return sorted(append(Without(list, h.Kind, h.Owner), h))
}

// Without leaves the hold of that kind and owner out.
func Without(list []fleet.Hold, kind fleet.HoldKind, owner fleet.HoldOwner) []fleet.Hold {
	var rest []fleet.Hold
	for _, h := range list {
		if h.Kind != kind || h.Owner != owner {
			rest = append(rest, h)
		}
	}
	return rest
}

// Find gives the hold of that kind and owner.
func Find(list []fleet.Hold, kind fleet.HoldKind, owner fleet.HoldOwner) (fleet.Hold, bool) {
	at := slices.IndexFunc(list, func(h fleet.Hold) bool { return h.Kind == kind && h.Owner == owner })
	if at < 0 {
		return fleet.Hold{}, false
	}
	return list[at], true
}

// sorted is the order in which the database gives them, too.
func sorted(list []fleet.Hold) []fleet.Hold {
	slices.SortFunc(list, func(a, b fleet.Hold) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Owner, b.Owner))
	})
	return list
}

// Bounded keeps automatic holds, as the database gave them, from lasting longer than
// they ever may: their end is stored as a wall time, and the wall clock may have been
// set back since.
func Bounded(list []fleet.Hold, now fleet.Time) []fleet.Hold {
	list = slices.Clone(list)
	for i := range list {
		if h := &list[i]; h.Owner == fleet.OwnerAuto && h.Until != 0 {
			h.Until = min(h.Until, now+max(FlapHold, RejectionHold))
		}
	}
	return list
}

// Ended lists the holds whose time has passed.
func Ended(list []fleet.Hold, now fleet.Time) (ended []fleet.Hold) {
	for _, h := range list {
		if h.Until != 0 && h.Until <= now {
			ended = append(ended, h)
		}
	}
	return ended
}

// Drains reports a drain among the holds; over: one whose deadline has passed.
func Drains(list []fleet.Hold, now fleet.Time) (drains, over bool) {
	for _, h := range list {
		if h.Kind == fleet.HoldDrain {
			drains = true
			over = over || h.Deadline != 0 && h.Deadline <= now
		}
	}
	return drains, over
}

// Next is the first moment after now at which a hold ends or a drain's deadline
// passes; fleet.Never: none does.
func Next(list []fleet.Hold, now fleet.Time) fleet.Time {
	next := fleet.Never
	for _, h := range list {
		if h.Until > now {
			next = min(next, h.Until)
		}
		if h.Kind == fleet.HoldDrain && h.Deadline > now {
			next = min(next, h.Deadline)
		}
	}
	return next
}
