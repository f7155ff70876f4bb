package unpack

import (
	"errors"

	"golang.org/x/sys/windows"
)

// collides reports what a file system says of a name that can't be there.
func collides(err error) bool {
	return errors.Is(err, windows.ERROR_PATH_NOT_FOUND) || errors.Is(err, windows.ERROR_INVALID_NAME) || errors.Is(err, windows.ERROR_DIRECTORY)
}
