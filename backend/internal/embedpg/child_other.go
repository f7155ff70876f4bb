//go:build !linux

package embedpg

import "syscall"

// dieWithParent has no counterpart here: a postmaster that outlives us is found
// and stopped by the next start.
func dieWithParent(*syscall.SysProcAttr) {}
