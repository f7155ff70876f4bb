package runner

import (
	"fmt"
	"os"
	"os/user"
	"runtime"
	"strconv"
)

// Account is a user of the machine that jobs run as.
type Account struct {
	UID, GID int
}

// LookAccount finds the user that jobs shall run as: one of the machine's that is
// neither root nor the agent's own. Only root on Linux can become another.
func LookAccount(name string) (*Account, error) {
	switch {
	case runtime.GOOS != "linux":
		return nil, fmt.Errorf("jobs can run as another user on Linux only: remove it")
	case os.Geteuid() != 0:
		return nil, fmt.Errorf("only an agent that root has started can run jobs as another user: start it as root, or remove it")
	}
	u, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("there is no user %q on this machine: make one with useradd --system --no-create-home %s", name, name)
	}
	uid, uidErr := strconv.Atoi(u.Uid)
	gid, gidErr := strconv.Atoi(u.Gid)
	if uidErr != nil || gidErr != nil || uid == 0 || gid == 0 {
		return nil, fmt.Errorf("%q has root's rights: name a user that has none", name)
	}
	return &Account{uid, gid}, nil
}
