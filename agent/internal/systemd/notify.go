// Package systemd is what the agent and its supervisor say to each other: the unit
// that starts it, and the datagrams that tell how it is.
package systemd

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// Supervisor hears how the agent is. One that is nil hears nothing.
type Supervisor struct {
	conn  *net.UnixConn
	pulse *time.Ticker // nil: no watchdog
}

// Connect finds the supervisor by the variables NOTIFY_SOCKET and WATCHDOG_USEC,
// which lookup gives. Nil without an error: there is none.
func Connect(lookup func(name string) string) (*Supervisor, error) {
	path := lookup("NOTIFY_SOCKET")
	if path == "" {
		return nil, nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("NOTIFY_SOCKET: the supervisor can't be told how the agent is: %w", err)
	}
	s := &Supervisor{conn: conn}
	if microseconds, err := strconv.ParseInt(lookup("WATCHDOG_USEC"), 10, 64); err == nil && microseconds >= 1000 {
		s.pulse = time.NewTicker(time.Duration(microseconds) * time.Microsecond / 3)
	}
	return s, nil
}

// Ready tells that the start has worked.
func (s *Supervisor) Ready() error { return s.say("READY=1") }

// Stopping tells that the end has begun.
func (s *Supervisor) Stopping() error { return s.say("STOPPING=1") }

// Alive feeds the watchdog.
func (s *Supervisor) Alive() error { return s.say("WATCHDOG=1") }

// Text is what the supervisor shows people.
func (s *Supervisor) Text(text string) error { return s.say("STATUS=" + text) }

// Pulse comes three times within the watchdog's time; nil: there is no watchdog.
func (s *Supervisor) Pulse() <-chan time.Time {
	if s == nil || s.pulse == nil {
		return nil
	}
	return s.pulse.C
}

// Close ends the connection.
func (s *Supervisor) Close() error {
	if s == nil {
		return nil
	}
	if s.pulse != nil {
		s.pulse.Stop()
	}
	return s.conn.Close()
}

// say never waits for a supervisor that does not read: the agent's heartbeats go on.
func (s *Supervisor) say(text string) error {
	if s == nil {
		return nil
	}
	deadline := s.conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	_, err := s.conn.Write([]byte(text))
	return errors.Join(deadline, err)
}
