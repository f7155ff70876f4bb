//go:build unix

package runner

import "golang.org/x/sys/unix"

// plainOnly opens no link, and waits for nobody at a pipe.
const plainOnly = unix.O_NOFOLLOW | unix.O_NONBLOCK
