package e2e

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"rockpool/tests/rig"
)

// up is one run of scripts/up; what it printed is read through a file, so that a
// process which it left behind keeps nobody waiting.
type up struct {
	command *exec.Cmd
	ended   chan struct{}
	printed string
}

func startUp(t *testing.T, data string, args ...string) *up {
	t.Helper()
	_, port, err := net.SplitHostPort(rig.FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	printed, err := os.CreateTemp(t.TempDir(), "up")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = printed.Close() }()
	u := &up{ended: make(chan struct{}), printed: printed.Name()}
	u.command = exec.Command("../../scripts/up", append([]string{"--port", port, "--data", data}, args...)...)
	u.command.Stdout, u.command.Stderr = printed, printed
	u.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := u.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = u.command.Wait(); close(u.ended) }()
	return u
}

func (u *up) output() string {
	printed, _ := os.ReadFile(u.printed)
	return string(printed)
}

// exits waits for the script's end and checks its code and that nothing is left.
func (u *up) exits(t *testing.T, data string, code int) {
	t.Helper()
	select {
	case <-u.ended:
	case <-time.After(10 * time.Minute):
		_ = u.command.Process.Signal(syscall.SIGTERM)
		t.Fatalf("scripts/up did not end; it printed:\n%s", u.output())
	}
	if got := u.command.ProcessState.ExitCode(); got != code {
		t.Errorf("scripts/up ended with %d, want %d; it printed:\n%s", got, code, u.output())
	}
	if left := naming(t, data); len(left) > 0 {
		t.Errorf("scripts/up left processes: %q", left)
	}
}

// naming are the command lines of the processes that name a folder.
func naming(t *testing.T, folder string) (found []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && bytes.Contains(line, []byte(folder)) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// Ctrl-C reaches the terminal's whole process group, and stops everything in
// good order; a run that was interrupted half-way is completed by the next.
func TestUp_CtrlCStopsEverythingAndTheNextRunGoesOn(t *testing.T) {
	t.Parallel()
	data, err := os.MkdirTemp("", "rockpool-up-") // not t.TempDir: PostgreSQL must reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(data) })
	if err := os.Chmod(data, 0o755); err != nil {
		t.Fatal(err)
	}

	u := startUp(t, data)
	rig.Await(t, 10*time.Minute, func() (bool, string) {
		out := u.output()
		select {
		case <-u.ended:
			t.Fatalf("scripts/up ended; it printed:\n%s", out)
		default:
		}
		return strings.Contains(out, "Ctrl-C stops everything."), out
	})
	if err := syscall.Kill(-u.command.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	u.exits(t, data, 130)
	log, err := os.ReadFile(filepath.Join(data, "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(log), `msg="postgres stopped"`) {
		t.Errorf("the server did not stop in good order:\n%s", log)
	}

	if err := os.Remove(filepath.Join(data, "license")); err != nil { // as if the first run had ended before
		t.Fatal(err)
	}
	startUp(t, data, "--exit").exits(t, data, 0)
}
