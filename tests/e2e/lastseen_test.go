package e2e

import (
	"testing"
	"time"

	"rockpool/tests/rig"
)

// A planned stop writes when nodes were last seen: what people read does not go back.
func TestPlannedStop_KeepsWhenNodesWereLastSeen(t *testing.T) {
	t.Parallel()
	s := rig.NewServer(t, settings...)
	began := time.Now().Add(-time.Second)
	n := newTenant(t, s).node("seen", rig.RawOptions{})
	s.Stop(t)
	s.Start(t)
	if !query[bool](t, s, `SELECT EXISTS (SELECT FROM node_seen WHERE node_id = $1 AND last_seen >= $2)`, n.Name, began) {
		t.Error("the stop did not write when the node was last seen")
	}
}
