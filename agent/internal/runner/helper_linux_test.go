package runner

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// The test binary is also the tool that jobs run: helper MODE args….
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "helper" {
		os.Exit(helper(os.Args[2], os.Args[3:]))
	}
	goleak.VerifyTestMain(m)
}

func helper(mode string, args []string) int {
	switch mode {
	case "env":
		fmt.Println(strings.Join(os.Environ(), "\n"))
	case "args":
		fmt.Printf("%q\n", args)
	case "sleep":
		writePID(args[0])
		wait()
	case "family":
		return family(args[0])
	case "stray":
		signal.Ignore(syscall.SIGTERM)
		writePID(args[0])
		wait()
	case "flood":
		for chunk := bytes.Repeat([]byte("x"), 64<<10); ; {
			if _, err := os.Stdout.Write(chunk); err != nil {
				return 1
			}
		}
	case "fill":
		return fill(args[0])
	case "orphan":
		return orphan(args[0])
	case "hidden":
		return hidden(args[0])
	case "hide":
		signal.Ignore(syscall.SIGTERM)
		if unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) != nil {
			return 1
		}
		writePID(args[0])
		wait()
	case "escape":
		return escape(args[0], 0, "stray")
	case "sibling":
		return escape(args[0], unix.CLONE_PARENT, "stray")
	case "behead":
		return escape(args[0], 0, headless)
	case "emigrate":
		return escape(args[0], 0, emigrant)
	case emigrant:
		emigrate()
		signal.Ignore(syscall.SIGTERM)
		writePID(args[0])
		wait()
	case "vanish":
		return vanish(args[0])
	case headless:
		signal.Ignore(syscall.SIGTERM)
		writePID(args[0])
		go wait()
		_, _, _ = unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0) // of this thread alone
	}
	return 0
}

// wait is for ever, without the runtime taking it for a deadlock.
func wait() { <-time.After(24 * time.Hour) }

// writePID says that this process is there, in a file that is whole at once.
func writePID(dir string) {
	name := filepath.Join(dir, fmt.Sprint(os.Getpid()))
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		os.Exit(3)
	}
}

// spawn starts a helper that survives TERM, in this group or in a session of its own.
func spawn(dir string, session bool) error {
	child := exec.Command(os.Args[0], "helper", "stray", dir)
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
	return child.Start()
}

// family is what a badly behaved tool looks like: it ignores TERM, and so do its
// child and the daemon that it put into a session of its own.
func family(dir string) int {
	signal.Ignore(syscall.SIGTERM)
	if err := errors.Join(spawn(dir, false), spawn(dir, true)); err != nil {
		return 1
	}
	writePID(dir)
	wait()
	return 0
}

// orphan leaves such children behind and ends well.
func orphan(dir string) int {
	if err := errors.Join(spawn(dir, false), spawn(dir, true)); err != nil {
		return 1
	}
	for {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) == 2 {
			return 0
		}
	}
}

// hidden leaves a child behind that has a group of its own, and whose environment
// nobody but root can read.
func hidden(dir string) int {
	child := exec.Command(os.Args[0], "helper", "hide", dir)
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := child.Start(); err != nil {
		return 1
	}
	for {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) == 1 {
			return 0
		}
	}
}

// headless is a process whose first thread has ended.
const headless = "headless"

func init() {
	if len(os.Args) > 2 && os.Args[2] == headless {
		runtime.LockOSThread() // the main goroutine stays on the first thread
	}
}

// escape leaves a child behind that nothing but a control group, or its descent, can
// tell from others: it has a session, an environment and a name of its own.
func escape(dir string, flags uintptr, mode string) int {
	if err := hideaway(dir, flags, mode).Start(); err != nil {
		return 1
	}
	for {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			return 0
		}
	}
}

func hideaway(dir string, flags uintptr, mode string) *exec.Cmd {
	child := exec.Command("/proc/self/exe", "helper", mode, dir)
	child.Args[0], child.Env = "[kworker/0:1]", []string{}
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: flags}
	return child
}

// emigrant is a process that has left the control group of its attempt.
const emigrant = "emigrant"

// emigrate moves this process into the group above, or where that takes none, as one
// with controllers does, into the agent's own.
func emigrate() {
	own, err := ownCgroup()
	if err != nil {
		return
	}
	for _, dir := range []string{filepath.Dir(own), filepath.Join(filepath.Dir(own), agentLeaf)} {
		if os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(fmt.Sprint(os.Getpid())), 0) == nil {
			return
		}
	}
}

// vanish is the worst of a family: beside those it has a hidden child, which has a
// hidden child too and ends.
func vanish(dir string) int {
	if hideaway(dir, 0, "escape").Start() != nil {
		return 1
	}
	return family(dir)
}

func fill(path string) int {
	if err := os.WriteFile(path, make([]byte, 8<<20), 0o600); err != nil {
		return 1
	}
	wait()
	return 0
}
