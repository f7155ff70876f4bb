package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// Fleet is a fleet of scripted nodes in a process of its own: what it costs is not
// the server's, and its file descriptors are its own.
type Fleet struct {
	process *exec.Cmd
	in      io.WriteCloser
	answers *json.Decoder
	nodes   int
}

// descriptorsBeside is what a server or a fleet has open beside its nodes' sockets.
const descriptorsBeside = 300

// CheckDescriptors refuses more nodes than one process may have sockets for.
func CheckDescriptors(nodes int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("ask for the limit of file descriptors: %w", err)
	}
	if need := uint64(nodes) + descriptorsBeside; need > uint64(limit.Max) {
		return fmt.Errorf("%d agents need %d file descriptors in the server and in the agents' process, and a process here may have %d: raise it (ulimit -Hn) or take fewer agents",
			nodes, need, limit.Max)
	}
	return nil
}

// StartFleet runs `program load fleet`, which must be rockpool itself, and does not
// wait for its nodes.
func StartFleet(program string, order FleetOrder) (*Fleet, error) {
	if err := CheckDescriptors(order.Nodes); err != nil {
		return nil, err
	}
	f := &Fleet{process: exec.Command(program, "load", "fleet"), nodes: order.Nodes}
	f.process.Stderr = os.Stderr
	f.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is the caller's to handle
	in, err := f.process.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the agents: %w", err)
	}
	out, err := f.process.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the agents: %w", err)
	}
	if err := f.process.Start(); err != nil {
		return nil, fmt.Errorf("start the agents: %w", err)
	}
	f.in, f.answers = in, json.NewDecoder(bufio.NewReader(out))
	if err := json.NewEncoder(in).Encode(order); err != nil {
		return nil, errors.Join(fmt.Errorf("start the agents: %w", err), f.Close())
	}
	return f, nil
}

// PID of the fleet's process.
func (f *Fleet) PID() int { return f.process.Process.Pid }

// Do gives a command and returns the report after it.
func (f *Fleet) Do(command string) (r FleetReport, err error) {
	if _, err := fmt.Fprintln(f.in, command); err != nil {
		return r, fmt.Errorf("command the agents: %w", err)
	}
	if err := f.answers.Decode(&r); err != nil {
		return r, fmt.Errorf("hear the agents: %w", err)
	}
	return r, nil
}

// Past reports as soon as more results are stored, or a second later.
func (f *Fleet) Past(stored int) (FleetReport, error) { return f.Do(fleetPast + strconv.Itoa(stored)) }

// done is how many results are stored.
func (f *Fleet) done(_ context.Context, past int) (int, error) {
	r, err := f.Past(past)
	return r.Stored, err
}

// alive is told by the next command's answer.
func (f *Fleet) alive() error { return nil }

func (f *Fleet) pids() []int { return []int{f.PID()} }

// joinWait is how long a fleet may take to register on a busy machine.
const joinWait = 5 * time.Minute

// AwaitJoined waits until every node has had a session.
func (f *Fleet) AwaitJoined(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, joinWait)
	defer cancel()
	for {
		switch r, err := f.Do(FleetJoined); {
		case err != nil:
			return err
		case r.Joined == f.nodes:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%d of %d agents joined: %w; first troubles: %q", r.Joined, f.nodes, ctx.Err(), r.Troubles)
		}
	}
}

// Close ends the fleet, and waits until its process is gone.
func (f *Fleet) Close() error {
	_ = f.in.Close() // it ends with it
	if err := f.process.Wait(); err != nil {
		return fmt.Errorf("the agents: %w", err)
	}
	return nil
}
