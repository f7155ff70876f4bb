package agent

import (
	"context"
	"errors"
	"time"

	"rockpool/agent/internal/link"
	"rockpool/agent/internal/local"
	"rockpool/shared/buildinfo"
	"rockpool/shared/wire"
)

// Status is what a running agent says of itself.
type Status = local.Status

// Short is enough of a Status's process or machine to tell it from another.
func Short(id string) string { return local.Short(id) }

// Refusal is what the control plane has against a node.
type Refusal = local.Refusal

// SessionOpen is the session of a Status that has one.
const SessionOpen = local.SessionOpen

// ErrNotRunning says that no agent runs on the state directory.
var ErrNotRunning = local.ErrNotRunning

// AskStatus asks the agent that runs on the configured state directory.
func AskStatus(ctx context.Context, cfg Config) (Status, error) {
	return local.AskStatus(ctx, cfg.StateDir)
}

var errEnding = errors.New("the agent is ending")

// counter is where the node's owner asks: what is asked is done by the loop.
type counter struct {
	asked chan func(*loop)
	over  chan struct{} // closed when the agent has ended
	left  bool          // it has left; written before over is closed
}

// answer lets the node's owner ask, until the function is called with what came of
// the agent's end.
func (a *Agent) answer(dir string, c *counter) (end func(left bool)) {
	server, err := local.Listen(dir, c)
	if err != nil {
		a.log.Warn("status and leave can't ask this agent", "error", err)
	}
	return func(left bool) {
		c.left = left
		close(c.over)
		if server != nil {
			server.Close()
		}
	}
}

// do has the loop do something, and returns when it has.
func (c *counter) do(ctx context.Context, what func(*loop)) error {
	done := make(chan struct{})
	select {
	case c.asked <- func(l *loop) { what(l); close(done) }:
		<-done
		return nil
	case <-c.over:
		return errEnding
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Status implements local.Node.
func (c *counter) Status(ctx context.Context) (status Status, err error) {
	err = c.do(ctx, func(l *loop) { status = l.status() })
	return status, err
}

// Leave implements local.Node.
func (c *counter) Leave(ctx context.Context, now bool) error {
	live := false
	err := c.do(ctx, func(l *loop) {
		if live = l.node.Live(); live {
			l.leave(now)
		}
	})
	switch {
	case err != nil:
		return err
	case !live:
		return errors.New("there is no session with the control plane, which would not hear that this node leaves: try again later, or have the node revoked there")
	}
	select {
	case <-c.over:
	case <-ctx.Done():
		return ctx.Err()
	}
	if !c.left {
		return errors.New("the session was lost while jobs ended: the agent has stopped, and the control plane does not know that it leaves: leave again")
	}
	return nil
}

// leave begins the node's end, which is its last.
func (l *loop) leave(now bool) {
	l.log.Info("leaving the fleet: no new work; running jobs may end until the stop timeout", "now", now)
	if l.goodbye != wire.GoodbyeLeft {
		l.goodbye = wire.GoodbyeLeft
		l.node.Stop(l.clock.now(), &l.out)
	}
	if now {
		l.node.Stop(l.clock.now(), &l.out)
	}
}

func (l *loop) status() Status {
	state, record := l.node.State(), l.id.Record()
	s := Status{
		Version: buildinfo.Get().Version, Server: l.server, Session: local.SessionNone, Node: record.NodeID, Pool: l.pool, Epoch: record.Epoch,
		Accepting: state.Accepting, Reason: state.Reason, Slots: int(l.hello.Capacity.Slots), Used: l.node.Used(), Spooled: state.Spooled,
		Process: l.hello.BootID, Machine: l.hello.MachineID, Refusal: l.refusal,
		Backend: l.hello.Backend, Runners: l.hello.Runners, Isolation: l.isolation, Running: []local.Running{},
	}
	if l.node.Live() {
		s.Session = local.SessionOpen
	}
	if !l.acked.IsZero() {
		at := l.acked.Round(time.Millisecond)
		s.LastAck = &at
	}
	for _, w := range link.Running(state.Work) {
		s.Running = append(s.Running, local.Running{Job: w.Job, Attempt: w.Attempt, Phase: string(w.Phase)})
	}
	return s
}
