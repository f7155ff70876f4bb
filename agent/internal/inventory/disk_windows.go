package inventory

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// diskSpace gives what the disk of a directory has, in MiB. Free is what this user
// may still write.
func diskSpace(dir string) (total, free int64, err error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, 0, fmt.Errorf("read the disk of %s: %w", dir, err)
	}
	var available, all, unused uint64
	if err := windows.GetDiskFreeSpaceEx(path, &available, &all, &unused); err != nil {
		return 0, 0, fmt.Errorf("read the disk of %s: %w", dir, err)
	}
	return int64(all >> 20), int64(min(available, all) >> 20), nil
}
