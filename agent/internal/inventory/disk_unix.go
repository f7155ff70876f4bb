//go:build unix

package inventory

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// diskSpace gives what the disk of a directory has, in MiB. Free is what a user
// may still write.
func diskSpace(dir string) (total, free int64, err error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, 0, fmt.Errorf("read the disk of %s: %w", dir, err)
	}
	mib := func(blocks uint64) int64 { return int64(blocks * uint64(stat.Bsize) >> 20) }
	total = mib(uint64(stat.Blocks))
	return total, min(total, mib(uint64(stat.Bavail))), nil
}
