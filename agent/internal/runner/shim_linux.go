package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// shimName is what the agent's own program is called where it is started once more,
// to become a job's program. What a job must not do is set in the process itself
// before it becomes the program, so there is no moment without limits.
const shimName = "rockpool-job"

func init() {
	if len(os.Args) > 2 && os.Args[0] == shimName {
		os.Exit(shim(os.Args[1], os.Args[2:]))
	}
}

// orders is what a shim does before it becomes the program.
type orders struct {
	Agent   int      `json:"agent"`             // its process: without it there is no job
	Cgroup  string   `json:"cgroup,omitempty"`  // to join
	Memory  int64    `json:"memory,omitempty"`  // bytes of private memory, of each process
	Account *Account `json:"account,omitempty"` // to become
	Report  bool     `json:"report,omitempty"`  // what fails is written to shimReport, not to stderr
}

// shimReport is the descriptor that tells the agent what failed; it is closed by
// the program's start.
const shimReport = 3

// shimFailed is its exit code.
const shimFailed = 127

// shim becomes the program, or returns when it can't.
func shim(text string, argv []string) int {
	var o orders
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		err = o.obey()
	}
	if err == nil {
		err = fmt.Errorf("start %s: %w", argv[0], syscall.Exec(argv[0], argv, os.Environ()))
	}
	to := os.Stderr
	if o.Report {
		to = os.NewFile(shimReport, "report")
	}
	_, _ = to.WriteString(err.Error())
	return shimFailed
}

// obey works on the one thread that goes on as the program.
func (o *orders) obey() error {
	if o.Cgroup != "" { // before the rights to do so are gone
		if err := os.WriteFile(o.Cgroup+"/cgroup.procs", []byte("0"), 0); err != nil {
			return fmt.Errorf("join the job's control group: %w", err)
		}
	}
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(jobOOMScore), 0) // where it can't be: no harm
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, jobNice)
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	if o.Memory > 0 {
		if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: uint64(o.Memory), Max: uint64(o.Memory)}); err != nil {
			return fmt.Errorf("limit the job's memory: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("keep the job from gaining rights: %w", err)
	}
	if err := o.Account.become(); err != nil {
		return err
	}
	// Another user id has cleared it; the agent may have died before it was set.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("tie the job to the agent: %w", err)
	}
	if os.Getppid() != o.Agent {
		return errors.New("the agent has ended")
	}
	return closeInherited()
}

// become gives up the agent's user for good. Only this thread counts: it alone
// survives as the program.
func (a *Account) become() error {
	if a == nil {
		return nil
	}
	for _, call := range []struct {
		what      string
		trap, arg uintptr
	}{{"setgroups", unix.SYS_SETGROUPS, 0}, {"setgid", unix.SYS_SETGID, uintptr(a.GID)}, {"setuid", unix.SYS_SETUID, uintptr(a.UID)}} {
		if _, _, errno := unix.RawSyscall(call.trap, call.arg, 0, 0); errno != 0 {
			return fmt.Errorf("run as job_user: %s: %w", call.what, errno)
		}
	}
	return nil
}

// closeInherited has every descriptor but the standard ones closed by the
// program's start, also those that the agent has from whoever started it.
func closeInherited() error {
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
