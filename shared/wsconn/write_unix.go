//go:build unix

package wsconn

import (
	"errors"
	"syscall"
)

// writeNow writes what the socket takes without waiting: maybe nothing.
func writeNow(fd uintptr, b []byte) (int, error) {
	n, err := syscall.Write(int(fd), b)
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR) {
		err = nil
	}
	return max(n, 0), err
}
