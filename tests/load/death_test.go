package load

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
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
	for name, end := range map[string]func(*exec.Cmd, *os.File){
		"killed":         func(load *exec.Cmd, _ *os.File) { _ = load.Process.Signal(syscall.SIGKILL) },
		"hung up":        func(load *exec.Cmd, _ *os.File) { _ = load.Process.Signal(syscall.SIGHUP) },
		"nobody listens": func(_ *exec.Cmd, in *os.File) { _, _ = fmt.Fprintln(in, "20") }, // and the answer can't be printed
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, err := os.MkdirTemp("", "load-") // a test's own is too deep for a socket
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(folder)
			if err := os.Chmod(folder, 0o755); err != nil { // started by root, PostgreSQL is somebody else's
				t.Fatal(err)
			}
			load := exec.Command(rig.Binary(t, "rockpool"), "load", "process", "--on-demand", "--agents-bin="+rig.Binary(t, "rockpool-agent"))
			load.Env = append(os.Environ(), "TMPDIR="+folder)
			var errs strings.Builder
			load.Stderr = &errs
			theirs, in, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			load.Stdin = theirs
			out, err := load.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := load.Start(); err != nil {
				t.Fatal(err)
			}
			_ = theirs.Close()
			if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Fatalf("no greeting: %v, %s", err, errs.String())
			}
			started := descendants(t, load.Process.Pid)
			if len(started) < 4 { // server, PostgreSQL, what belongs to it, agent
				t.Fatalf("started %v", started)
			}
			_ = out.Close()
			end(load, in)
			_ = load.Wait()
			rig.Await(t, time.Minute, func() (bool, string) {
				var left []int
				for _, pid := range started {
					if lives(pid) {
						left = append(left, pid)
					}
				}
				return len(left) == 0, fmt.Sprintf("%v of %v live; %s", left, started, errs.String())
			})
			if left, err := os.ReadDir(folder); name != "killed" && (err != nil || len(left) != 0) {
				t.Errorf("left %v, %v; %s", left, err, errs.String())
			}
		})
	}
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
