package api

import (
	"slices"
	"strconv"
	"strings"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

// asks is what work asks of a node, with the fleet as it is: what reasons are told by.
type asks struct {
	spec *fleet.JobSpec
	now  *core.FleetView
}

// words says of several nodes, all with this reason, what they have and what is
// asked. Without anything to say beyond the reason's own words it gives those.
func (a *asks) words(r fleet.Reason, nodes []core.NodeReasons) string {
	var has []string
	for i := range nodes {
		if n := viewOf(a.now, nodes[i].Node); n != nil {
			if word := a.has(r, n); word != "" && !slices.Contains(has, word) {
				has = append(has, word)
			}
		}
	}
	if len(has) == 0 {
		return r.Words()
	}
	switch said := andMore(has); r {
	case fleet.NoSlots:
		return strconv.FormatInt(a.spec.Demands.Slots, 10) + " asked; " + said + " free"
	case fleet.WrongBackend:
		return "the job asks for " + a.spec.Backend + ", they run " + said
	case fleet.WrongRegion:
		return "the job asks for " + a.spec.Region + ", they are in " + said
	case fleet.WrongRole:
		return "the job asks for " + a.spec.Role + ", they are " + said
	case fleet.NoRunner:
		return "the job asks for " + a.spec.Runner + ", they have " + said
	default:
		return said
	}
}

// has is what one node has of what the reason is about, or why it is as it is.
func (a *asks) has(r fleet.Reason, n *core.NodeView) string {
	switch r {
	case fleet.NoSlots:
		return strconv.FormatInt(n.Free.Slots, 10)
	case fleet.WrongBackend:
		return n.Record.Backend
	case fleet.WrongRegion:
		return n.Record.Region
	case fleet.WrongRole:
		return n.Record.Role
	case fleet.NoRunner:
		return strings.Join(n.Record.Runners, ", ")
	case fleet.LeaseNotReady:
		return n.Lease.String()
	case fleet.Unhealthy:
		return strings.Join(append(slices.Clone(n.HealthReasons), n.AcceptReason), " ")
	case fleet.NoResource:
		name, free, asked := shortage(n.Free.Resources, a.spec.Demands.Resources)
		return name + ": " + freeAndAsked(free, asked, "")
	case fleet.NoMemory:
		name, free, asked := shortage(n.Free.Memory, a.spec.Demands.Memory)
		return name + ": " + freeAndAsked(free, asked, " MiB")
	}
	if h, held := holdFor(r, n.Record.Holds); held {
		return holdWords(h)
	}
	return ""
}

// holdFor finds the hold that is the reason.
func holdFor(r fleet.Reason, holds []fleet.Hold) (fleet.Hold, bool) {
	at := slices.IndexFunc(holds, func(h fleet.Hold) bool { return heldFor[h.Kind] == r })
	if at < 0 {
		return fleet.Hold{}, false
	}
	return holds[at], true
}

var heldFor = map[fleet.HoldKind]fleet.Reason{
	fleet.HoldCordon: fleet.Cordoned, fleet.HoldDrain: fleet.Draining, fleet.HoldQuarantine: fleet.Quarantine, fleet.HoldAuto: fleet.AutoHold,
}

// holdWords says whose hold it is and why.
func holdWords(h fleet.Hold) string {
	words := string(h.Kind)
	if h.Actor != "" {
		words += " by " + h.Actor
	}
	if h.Reason != "" {
		words += ": " + h.Reason
	}
	return words
}

// saidAtMost so many different things are told of nodes with one reason.
const saidAtMost = 3

// andMore reads "4, 2 and 3", or "4, 2, 3 and more".
func andMore(list []string) string {
	switch {
	case len(list) > saidAtMost:
		return strings.Join(list[:saidAtMost], ", ") + " and more"
	case len(list) > 1:
		return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
	}
	return list[0]
}
