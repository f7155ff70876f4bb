package embedpg

import (
	"context"
	"time"
)

const (
	restartFirst = 100 * time.Millisecond
	restartMost  = 10 * time.Second
	// steady is the uptime after which an earlier death no longer counts.
	steady = time.Minute
	// logCheck is how often the log's size is looked at.
	logCheck = time.Minute
)

// supervise restarts PostgreSQL when it dies, until the context ends; a living
// postmaster is then left to Close.
func (s *Server) supervise(ctx context.Context, pm *child) {
	defer close(s.supervised)
	wait := restartFirst
	for {
		began := time.Now()
		if !s.watch(ctx, pm) {
			return
		}
		s.setPostmaster(nil)
		if time.Since(began) > steady {
			wait = restartFirst
		}
		s.logger.Error("postgres died, restarting", keyPID, pm.pid, keyError, pm.err, keyReason, s.log.words(), keyWait, wait)
		if pm = s.relaunch(ctx, &wait); pm == nil {
			return
		}
		s.setPostmaster(pm)
	}
}

// watch returns true when the child died, false when the context ended.
func (s *Server) watch(ctx context.Context, pm *child) bool {
	tick := time.NewTicker(logCheck)
	defer tick.Stop()
	for {
		select {
		case <-pm.exited:
			return ctx.Err() == nil
		case <-ctx.Done():
			return false
		case <-tick.C:
			if err := s.log.bound(); err != nil {
				s.logger.Warn("postgres log not bounded", keyError, err)
			}
		}
	}
}

// relaunch tries until PostgreSQL is ready again, doubling the wait; nil when the
// context ended first.
func (s *Server) relaunch(ctx context.Context, wait *time.Duration) *child {
	for pause(ctx, *wait) {
		*wait = min(2**wait, restartMost)
		pm, err := s.launch(ctx)
		if err == nil {
			return pm
		}
		if ctx.Err() == nil {
			s.logger.Error("postgres restart failed", keyError, err, keyWait, *wait)
		}
	}
	return nil
}
