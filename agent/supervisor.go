package agent

import (
	"time"

	"rockpool/agent/internal/systemd"
)

// connectSupervisor finds the supervisor that started the agent, if there is one.
func (a *Agent) connectSupervisor() *systemd.Supervisor {
	s, err := systemd.Connect(func(name string) string { return variable(a.cfg.environ, name) })
	if err != nil {
		a.log.Warn(err.Error())
	}
	return s
}

// tellSupervisor notes what could not be said: the agent works on without.
func (l *loop) tellSupervisor(err error) {
	if err != nil {
		l.log.Debug("the supervisor does not hear", "error", err)
	}
}

// acknowledged feeds the watchdog: in a session nothing else does, so that an agent
// whose heartbeats don't arrive is started anew, whatever else in it still moves.
func (l *loop) acknowledged() {
	l.acked = time.Now()
	l.tellSupervisor(l.supervisor.Alive())
}

// pulse feeds the watchdog while there is no session: a new process would not find
// a server either that is away, and would take the running jobs with it.
func (l *loop) pulse() {
	if !l.node.Live() {
		l.tellSupervisor(l.supervisor.Alive())
	}
}
