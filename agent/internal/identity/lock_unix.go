//go:build unix

package identity

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lock holds a state directory for one process; the kernel lets go of it when the
// process dies.
type lock struct{ file *os.File }

func takeLock(path string) (*lock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the state directory: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: stop it, or set state_dir to another directory (%s)", ErrInUse, path)
		}
		return nil, fmt.Errorf("lock the state directory: %w", err)
	}
	return &lock{f}, nil
}

func (l *lock) release() error { return l.file.Close() }

// ensurePrivate makes the state directory, or refuses one that is not the owner's
// alone: its secret would be everybody's.
func ensurePrivate(dir string) error {
	if err := makeDir(dir); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("state_dir: %w", err)
	}
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		return fmt.Errorf("state_dir: %w", err)
	}
	switch {
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%w: %s can be read by others (mode %04o): chmod 700 %s", ErrUnfit, dir, info.Mode().Perm(), dir)
	case int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("%w: %s belongs to user %d, not to this agent's %d: change its owner, or set state_dir to another directory", ErrUnfit, dir, stat.Uid, os.Geteuid())
	}
	return nil
}
