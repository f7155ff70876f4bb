package load

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"rockpool/shared/leash"
)

// child is a process of the load's own, which ends with it.
type child struct {
	*exec.Cmd
	name  string
	log   string // file of its standard error
	ended chan struct{}
	err   error // of Wait; read it after ended
}

// stopWait is how long a child may take to stop.
const stopWait = 30 * time.Second

// startChild runs a program whose standard error goes to a file.
func startChild(name, log string, command *exec.Cmd) (*child, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("make a log: %w", err)
	}
	defer file.Close() // the child has its own
	command.Stderr = file
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is the caller's to handle
	c := &child{Cmd: command, name: name, log: log, ended: make(chan struct{})}
	err = leash.Start(command, syscall.SIGTERM, func(err error) {
		c.err = err
		close(c.ended)
	})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return c, nil
}

// alive reports one that has ended, with its last words.
func (c *child) alive() error {
	select {
	case <-c.ended:
		return fmt.Errorf("%s ended by itself (%v): %s", c.name, c.ProcessState, lastWords(c.log))
	default:
		return nil
	}
}

// end asks for its end, and is not patient for ever. Of one that has ended by itself
// alive has told.
func (c *child) end() error {
	if c.alive() != nil {
		return nil
	}
	_ = c.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.ended:
		return c.err
	case <-time.After(stopWait):
		_ = c.Process.Kill()
		<-c.ended
		return fmt.Errorf("%s did not stop within %v", c.name, stopWait)
	}
}

// lastWords is the last line of a log.
func lastWords(file string) string {
	content, _ := os.ReadFile(file)
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return lines[len(lines)-1]
}

// complaint is the last warning or error of a server's log; empty: there is none.
func complaint(file string) (last string) {
	content, _ := os.ReadFile(file)
	for line := range strings.Lines(string(content)) {
		if strings.Contains(line, " level=WARN ") || strings.Contains(line, " level=ERROR ") {
			last = strings.TrimSpace(line)
		}
	}
	return last
}
