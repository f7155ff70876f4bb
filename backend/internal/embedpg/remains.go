package embedpg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pidFile is what postmaster.pid tells.
type pidFile struct {
	pid   int
	state string // starting, ready, stopping, standby; "" before it is written
}

func pidPath(cluster string) string { return filepath.Join(cluster, "postmaster.pid") }

// readPIDFile reads a cluster's postmaster.pid. A file that is still being written
// has no state; one without a number has process 0.
func readPIDFile(cluster string) (pidFile, error) {
	text, err := os.ReadFile(pidPath(cluster))
	if err != nil {
		return pidFile{}, err
	}
	lines := strings.Split(string(bytes.TrimRight(text, "\n")), "\n")
	var f pidFile
	f.pid, _ = strconv.Atoi(strings.TrimSpace(lines[0]))
	if len(lines) >= 8 {
		f.state = strings.TrimSpace(lines[7])
	}
	return f, nil
}

// orphanStages is how the processes of an earlier PostgreSQL are stopped: first the
// postmaster's fast shutdown, then everything at once.
var orphanStages = []struct {
	signal syscall.Signal
	all    bool
	limit  time.Duration
}{
	{syscall.SIGINT, false, 20 * time.Second},
	{syscall.SIGQUIT, true, impatience},
	{syscall.SIGKILL, true, impatience},
}

// headlessLimit is what backends whose postmaster is dead get to leave.
const headlessLimit = time.Second

// clearRemains makes way for a new postmaster. We hold the folder's lock, so any
// process of this cluster is an orphan of a server that was killed: it is stopped.
// Only when none lives may a lock file go that is empty (a power cut) or names a
// living process: that is a stranger with a reused id, or a zombie. (With a backend still alive the file
// is what keeps a second postmaster off the data.)
func (s *Server) clearRemains(ctx context.Context) error {
	for _, stage := range orphanStages {
		gone, err := s.stopOrphans(ctx, stage.signal, stage.all, stage.limit)
		if err != nil {
			return fmt.Errorf("stop the earlier PostgreSQL: %w", err)
		}
		if gone {
			return s.removeStaleLocks()
		}
	}
	pids, _ := clusterProcesses(s.folder.cluster)
	return fmt.Errorf("processes %v of an earlier PostgreSQL on %s cannot be stopped; stop them by hand", pids, s.folder.cluster)
}

// stopOrphans signals once, then waits; it reports whether all are gone.
func (s *Server) stopOrphans(ctx context.Context, sig syscall.Signal, all bool, limit time.Duration) (bool, error) {
	deadline := time.Now().Add(limit)
	for signaled := false; ; {
		pids, err := clusterProcesses(s.folder.cluster)
		if err != nil || len(pids) == 0 {
			return err == nil, err
		}
		if !signaled && s.signalOrphans(pids, sig, all) == 0 {
			// backends alone: they leave when they notice that their postmaster died
			deadline = time.Now().Add(headlessLimit)
		}
		signaled = true
		if time.Now().After(deadline) {
			return false, nil
		}
		if !pause(ctx, readyPoll) {
			return false, context.Cause(ctx)
		}
	}
}

// signalOrphans signals all of pids, or only the postmaster, and counts them.
func (s *Server) signalOrphans(pids []int, sig syscall.Signal, all bool) int {
	if !all {
		lock, _ := readPIDFile(s.folder.cluster)
		pids = slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return pid != lock.pid })
	}
	for _, pid := range pids {
		s.logger.Warn("stopping a PostgreSQL that outlived its server", keyPID, pid, "signal", sig.String())
		syscall.Kill(pid, sig)
	}
	return len(pids)
}

// removeStaleLocks removes lock files that would make PostgreSQL refuse although
// nothing of this cluster lives. One that names a dead process it clears itself.
func (s *Server) removeStaleLocks() error {
	lock, err := readPIDFile(s.folder.cluster)
	if err == nil && (lock.pid == 0 || processExists(lock.pid)) {
		s.logger.Warn("removing postmaster.pid: it names no process of this cluster", keyPID, lock.pid)
		err = os.Remove(pidPath(s.folder.cluster))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove stale postmaster.pid: %w", err)
	}
	for _, name := range []string{socketName, socketName + ".lock"} {
		if err := os.Remove(filepath.Join(s.folder.socket, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove stale socket: %w", err)
		}
	}
	return nil
}

// processExists is PostgreSQL's own test: zombies and strangers exist.
func processExists(pid int) bool {
	if pid <= 0 {
		return false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
