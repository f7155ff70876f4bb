package embedpg

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Keys of the log.
const (
	keyPID     = "pid"
	keyData    = "data"
	keyVersion = "version"
	keyUser    = "user"
	keySocket  = "socket"
	keyTook    = "took"
	keyError   = "error"
	keyReason  = "reason"
	keyWait    = "wait"
)

const (
	readyPoll = 20 * time.Millisecond
	// lockRetries × lockPause is the time that the remains of an earlier PostgreSQL
	// which we cannot see (a zombie, a segment still attached) get to go away.
	lockRetries = 10
	lockPause   = 500 * time.Millisecond
	// slowStart is how often a long start (a long recovery) is told.
	slowStart = 10 * time.Second
)

// errLocked says that PostgreSQL found another one's lock and gave up.
var errLocked = errors.New("an earlier PostgreSQL has not let go")

// launch starts PostgreSQL and returns when it answers. Remains of an earlier one
// are cleared first and waited for.
func (s *Server) launch(ctx context.Context) (*child, error) {
	for attempt := 0; ; attempt++ {
		pm, err := s.launchOnce(ctx)
		if err == nil || !errors.Is(err, errLocked) || attempt == lockRetries {
			return pm, err
		}
		s.logger.Warn("postgres start refused, retrying", keyError, err, keyWait, lockPause)
		if !pause(ctx, lockPause) {
			return nil, err
		}
	}
}

func (s *Server) launchOnce(ctx context.Context) (*child, error) {
	begin := time.Now()
	if err := s.clearRemains(ctx); err != nil {
		return nil, err
	}
	pm, err := s.startPostmaster()
	if err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	if err := s.awaitReady(ctx, pm); err != nil {
		stopCtx, cancel := context.WithTimeout(context.Background(), impatience)
		defer cancel()
		return nil, errors.Join(err, pm.stop(stopCtx))
	}
	s.logger.Info("postgres ready", keyPID, pm.pid, keyVersion, s.binaries.Version, keyUser, s.identity.name,
		keyData, s.folder.cluster, keySocket, s.folder.socket, keyTook, time.Since(begin))
	return pm, nil
}

func (s *Server) startPostmaster() (*child, error) {
	log, err := s.log.open()
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child holds its own
	args := append([]string{"-D", s.folder.cluster, "-c", "config_file=" + s.folder.conf}, s.promises()...)
	cmd := s.command(s.folder.cluster, s.binaries.postgres(), args...)
	cmd.Stdout, cmd.Stderr = log, log
	return spawn(cmd)
}

// awaitReady returns when our own child (not an orphan on the same socket) says
// ready and answers a real connection, or with PostgreSQL's reason why not.
func (s *Server) awaitReady(ctx context.Context, pm *child) error {
	poll := time.NewTicker(readyPoll)
	defer poll.Stop()
	slow := time.NewTicker(slowStart)
	defer slow.Stop()
	last := errors.New("no status yet")
	for {
		select {
		case <-pm.exited:
			return s.failure(pm)
		case <-ctx.Done():
			return fmt.Errorf("postgres was not ready in time (%w): %s; %s", context.Cause(ctx), last, s.log.words())
		case <-slow.C:
			s.logger.Warn("postgres is still starting", keyPID, pm.pid, keyReason, s.log.words())
		case <-poll.C:
			var refused *serverError
			if last = s.probe(ctx, pm); last == nil {
				return nil
			} else if errors.As(last, &refused) && refused.code != codeStarting {
				return fmt.Errorf("postgres runs but refuses a connection: %w", last)
			}
		}
	}
}

// probe makes one attempt to talk to the child's database.
func (s *Server) probe(ctx context.Context, pm *child) error {
	status, err := readPIDFile(s.folder.cluster)
	if err != nil {
		return err
	}
	if status.pid != pm.pid || status.state != "ready" {
		return fmt.Errorf("postmaster.pid says process %d is %q, ours is %d", status.pid, status.state, pm.pid)
	}
	conn, err := connect(ctx, s.folder.socket, AdminRole, Database)
	if err != nil {
		return err
	}
	return conn.close()
}

// failure explains why the child ended before it was ready.
func (s *Server) failure(pm *child) error {
	words := s.log.words()
	err := fmt.Errorf("postgres could not start: %s (%v; whole log: %s)", words, pm.err, s.folder.log)
	if strings.Contains(words, `lock file "`) || strings.Contains(words, "pre-existing shared memory block") {
		return fmt.Errorf("%w: %w", errLocked, err)
	}
	return err
}

// pause waits and reports whether the context is still alive.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
