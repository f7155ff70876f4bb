//go:build !linux

package leash

import "syscall"

// tie has no counterpart here: a child may outlive its parent.
func tie(*syscall.SysProcAttr, syscall.Signal) {}
