package embedpg

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"rockpool/shared/leash"
)

// impatience is how long a child that had its chance gets for each harder signal.
const impatience = 5 * time.Second

// errImmediate says that a stop was not clean; the next start replays the log.
var errImmediate = errors.New("postgres did not stop in time and was stopped at once; the next start recovers")

// child is one of PostgreSQL's programs, started by us.
type child struct {
	pid     int
	process *os.Process
	exited  chan struct{} // closed when reaped
	err     error         // of Wait; read after exited
}

// command prepares a program of PostgreSQL's: as the unprivileged user, in a group
// of its own so that Ctrl-C does not hit it before the server has let go of it, and
// without our environment, which holds secrets.
func (s *Server) command(dir, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = childEnv()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: s.identity.credential()}
	return cmd
}

// childEnv is all that PostgreSQL's programs get to know of our environment.
func childEnv() []string {
	env := []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH")}
	for _, key := range []string{"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR"} {
		if v, ok := os.LookupEnv(key); ok {
			env = append(env, key+"="+v)
		}
	}
	return env
}

// spawn starts cmd, which the kernel asks for a fast shutdown when we die, even by
// kill -9. Where it can't, a postmaster that outlives us is found and stopped by the
// next start.
func spawn(cmd *exec.Cmd) (*child, error) {
	c := &child{exited: make(chan struct{})}
	err := leash.Start(cmd, syscall.SIGINT, func(err error) {
		c.err = err
		close(c.exited)
	})
	if err != nil {
		return nil, err
	}
	c.pid, c.process = cmd.Process.Pid, cmd.Process
	return c, nil
}

// stop asks for a fast shutdown, at the context's end for an immediate one, and
// returns when the child is reaped: nil, or errImmediate when it had to insist.
func (c *child) stop(ctx context.Context) error {
	c.process.Signal(syscall.SIGINT)
	if c.wait(ctx) {
		return nil
	}
	for _, sig := range []os.Signal{syscall.SIGQUIT, syscall.SIGKILL} {
		c.process.Signal(sig)
		ctx, cancel := context.WithTimeout(context.Background(), impatience)
		gone := c.wait(ctx)
		cancel()
		if gone {
			return errImmediate
		}
	}
	<-c.exited
	return errImmediate
}

// wait reports whether the child is gone before the context ends.
func (c *child) wait(ctx context.Context) bool {
	select {
	case <-c.exited:
		return true
	case <-ctx.Done():
		return false
	}
}
