package runner

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// asMade is what a job may change of a folder, beside what is in it.
type asMade struct {
	inode    uint64
	device   uint64
	mode     uint32
	uid, gid uint32
	size     int64 // it grows with what was in it once
	flags    int   // chattr's
}

// lookAt reads a folder; false: something else is in it than the names (sorted), it
// has attributes, such as a list of who may use it, or it can't be read.
func lookAt(path string, names []string) (now asMade, ok bool) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return now, false
	}
	defer func() { _ = unix.Close(fd) }()
	var stat unix.Stat_t
	inside, read := namesIn(fd)
	if unix.Fstat(fd, &stat) != nil || hasAttributes(fd) || !read || !slices.Equal(inside, names) {
		return now, false
	}
	now = asMade{inode: stat.Ino, device: uint64(stat.Dev), mode: stat.Mode, uid: stat.Uid, gid: stat.Gid, size: stat.Size}
	now.flags, _ = unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS) // 0 where a file system has none
	return now, true
}

// hasAttributes reports any but those that the machine's own policy gives to each file.
func hasAttributes(fd int) bool {
	var buffer [1024]byte
	n, err := unix.Flistxattr(fd, buffer[:])
	if err != nil {
		return err != unix.ENOTSUP
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(buffer[:n]), "\x00"), "\x00") {
		if name != "" && !strings.HasPrefix(name, "security.") {
			return true
		}
	}
	return false
}

// namesIn lists a folder of a few names, sorted; false: it can't be read, or has more.
func namesIn(fd int) (names []string, ok bool) {
	var buffer [1024]byte
	for {
		n, err := unix.ReadDirent(fd, buffer[:])
		if err != nil || len(names) > 2 {
			return nil, false
		}
		if n == 0 {
			slices.Sort(names)
			return names, true
		}
		_, _, names = unix.ParseDirent(buffer[:n], -1, names)
	}
}
