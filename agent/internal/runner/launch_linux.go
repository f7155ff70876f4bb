package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

const (
	jobNice     = 10    // heartbeats come before jobs
	jobOOMScore = "500" // a machine without memory ends jobs before the agent
)

// isolated is the command by way of the shim, in a session of its own: it has no
// terminal, and its process group has its process id.
func isolated(argv []string, o orders) (*exec.Cmd, error) {
	o.Agent = os.Getpid()
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("write the job's limits: %w", err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = append([]string{shimName, string(text)}, argv...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	return cmd, nil
}

// launch prepares a command whose shim tells by the pipe what failed.
func launch(c command) (cmd *exec.Cmd, report *launchReport, err error) {
	o := orders{Account: c.account, Cgroup: c.cgroup.path(), Report: true}
	if !c.cgroup.limitsMemory() {
		o.Memory = 4 * c.limits.memory // what is used is measured; this is for who fills it at once
	}
	if cmd, err = isolated(c.argv, o); err != nil {
		return nil, nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make a pipe for the start: %w", err)
	}
	cmd.ExtraFiles = []*os.File{write}
	return cmd, &launchReport{read, write}, nil
}

// launchReport is how a shim says that it can't become the program.
type launchReport struct{ read, write *os.File }

// wait returns once the program runs, with nil, or does not.
func (l *launchReport) wait() error {
	_ = l.write.Close() // the child has its own
	text, err := io.ReadAll(io.LimitReader(l.read, 4<<10))
	if err := errors.Join(err, l.read.Close()); err != nil {
		return fmt.Errorf("wait for the job's start: %w", err)
	}
	if len(text) > 0 {
		return errors.New(string(text))
	}
	return nil
}

// selfTestCommand runs as a job would: who the job's user is counts here too.
func selfTestCommand(argv []string, account *Account) (*exec.Cmd, error) {
	return isolated(argv, orders{Account: account})
}
