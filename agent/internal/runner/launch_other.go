//go:build !linux

package runner

import (
	"os"
	"os/exec"
)

// isolated is the command in a group of its own; more can't be had here.
func isolated(argv []string, _ *Account, _ *cgroup) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	ownGroup(cmd)
	return cmd
}

func startIsolated(cmd *exec.Cmd, _ limits, g *group) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	g.began(cmd)
	lowerPriority(cmd.Process.Pid)
	return nil
}

func logPipe() (read, write *os.File, err error) { return os.Pipe() }

func onFirstThread() bool { return false }

func harden() error { return nil }
