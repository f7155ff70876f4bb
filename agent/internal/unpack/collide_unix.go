//go:build unix

package unpack

import (
	"errors"

	"golang.org/x/sys/unix"
)

// collides reports what a file system says of a name that can't be there.
func collides(err error) bool {
	return errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.ENAMETOOLONG) || errors.Is(err, unix.EINVAL)
}
