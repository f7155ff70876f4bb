package identity

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// lock holds a state directory for one process; the system lets go of it when the
// process dies.
type lock struct{ file *os.File }

func takeLock(path string) (*lock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the state directory: %w", err)
	}
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	if err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped)); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%w: stop it, or set state_dir to another directory (%s): %w", ErrInUse, path, err)
	}
	return &lock{f}, nil
}

func (l *lock) release() error { return l.file.Close() }

// ensurePrivate makes the state directory; it has the rights of its parent.
func ensurePrivate(dir string) error { return makeDir(dir) }
