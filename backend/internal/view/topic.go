package view

import (
	"slices"
	"strings"

	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
	"rockpool/shared/wire"
)

// Scope says on whose objects somebody may look.
type Scope uint8

// None: on none, own: on those of the user, all: on everybody's.
const (
	ScopeNone Scope = iota
	ScopeOwn
	ScopeAll
)

// Viewer is who looks, with the rights of this moment.
type Viewer struct {
	User  int64
	Nodes Scope
	Pools Scope
	Jobs  Scope
}

// key names a topic as it is seen: who has the same key sees the same rows.
type key struct {
	topic  string
	filter wire.Filter
	owner  int64 // 0: everybody's
}

// keyOf is the key under which the viewer sees the topic. Errors: bad_request,
// forbidden.
func keyOf(who *Viewer, topic string, filter wire.Filter) (key, error) {
	scope := who.scope(topic)
	k := key{topic: topic, filter: filter}
	switch scope {
	case ScopeNone:
		return k, fleet.Errorf(fleet.CodeForbidden, "you may not see "+topic)
	case ScopeOwn:
		k.owner = who.User
	}
	return k, nil
}

func (w *Viewer) scope(topic string) Scope {
	switch {
	case topic == wire.TopicFleet, topic == wire.TopicPools:
		return w.Pools
	case topic == wire.TopicJobs, strings.HasPrefix(topic, wire.TopicJob):
		return w.Jobs
	}
	return w.Nodes
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

func suffix(topic, prefix string) string {
	id, ok := strings.CutPrefix(topic, prefix)
	if !ok {
		return ""
	}
	return id
}

// sees reports whether an object of that owner is among the rows.
func (k *key) sees(owner int64) bool { return k.owner == 0 || owner == k.owner }

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
	if kind, ok := heldAs[f.State]; ok {
		return slices.ContainsFunc(n.view.Record.Holds, func(h fleet.Hold) bool { return h.Kind == kind })
	}
	return n.view.Lease.String() == f.State
}

// heldAs are the states of a filter that ask for a kind of hold.
var heldAs = map[string]fleet.HoldKind{
	wire.StateCordoned: fleet.HoldCordon, wire.StateDraining: fleet.HoldDrain,
	wire.StateQuarantined: fleet.HoldQuarantine, wire.StateAutoHeld: fleet.HoldAuto,
}
