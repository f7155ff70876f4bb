package runner

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// command is one program to run for an attempt.
type command struct {
	argv    []string
	env     []string
	dir     string
	marker  marker // in env: by it the attempt's processes are found wherever they went
	limits  limits
	account *Account // nil: the agent's own
	cgroup  *cgroup  // nil: none; else the process removes it
	output  *output
	threads *threads
}

// marker is what every process of an attempt has in its environment. The folder
// is this agent's own: an attempt of the same name that another control plane gave
// to another agent of this machine is left alone.
type marker struct{ job, attempt, dir string }

func (m marker) env() []string {
	return []string{"ROCKPOOL_JOB=" + m.job, "ROCKPOOL_ATTEMPT=" + m.attempt, markerVariable + "=" + m.dir}
}

const markerVariable = "ROCKPOOL_DIR"

// process is a started command. Its group is dead when its run returns.
type process struct {
	cmd     *exec.Cmd
	group   *group
	exited  chan struct{} // the first process has ended
	thread  thread        // whose child it is; it may have another one when none of the group is left
	threads *threads      // that it goes back to
	log     *os.File
	logged  chan struct{}
	output  *output
	note    int // its place among the notes; 0: none
}

// ended is how a process came to its end.
type ended struct {
	code       int    // exit code; 128 + signal when it was killed
	signal     string // empty unless a signal ended it
	overMemory bool   // it was ended for its memory by the kernel
	maxMemory  int64  // bytes that one of its processes had at most; 0: not known here
}

// start starts the command in a process group of its own, at low priority. When it
// returns without an error the program runs, within its limits.
func start(c command) (*process, error) {
	read, write, err := logPipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe for the log: %w", err)
	}
	cmd := isolated(c.argv, c.account, c.cgroup)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = c.env, c.dir, write, write
	p := &process{
		cmd: cmd, group: newGroup(c.marker, c.cgroup), exited: make(chan struct{}), thread: c.threads.take(), threads: c.threads,
		log: read, logged: make(chan struct{}), output: c.output,
	}
	started := make(chan error, 1)
	p.thread <- func() { p.live(c, started) }
	err = <-started
	_ = write.Close() // the child has its own
	if err != nil {
		p.threads.give(p.thread)
		return nil, errors.Join(err, read.Close())
	}
	go p.output.drain(read, p.logged)
	return p, nil
}

// live starts the child and waits for its end.
func (p *process) live(c command, started chan<- error) {
	err := startIsolated(p.cmd, c.limits, p.group)
	started <- err
	if err != nil {
		return
	}
	awaitExit(p.cmd)
	close(p.exited)
}

// Pauses of the end of a group. Looking for its members may cost a walk over all
// processes, so the pauses grow.
const (
	pollGroup    = 5 * time.Millisecond
	pollGroupMax = 200 * time.Millisecond
	logRest      = 2 * time.Second // to read what is left of the log once all are dead
)

// end asks the whole group to end and returns when it has, or after the grace.
func (p *process) end(grace time.Duration) {
	p.group.signal(terminate)
	deadline := time.NewTimer(grace)
	defer deadline.Stop()
	select {
	case <-p.exited:
	case <-deadline.C:
		return
	}
	for pause := pollGroup; !p.group.over(); pause = min(2*pause, pollGroupMax) {
		select {
		case <-deadline.C:
			return
		case <-time.After(pause):
		}
	}
}

// end kills what lives of a group whose first process has ended, until it is empty.
func (g *group) end() {
	for pause := pollGroup; !g.over(); pause = min(2*pause, pollGroupMax) {
		g.signal(kill)
		time.Sleep(pause)
	}
}

// finish kills what is left of the group, until it is empty, and gives the end of
// its first process.
func (p *process) finish() ended {
	if !p.over() {
		p.group.signal(kill)
		<-p.exited
	}
	p.group.end()
	end := ended{overMemory: p.group.overMemory()}
	_ = p.cmd.Wait() // its error is the exit code, which endOf reads
	p.threads.give(p.thread)
	p.group.remove()
	_ = p.log.SetReadDeadline(time.Now().Add(logRest))
	<-p.logged
	_ = p.log.Close()
	end.code, end.signal = endOf(p.cmd)
	end.maxMemory = maxMemory(p.cmd)
	return end
}

// over reports that the first process has ended by itself.
func (p *process) over() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}
