//go:build !linux

package inventory

import (
	"runtime"

	"rockpool/shared/wire"
)

// What can't be told without tools of the system is left out: it is not stale.

func platform(_ Machine, to *wire.Inventory) error {
	to.Platform, to.Archs = runtime.GOOS, []string{runtime.GOARCH}
	return nil
}

func memory(Machine, *wire.Inventory) error { return nil }

func accelerators(Machine, *wire.Inventory) error { return nil }
