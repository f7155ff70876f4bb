package embedpg

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// identity is the user that runs PostgreSQL.
type identity struct {
	uid, gid uint32
	name     string
	drop     bool // we are root: children must be started as uid and gid
}

// chooseIdentity is the caller itself, unless that is root, as whom PostgreSQL
// refuses to run. Then it is the owner of the existing cluster, else the system
// user rockpool, else nobody.
func chooseIdentity(cluster string) (identity, error) {
	owner, exists, err := clusterOwner(cluster)
	if err != nil {
		return identity{}, err
	}
	me := uint32(os.Geteuid())
	if me != 0 {
		if exists && owner != me {
			return identity{}, fmt.Errorf("%s belongs to user id %d; start as that user or as root, or choose another data folder", cluster, owner)
		}
		return identity{uid: me, gid: uint32(os.Getegid()), name: userName(me)}, nil
	}
	if exists && owner != 0 {
		return lookUp(strconv.Itoa(int(owner)), user.LookupId, owner), nil
	}
	if id := lookUp("rockpool", user.Lookup, 0); id.uid != 0 {
		return id, nil
	}
	if id := lookUp("nobody", user.Lookup, 0); id.uid != 0 {
		return id, nil
	}
	return identity{uid: 65534, gid: 65534, name: "65534", drop: true}, nil
}

// lookUp finds a user; one without an entry becomes the bare id fallback.
func lookUp(key string, find func(string) (*user.User, error), fallback uint32) identity {
	id := identity{uid: fallback, gid: fallback, name: key, drop: true}
	u, err := find(key)
	if err != nil {
		return id
	}
	uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	if uidErr == nil && gidErr == nil {
		id.uid, id.gid, id.name = uint32(uid), uint32(gid), u.Username
	}
	return id
}

func userName(uid uint32) string {
	key := strconv.Itoa(int(uid))
	if u, err := user.LookupId(key); err == nil {
		return u.Username
	}
	return key
}

func clusterOwner(cluster string) (uid uint32, exists bool, err error) {
	info, err := os.Lstat(cluster)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("data folder: %w", err)
	}
	return ownerOf(info), true, nil
}

func ownerOf(info fs.FileInfo) uint32 { return info.Sys().(*syscall.Stat_t).Uid }

// credential is what a child must be started with; nil keeps ours.
func (id identity) credential() *syscall.Credential {
	if !id.drop {
		return nil
	}
	return &syscall.Credential{Uid: id.uid, Gid: id.gid}
}

// own gives a tree to the identity; links are not followed.
func (id identity) own(tree string) error {
	if !id.drop {
		return nil
	}
	return filepath.WalkDir(tree, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(id.uid), int(id.gid))
	})
}

// checkReach proves that the identity can run the binaries from within dir, by
// doing so, and names the folder that is in its way.
func (id identity) checkReach(b Binaries, dir string) error {
	if !id.drop {
		return nil
	}
	cmd := exec.Command(b.postgres(), "--version")
	cmd.Dir = dir
	cmd.Env = childEnv()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: id.credential()}
	err := cmd.Run()
	if err == nil {
		return nil
	}
	for _, path := range []string{dir, b.Dir} {
		if blocked := id.blockedBy(path); blocked != "" {
			return fmt.Errorf("started as root, PostgreSQL runs as user %s, which cannot pass %s on the way to %s: "+
				"chmod o+x %s, or choose a data folder such as /var/lib/rockpool", id.name, blocked, path, blocked)
		}
	}
	return fmt.Errorf("started as root, PostgreSQL cannot run as user %s: %w", id.name, err)
}

// blockedBy is the outermost folder of path (path included) whose mode keeps the
// identity from passing, "" if none does.
func (id identity) blockedBy(path string) string {
	path = filepath.Clean(path)
	if parent := filepath.Dir(path); parent != path {
		if blocked := id.blockedBy(parent); blocked != "" {
			return blocked
		}
	}
	info, err := os.Stat(path)
	if err != nil || !id.mayPass(info) {
		return path
	}
	return ""
}

func (id identity) mayPass(info fs.FileInfo) bool {
	stat := info.Sys().(*syscall.Stat_t)
	switch {
	case id.uid == 0:
		return true
	case stat.Uid == id.uid:
		return info.Mode()&0o100 != 0
	case stat.Gid == id.gid:
		return info.Mode()&0o010 != 0
	}
	return info.Mode()&0o001 != 0
}
