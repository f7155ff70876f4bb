//go:build unix

package durable

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// IsFull reports an error of a disk that has no room, or of a quota.
func IsFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// Space gives what the disk of a folder has, in bytes. Free is what this user may
// still write.
func Space(dir string) (total, free int64, err error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, 0, fmt.Errorf("read the disk of %s: %w", dir, err)
	}
	bytes := func(blocks uint64) int64 { return int64(blocks * uint64(stat.Bsize)) }
	total = bytes(uint64(stat.Blocks))
	return total, min(total, bytes(uint64(stat.Bavail))), nil
}
