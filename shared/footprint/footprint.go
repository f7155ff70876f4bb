// Package footprint gives back memory that a program's start took and that its
// running does not need.
package footprint

import "runtime/debug"

// Shrink gives back what is free of the heap and, on Linux, the pages of the
// program's own file, which the kernel counts as the process's while they are
// mapped. Those are clean: what is used of them again comes back from the page
// cache, 64 KiB with a fault. It takes some milliseconds and is for the end of a
// start.
func Shrink() {
	debug.FreeOSMemory()
	unmapProgram()
}
