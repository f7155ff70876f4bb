package durable

import (
	"os"

	"golang.org/x/sys/unix"
)

// SyncData makes what was written to a file survive a power cut, and of the file's
// description what reading it takes.
func SyncData(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
