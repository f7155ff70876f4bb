package view

import (
	"slices"
	"strconv"
	"strings"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/record"
	"rockpool/shared/wire"
)

// Viewer is who looks: what of each kind of object there is for them, with the
// rights of this moment. nil: they have no right to look at that kind.
type Viewer struct {
	Nodes  *record.Scope
	Pools  *record.Scope
	Jobs   *record.Scope
	Alarms *record.Scope
	// Placements are by their nodes' pools, and of an owner by the app's.
	Placements *record.Scope
}

func (w *Viewer) scope(topic string) *record.Scope {
	switch {
	case topic == wire.TopicFleet, topic == wire.TopicPools:
		return w.Pools
	case topic == wire.TopicJobs, strings.HasPrefix(topic, wire.TopicJob):
		return w.Jobs
	case topic == wire.TopicAlarms:
		return w.Alarms
	case topic == wire.TopicPlacements:
		return w.Placements
	}
	return w.Nodes
}

// keyOf is the key under which the viewer sees the topic, with the scope that it
// stands for. Errors: forbidden.
func keyOf(who *Viewer, topic string, filter wire.Filter) (key, record.Scope, error) {
	scope := who.scope(topic)
	if scope == nil {
		return key{}, record.Scope{}, fleet.Errorf(fleet.CodeForbidden, "you may not see "+topic)
	}
	return key{topic: topic, filter: filter, scope: scopeText(*scope)}, *scope, nil
}

// scopeText is one spelling of each scope.
func scopeText(s record.Scope) string {
	if s.All() {
		return ""
	}
	var b strings.Builder
	b.WriteString("of ")
	if s.Owner != nil {
		b.WriteString(strconv.FormatInt(*s.Owner, 10))
	}
	pools := slices.Clone(s.Pools)
	slices.Sort(pools)
	for _, p := range slices.Compact(pools) {
		b.WriteString(" " + p)
	}
	return b.String()
}

// poolsSeen tells which pools are there within a scope: those that it names, and
// of an owner their own, the shared one and those that their nodes are in.
func (s *state) poolsSeen(scope record.Scope) func(pool string) bool {
	if scope.All() {
		return func(string) bool { return true }
	}
	seen := map[string]bool{}
	for _, p := range scope.Pools {
		seen[p] = true
	}
	if scope.Owner != nil {
		seen[fleet.OwnerPool(*scope.Owner)], seen[fleet.PoolDefault] = true, true
		for _, n := range s.nodes {
			if n.view.Record.Owner == *scope.Owner {
				seen[n.view.Record.Pool] = true
			}
		}
	}
	return func(pool string) bool { return seen[pool] }
}

// seesAlarm reports an alarm that is there within a scope: of its pools, of the
// owner's own one, or of a node that is there.
func (s *state) seesAlarm(scope record.Scope, a *fleet.Alarm) bool {
	if scope.Sees(0, a.Pool) || scope.Owner != nil && a.Pool == fleet.OwnerPool(*scope.Owner) {
		return true
	}
	n := s.nodes[a.Node]
	return n != nil && scope.Sees(n.view.Record.Owner, n.view.Record.Pool)
}

// waitsSeen are the queue times: of the whole fleet, for those who see all of it.
func (s *state) waitsSeen(scope record.Scope) core.Waits {
	if !scope.All() {
		return core.Waits{}
	}
	return s.waits
}

// poolOf is the pool by which a job is seen: the one that it was placed in; of a
// job that never was, the first that its decision tried.
func poolOf(placed string, d *fleet.Decision) string {
	if placed == "" && d != nil && len(d.Pools) > 0 {
		return d.Pools[0].Pool
	}
	return placed
}
