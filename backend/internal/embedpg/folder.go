package embedpg

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrInUse says that another live server holds the data folder.
var ErrInUse = errors.New("data folder in use")

const (
	socketPort = "5432"
	socketName = ".s.PGSQL." + socketPort
	// socketPathMax is what a socket address holds without its NUL: 107 bytes on
	// Linux, 103 on macOS; one rule for both.
	socketPathMax = 103
)

// folder names the paths of a data folder; all are absolute and free of links.
type folder struct {
	root, cluster, conf, hba, lock, log string
	socket                              string // directory of the unix socket
}

// openFolder creates the data folder when missing and resolves its paths.
func openFolder(dir string) (folder, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return folder{}, fmt.Errorf("data folder: %w", err)
	}
	if err := makeRoot(abs); err != nil {
		return folder{}, fmt.Errorf("create data folder: %w", err)
	}
	root, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return folder{}, fmt.Errorf("data folder: %w", err)
	}
	in := func(name string) string { return filepath.Join(root, name) }
	return folder{
		root: root, cluster: in("cluster"), conf: in("postgresql.conf"), hba: in("pg_hba.conf"),
		lock: in("lock"), log: in("postgres.log"),
	}, nil
}

// makeRoot creates the folder; one that stands there keeps its mode. As root it
// must let the unprivileged user through, whatever our umask, but not list it.
func makeRoot(dir string) error {
	mode := fs.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	err := os.Mkdir(dir, mode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Chmod(dir, mode)
}

// lockFolder takes the folder for this process until the returned file is closed;
// the kernel lets go of it however the process ends.
func lockFolder(f folder) (*os.File, error) {
	file, err := os.OpenFile(f.lock, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("data folder %s belongs to another user; start as that user or choose another folder: %w", f.root, err)
	}
	if err != nil {
		return nil, fmt.Errorf("lock data folder: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		err = writeHolder(file)
	}
	if err == nil {
		return file, nil
	}
	defer file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("%w: %s is held by %s; stop that server or choose another folder", ErrInUse, f.root, holder(file))
	}
	return nil, fmt.Errorf("lock data folder %s: %w", f.root, err)
}

func writeHolder(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := fmt.Fprintf(file, "%d\n", os.Getpid())
	return err
}

// holder names the process that wrote itself into the lock file.
func holder(file *os.File) string {
	text, _ := io.ReadAll(io.LimitReader(file, 32))
	if pid := strings.TrimSpace(string(text)); pid != "" {
		return "process " + pid
	}
	return "another process"
}

// makeSocketDir creates the socket's directory, mode 0700 and owned by the user
// that runs PostgreSQL: run/ in the data folder. When that makes the socket's path
// too long for a socket address, it is rockpool-<12 hex digits of the folder's
// hash> in the first of /run (root) or $XDG_RUNTIME_DIR (others), the temp folder,
// /tmp that exists, is short enough and can be reached.
func makeSocketDir(root string, id identity) (string, error) {
	dir := filepath.Join(root, "run")
	if !socketFits(dir) {
		short, err := shortSocketDir(root, id)
		if err != nil {
			return "", err
		}
		dir = short
	}
	if err := makePrivateDir(dir, id); err != nil {
		return "", fmt.Errorf("socket directory: %w", err)
	}
	return dir, nil
}

func socketFits(dir string) bool {
	return len(filepath.Join(dir, socketName)) <= socketPathMax
}

func shortSocketDir(root string, id identity) (string, error) {
	runtimeDir := os.Getenv("XDG_RUNTIME_DIR")
	if os.Geteuid() == 0 {
		runtimeDir = "/run"
	}
	sum := sha256.Sum256([]byte(root))
	name := "rockpool-" + hex.EncodeToString(sum[:6])
	for _, base := range []string{runtimeDir, os.TempDir(), "/tmp"} {
		dir := filepath.Join(base, name)
		info, err := os.Stat(base)
		if filepath.IsAbs(base) && err == nil && info.IsDir() && socketFits(dir) && id.blockedBy(base) == "" {
			return dir, nil
		}
	}
	return "", fmt.Errorf("no folder is short enough for a socket: the path of data folder %s is too long, and so is the temp folder's; choose a shorter one", root)
}

// makePrivateDir makes dir a real directory of mode 0700 owned by id. One that
// stands there already must be ours or id's: in a shared temp folder somebody else
// could have put it there to answer in PostgreSQL's place.
func makePrivateDir(dir string, id identity) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	file, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
	if err != nil {
		return fmt.Errorf("%s must be a directory of our own; remove it: %w", dir, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if owner := ownerOf(info); owner != id.uid && owner != uint32(os.Geteuid()) {
		return fmt.Errorf("%s belongs to user id %d; remove it", dir, owner)
	}
	if id.drop {
		if err := file.Chown(int(id.uid), int(id.gid)); err != nil {
			return err
		}
	}
	return file.Chmod(0o700)
}

// removeSocketDir leaves nothing behind outside of the data folder.
func removeSocketDir(f folder) {
	if f.socket != "" && filepath.Dir(f.socket) != f.root {
		os.Remove(f.socket)
	}
}
