package agent

import (
	"time"

	"golang.org/x/sys/unix"
)

// suspended is how long the machine has been asleep since its boot: the clock that
// goes on then, less the one that stands still. Setting the wall clock moves neither.
func suspended() time.Duration {
	var boot, mono unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil || unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono) != nil {
		return 0
	}
	return time.Duration(boot.Nano() - mono.Nano())
}
