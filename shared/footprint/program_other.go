//go:build !linux

package footprint

// unmapProgram is for Linux.
func unmapProgram() {}
