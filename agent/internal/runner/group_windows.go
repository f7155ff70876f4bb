package runner

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

const (
	terminate = syscall.SIGTERM
	kill      = syscall.SIGKILL
)

// group is the one process that was started: Windows has no process groups of
// this kind.
type group struct{ process *os.Process }

func (g *group) began(cmd *exec.Cmd) { g.process = cmd.Process }

func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func lowerPriority(int) {}

// signal kills: there is no TERM.
func (g *group) signal(syscall.Signal) {
	if g.process != nil {
		_ = g.process.Kill()
	}
}

func (g *group) over() bool {
	if g.process == nil {
		return true
	}
	handle, err := syscall.OpenProcess(syscall.SYNCHRONIZE, false, uint32(g.process.Pid))
	if err != nil {
		return true
	}
	defer func() { _ = syscall.CloseHandle(handle) }()
	state, err := syscall.WaitForSingleObject(handle, uint32(time.Millisecond.Milliseconds()))
	return err != nil || state != syscall.WAIT_TIMEOUT
}

func endOf(cmd *exec.Cmd) (code int, signal string) { return cmd.ProcessState.ExitCode(), "" }
