package api

import (
	"rockpool/backend/internal/record"
	"rockpool/backend/internal/rest"
)

// inventoryDoc is what a node says that it has; nil: it has told nothing.
func inventoryDoc(i *record.Inventory) *rest.Inventory {
	if i == nil {
		return nil
	}
	doc := &rest.Inventory{
		Rev: i.Rev, At: rest.At(i.At), Stale: i.Stale, Platform: i.Platform,
		Archs: append([]string{}, i.Archs...), Commands: append([]string{}, i.Commands...), Isolation: append([]string{}, i.Isolation...),
		Accelerators: make([]rest.Accelerator, len(i.Accelerators)), Memory: make([]rest.MemoryDomain, len(i.Memory)),
		Links: make([]rest.NodeLink, len(i.Links)), Cached: make([]rest.CachedArtifact, len(i.Cached)),
		ArtifactDisk: rest.DiskSpace{TotalMib: i.DiskTotal, FreeMib: i.DiskFree},
	}
	for n, a := range i.Accelerators {
		doc.Accelerators[n] = rest.Accelerator(a)
	}
	for n, m := range i.Memory {
		doc.Memory[n] = rest.MemoryDomain{Name: m.Name, Kind: m.Kind, TotalMib: m.Total}
	}
	for n, l := range i.Links {
		doc.Links[n] = rest.NodeLink{Peer: l.Peer, Kind: l.Kind, Mbps: l.Bandwidth}
	}
	for n, c := range i.Cached {
		doc.Cached[n] = rest.CachedArtifact(c)
	}
	return doc
}
