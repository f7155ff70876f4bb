package session

import (
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/wire"
)

// inventoryOf is what a node says that it has, as it is stored.
func inventoryOf(m *wire.Inventory) *fleet.Inventory {
	inventory := &fleet.Inventory{
		Rev: m.Rev, Platform: m.Platform, Archs: m.Archs, Commands: m.Commands, Isolation: m.Isolation, Stale: m.Stale,
		DiskTotal: m.ArtifactDisk.Total, DiskFree: m.ArtifactDisk.Free,
	}
	for _, a := range m.Accelerators {
		inventory.Accelerators = append(inventory.Accelerators, fleet.Accelerator(a))
	}
	for _, d := range m.Memory {
		inventory.Memory = append(inventory.Memory, fleet.MemoryDomain(d))
	}
	for _, l := range m.Links {
		inventory.Links = append(inventory.Links, fleet.NodeLink(l))
	}
	for _, c := range m.Cached {
		inventory.Cached = append(inventory.Cached, fleet.CachedArtifact(c))
	}
	return inventory
}
