package e2e

import (
	"fmt"
	"slices"
	"testing"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// TestInventory_OfARealAgentStandsWithItsNode, and is not written again by the
// agent's next process, which finds nothing changed.
func TestInventory_OfARealAgentStandsWithItsNode(t *testing.T) {
	t.Parallel()
	u, w := newTenant(t, server(t)), newWorkshop(t)
	a := u.agent("has-things", 1, w)
	told := func(epoch int64) backendtest.Node {
		var node backendtest.Node
		rig.Await(t, patience, func() (bool, string) {
			var err error
			node, err = u.s.Admin.Node(t.Context(), a.Name)
			return err == nil && node.Epoch > epoch && node.Inventory != nil, fmt.Sprintf("epoch %d, %+v, %v", node.Epoch, node.Inventory, err)
		})
		return node
	}
	first := told(0)
	i := first.Inventory
	if i.Stale || i.Platform == "" || !slices.Contains(i.Archs, first.Arch) || i.ArtifactDisk.TotalMib == 0 || len(i.Memory) == 0 || i.Memory[0].TotalMib == 0 {
		t.Errorf("inventory %+v", i)
	}
	a.Kill(t)
	a.Start(t)
	if again := told(first.Epoch).Inventory; again.Rev == i.Rev && again.At != i.At {
		t.Errorf("the same inventory was written again at %v", again.At)
	}
}
