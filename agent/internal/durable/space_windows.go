package durable

import (
	"errors"
	"fmt"

	"golang.org/x/sys/windows"
)

// IsFull reports an error of a disk that has no room, or of a quota.
func IsFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// Space gives what the disk of a folder has, in bytes. Free is what this user may
// still write.
func Space(dir string) (total, free int64, err error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, 0, fmt.Errorf("read the disk of %s: %w", dir, err)
	}
	var available, all, unused uint64
	if err := windows.GetDiskFreeSpaceEx(path, &available, &all, &unused); err != nil {
		return 0, 0, fmt.Errorf("read the disk of %s: %w", dir, err)
	}
	return int64(all), int64(min(available, all)), nil
}
