//go:build !linux

package durable

import "os"

// SyncData makes what was written to a file survive a power cut.
func SyncData(f *os.File) error { return f.Sync() }
