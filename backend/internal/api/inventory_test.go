package api

import (
	"net/http"
	"testing"

	"rockpool/backend/internal/rest"
)

func TestNode_TellsItsInventory(t *testing.T) {
	w := newWorld(t)
	i := read[rest.Node](t, w.asUser(ann, http.MethodGet, "/v1/nodes/node-7", "")).Inventory
	if i == nil || i.Rev != 3 || !i.Stale || i.ArtifactDisk != (rest.DiskSpace{TotalMib: 100, FreeMib: 50}) || len(i.Memory) != 1 || i.Memory[0].TotalMib != 2048 || i.Links[0].Mbps != 1000 {
		t.Errorf("inventory %+v", i)
	}
	if i != nil && (i.Accelerators == nil || i.Cached == nil || i.Commands == nil || i.Archs == nil) {
		t.Error("an empty list is null in the document")
	}
	for _, n := range read[rest.List[rest.Node]](t, w.asUser(root, http.MethodGet, "/v1/nodes", "")).Items {
		if n.Inventory != nil {
			t.Errorf("the list holds the inventory of %s", n.ID)
		}
	}
}
