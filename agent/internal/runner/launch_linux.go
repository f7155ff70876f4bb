package runner

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	jobNice     = 10    // heartbeats come before jobs
	jobOOMScore = "500" // a machine without memory ends jobs before the agent
)

// isolated is the command in a session of its own (it has no terminal, and its
// process group has its process id), as another user and in a control group from
// its first moment.
func isolated(argv []string, account *Account, group *cgroup) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if null := devNull(); null != nil {
		cmd.Stdin = null
	}
	if account != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(account.UID), Gid: uint32(account.GID)}
	}
	group.take(cmd.SysProcAttr)
	return cmd
}

// devNull is what jobs read, opened once; nil: each opens it.
var devNull = sync.OnceValue(func() *os.File {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil
	}
	return null
})

// logPipe is a pipe of which this process only ever reads: the end that is written
// stays out of the poller.
func logPipe() (read, write *os.File, err error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, err
	}
	if err := unix.SetNonblock(ends[0], true); err != nil {
		return nil, nil, errors.Join(err, unix.Close(ends[0]), unix.Close(ends[1]))
	}
	return os.NewFile(uintptr(ends[0]), "log"), os.NewFile(uintptr(ends[1]), "log"), nil
}

// startIsolated starts it. The caller has a thread of its own (onOwnThread): what a
// job must not gain, and its priority, are set on the thread, from which the child
// has them before it becomes the program.
func startIsolated(cmd *exec.Cmd, l limits, g *group) error {
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err != nil {
		err = fmt.Errorf("keep the job from gaining rights: %w", err)
	} else {
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, jobNice)
		before := ticksNow()
		if err = cmd.Start(); ticksNow() == before {
			g.start = before
		}
	}
	if err != nil {
		g.end() // what another group left to it
		return err
	}
	pid := cmd.Process.Pid
	g.began(pid)
	_ = writeLine("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", jobOOMScore) // where it can't be: no harm
	if l.memory > 0 && !g.cgroup.limitsMemory() {
		// What is used is measured; this is for who fills it at once.
		most := uint64(4 * l.memory)
		_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &unix.Rlimit{Cur: most, Max: most}, nil)
	}
	return nil
}

func onFirstThread() bool { return unix.Gettid() == os.Getpid() }

// harden keeps what is the agent's from its jobs and its disk: descriptors that
// whoever started it left open, and core files, which would hold its secret. And it
// keeps jobs from leaving the agent.
func harden() error {
	household.adopt()
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("keep core files from being written: %w", err)
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("look for open descriptors: %w", err)
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}
