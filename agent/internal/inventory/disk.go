package inventory

import (
	"rockpool/agent/internal/durable"
	"rockpool/shared/wire"
)

// artifactDisk tells how much of the disk is free in steps of a 32nd of it, so
// that a busy node has no news with every file.
func artifactDisk(m Machine, to *wire.Inventory) error {
	total, free, err := durable.Space(m.Dir)
	if err != nil {
		return err
	}
	total, free = total>>20, free>>20 // MiB
	step := max(1, total/32)
	to.ArtifactDisk = wire.DiskSpace{Total: total, Free: free / step * step}
	return nil
}
