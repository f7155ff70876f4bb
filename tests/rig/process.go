package rig

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"rockpool/shared/leash"
)

// Process is one run of a program; a new one is made for each start.
type Process struct {
	name    string
	command *exec.Cmd
	out     *output // of the program's standard output
	errs    *output
	ended   chan struct{} // closed after Wait
}

// output keeps the end of what a program prints, for the failure's report.
type output struct {
	mu    sync.Mutex
	bytes bytes.Buffer
}

const keptOutput = 4 << 20

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bytes.Len() > keptOutput {
		o.bytes.Reset()
	}
	return o.bytes.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes.String()
}

// start runs a program in a process group of its own, so that a signal to the
// test's group does not reach it first; it ends with the test's process.
func start(t testing.TB, name, path string, args, env []string) *Process {
	t.Helper()
	p := &Process{name: name, command: exec.Command(path, args...), out: &output{}, errs: &output{}, ended: make(chan struct{})}
	p.command.Env = append(os.Environ(), env...)
	p.command.Stdout, p.command.Stderr = p.out, p.errs
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.command.WaitDelay = 5 * time.Second
	if err := leash.Start(p.command, syscall.SIGTERM, func(error) { close(p.ended) }); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	return p
}

// PID of the program.
func (p *Process) PID() int { return p.command.Process.Pid }

// Output is the end of what it printed: standard output, then the log.
func (p *Process) Output() string { return p.out.String() + p.errs.String() }

// Log is the end of what it wrote to standard error.
func (p *Process) Log() string { return p.errs.String() }

// Signal sends a signal to the program itself.
func (p *Process) Signal(s syscall.Signal) { _ = p.command.Process.Signal(s) }

// Freeze stops the program where it is, and waits until it stands still; SIGCONT lets
// it go on.
func (p *Process) Freeze(t testing.TB) {
	t.Helper()
	p.Signal(syscall.SIGSTOP)
	Await(t, stopLimit, func() (bool, string) {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID()) + "/stat")
		_, state, _ := bytes.Cut(stat, []byte(") "))
		return bytes.HasPrefix(state, []byte("T")), fmt.Sprintf("%s is not frozen: %s, %v", p.name, stat, err)
	})
}

// Ended is closed once the program is gone.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// ExitCode of a program that has ended; -1 for one that a signal killed.
func (p *Process) ExitCode() int { return p.command.ProcessState.ExitCode() }

// Kill is kill -9, and waits until the program is gone.
func (p *Process) Kill(t testing.TB) {
	t.Helper()
	p.Signal(syscall.SIGKILL)
	p.Wait(t, stopLimit)
}

// Stop is SIGTERM, and waits until the program has ended by itself.
func (p *Process) Stop(t testing.TB) {
	t.Helper()
	p.Signal(syscall.SIGTERM)
	p.Wait(t, stopLimit)
}

const stopLimit = time.Minute

// Wait waits until the program has ended.
func (p *Process) Wait(t testing.TB, limit time.Duration) {
	t.Helper()
	if !p.endsWithin(limit) {
		t.Fatalf("%s did not end within %v; it printed:\n%s", p.name, limit, p.Output())
	}
}

// endsWithin waits; a program that stays longer is killed, and it is false.
func (p *Process) endsWithin(limit time.Duration) bool {
	select {
	case <-p.ended:
		return true
	case <-time.After(limit):
		p.Signal(syscall.SIGKILL)
		return false
	}
}

// running reports a program that has not ended.
func (p *Process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// races is the race detector's first report, or empty.
func (p *Process) races() string {
	if _, report, found := strings.Cut(p.Log(), "WARNING: DATA RACE"); found {
		return report[:min(len(report), 4000)]
	}
	return ""
}
