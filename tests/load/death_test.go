package load

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// However a load ends, what it has started ends too: by its own hand where it can
// act, else by the kernel's.
func TestCommand_LeavesNoProcessBehindWhateverItDiesBy(t *testing.T) {
	if testing.Short() {
		t.Skip("starts three servers")
	}
	for name, end := range map[string]func(*exec.Cmd, io.Writer){
		"killed":         func(load *exec.Cmd, _ io.Writer) { _ = load.Process.Signal(syscall.SIGKILL) },
		"hung up":        func(load *exec.Cmd, _ io.Writer) { _ = load.Process.Signal(syscall.SIGHUP) },
		"nobody listens": func(_ *exec.Cmd, in io.Writer) { _, _ = fmt.Fprintln(in, "20") }, // and the answer can't be printed
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startLoad(t)
			_ = l.out.Close()
			end(l.command, l.in)
			_ = l.command.Wait()
			l.awaitNoneLeft()
			if left, err := os.ReadDir(l.folder); name != "killed" && (err != nil || len(left) != 0) {
				t.Errorf("left %v, %v; %s", left, err, l.errs.String())
			}
		})
	}
}

// A load whose server or agent has died says so at once and ends.
func TestCommand_SaysWhichOfItsProcessesHasDied(t *testing.T) {
	if testing.Short() {
		t.Skip("starts two servers")
	}
	for program, says := range map[string]string{"rockpool-agent": "an agent ended by itself (signal: killed)", "rockpool": "the server ended by itself (signal: killed)"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			l := startLoad(t)
			_, _ = fmt.Fprintln(l.in, "10000000")
			for _, pid := range l.started {
				if exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); filepath.Base(exe) == program {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
			if err := l.command.Wait(); err == nil || !strings.Contains(l.errs.String(), says) {
				t.Errorf("ended with %v: %s", err, l.errs.String())
			}
			l.awaitNoneLeft()
		})
	}
}

// startedLoad is a load of a real agent that waits for what to do.
type startedLoad struct {
	t       *testing.T
	folder  string
	command *exec.Cmd
	in      io.Writer
	out     io.ReadCloser
	errs    strings.Builder
	started []int // process ids
}

func startLoad(t *testing.T) *startedLoad {
	folder, err := os.MkdirTemp("", "load-") // a test's own is too deep for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil { // started by root, PostgreSQL is somebody else's
		t.Fatal(err)
	}
	l := &startedLoad{t: t, folder: folder}
	// As a terminal starts it: under nohup a hang-up would be nothing to end by.
	l.command = exec.Command("env", "--default-signal=HUP", rig.Binary(t, "rockpool"), "load", "process", "--on-demand", "--agents-bin="+rig.Binary(t, "rockpool-agent"))
	l.command.Env, l.command.Stderr = append(os.Environ(), "TMPDIR="+folder), &l.errs
	if l.in, err = l.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if l.out, err = l.command.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := l.command.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(l.out).ReadString('\n'); err != nil {
		_ = l.command.Wait()
		t.Fatalf("no greeting: %v, %s", err, l.errs.String())
	}
	l.started = descendants(t, l.command.Process.Pid)
	if len(l.started) < 4 { // server, PostgreSQL, what belongs to it, agent
		t.Fatalf("started %v", l.started)
	}
	return l
}

// awaitNoneLeft waits until nothing runs of what the load has started.
func (l *startedLoad) awaitNoneLeft() {
	rig.Await(l.t, time.Minute, func() (bool, string) {
		left := slices.DeleteFunc(slices.Clone(l.started), func(pid int) bool { return !lives(pid) })
		return len(left) == 0, fmt.Sprintf("%v of %v live; %s", left, l.started, l.errs.String())
	})
}

func descendants(t *testing.T, pid int) (all []int) {
	t.Helper()
	children, err := backendtest.Children(pid)
	if err != nil {
		t.Fatal(err)
	}
	for _, child := range children {
		all = append(append(all, child), descendants(t, child)...)
	}
	return all
}

// lives says whether a process runs; one that nobody has waited for does not.
func lives(pid int) bool {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(content), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}
