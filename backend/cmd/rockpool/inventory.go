package main

import (
	"fmt"

	"rockpool/backend/internal/rest"
)

// inventoryFacts adds what a node says that it has.
func inventoryFacts(g *grid, i *rest.Inventory) {
	if i == nil {
		return
	}
	g.fact("runs on", i.Platform)
	g.fact("archs", i.Archs)
	for _, a := range i.Accelerators {
		g.fact("accelerator", joinDetail(a.Name+", "+a.Kind, a.Model))
	}
	for _, m := range i.Memory {
		g.fact("installed", fmt.Sprintf("%s: %d MiB %s", m.Name, m.TotalMib, m.Kind))
	}
	for _, l := range i.Links {
		g.fact("link", fmt.Sprintf("%s over %s, %d Mbit/s", l.Peer, l.Kind, l.Mbps))
	}
	if i.ArtifactDisk.TotalMib > 0 {
		g.fact("disk", fmt.Sprintf("%d of %d MiB free", i.ArtifactDisk.FreeMib, i.ArtifactDisk.TotalMib))
	}
	if len(i.Cached) > 0 {
		g.fact("cached", fmt.Sprintf("%d artifacts", len(i.Cached)))
	}
	g.fact("commands", i.Commands)
	g.fact("isolation", i.Isolation)
	if i.Stale {
		g.fact("inventory", "stale: a part could not be collected and says what it said before")
	}
}
