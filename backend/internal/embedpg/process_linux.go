package embedpg

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// clusterProcesses lists the live PostgreSQL processes (postmaster and backends)
// whose working directory is the cluster. A zombie has none and doesn't count.
func clusterProcesses(cluster string) ([]int, error) {
	home, err := os.Stat(cluster)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err == nil && isPostgresIn(filepath.Join("/proc", entry.Name()), home) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// isPostgresIn says whether a process is called postgres and works in home. What
// cannot be read is another user's, or gone, and so not ours.
func isPostgresIn(proc string, home fs.FileInfo) bool {
	comm, err := os.ReadFile(filepath.Join(proc, "comm"))
	if err != nil || strings.TrimSpace(string(comm)) != "postgres" {
		return false
	}
	cwd, err := os.Stat(filepath.Join(proc, "cwd"))
	return err == nil && os.SameFile(cwd, home)
}
