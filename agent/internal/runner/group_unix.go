//go:build unix && !linux

package runner

import (
	"errors"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	terminate = unix.SIGTERM
	kill      = unix.SIGKILL

	jobNice = 10 // heartbeats come before jobs
)

// group is the process group of an attempt.
type group struct{ pgid int }

func (g *group) began(cmd *exec.Cmd) { g.pgid = cmd.Process.Pid }

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func lowerPriority(pid int) { _ = unix.Setpriority(unix.PRIO_PGRP, pid, jobNice) }

func (g *group) signal(sig syscall.Signal) { _ = unix.Kill(-g.pgid, sig) }

func (g *group) over() bool { return errors.Is(unix.Kill(-g.pgid, 0), unix.ESRCH) }

func endOf(cmd *exec.Cmd) (code int, signal string) {
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return 128 + int(status.Signal()), unix.SignalName(status.Signal())
	}
	return cmd.ProcessState.ExitCode(), ""
}
