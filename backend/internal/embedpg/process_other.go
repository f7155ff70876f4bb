//go:build !linux

package embedpg

import (
	"errors"
	"io/fs"
	"os/exec"
	"strconv"
	"strings"
)

// clusterProcesses finds the cluster's postmaster: the process that postmaster.pid
// names, if it is a PostgreSQL that was started on this data directory. Backends
// can't be told apart here; PostgreSQL's own lock keeps us waiting for them.
func clusterProcesses(cluster string) ([]int, error) {
	lock, err := readPIDFile(cluster)
	if errors.Is(err, fs.ErrNotExist) || lock.pid <= 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out, err := exec.Command("ps", "-o", "stat=", "-o", "command=", "-p", strconv.Itoa(lock.pid)).Output()
	line := strings.TrimSpace(string(out))
	if err != nil || line == "" || strings.HasPrefix(line, "Z") {
		return nil, nil // ps fails when there is no such process
	}
	if strings.Contains(line, "postgres") && strings.Contains(line, "-D "+cluster+" ") {
		return []int{lock.pid}, nil
	}
	return nil, nil
}
