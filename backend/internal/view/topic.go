package view

import (
	"slices"
	"strings"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
	"rockpool/shared/wire"
)

// key names a topic as it is seen: who has the same key sees the same rows.
type key struct {
	topic  string
	filter wire.Filter
	scope  string // of rights, spelled out; empty: everything
}

// node is the id of a topic that is one node's, else empty.
func (k *key) node() string { return suffix(k.topic, wire.TopicNode) }

// job is the id of a topic that is one job's, else zero.
func (k *key) job() (id ids.JobID) {
	id, _ = ids.ParseJobID(suffix(k.topic, wire.TopicJob))
	return id
}

// ofJobs reports a topic whose rows are jobs.
func (k *key) ofJobs() bool {
	return k.topic == wire.TopicJobs || strings.HasPrefix(k.topic, wire.TopicJob)
}

// ofPools reports a topic that is made of the pools' sums.
func (k *key) ofPools() bool { return k.topic == wire.TopicFleet || k.topic == wire.TopicPools }

// ofAlarms reports the topic of alarms.
func (k *key) ofAlarms() bool { return k.topic == wire.TopicAlarms }

// ofPlacements reports the topic of placements.
func (k *key) ofPlacements() bool { return k.topic == wire.TopicPlacements }

func suffix(topic, prefix string) string {
	id, ok := strings.CutPrefix(topic, prefix)
	if !ok {
		return ""
	}
	return id
}

// passes reports whether the filter lets the node through.
func (k *key) passes(n *nodeState) bool {
	f := &k.filter
	if f.Pool != "" && n.view.Record.Pool != f.Pool {
		return false
	}
	switch f.State {
	case "":
		return true
	case wire.StateHeld:
		return len(n.view.Record.Holds) > 0
	}
	if kinds, ok := heldAs[f.State]; ok {
		return slices.ContainsFunc(n.view.Record.Holds, func(h fleet.Hold) bool { return slices.Contains(kinds, h.Kind) })
	}
	return n.view.Lease.String() == f.State
}

// heldAs are the states of a filter that ask for kinds of holds.
var heldAs = map[string][]fleet.HoldKind{
	wire.StateCordoned: {fleet.HoldCordon}, wire.StateDraining: {fleet.HoldDrain},
	wire.StateQuarantined: {fleet.HoldQuarantine}, wire.StateAutoHeld: {fleet.HoldAuto, fleet.HoldDeaf},
}
