package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// leftover is what the folder of an attempt says of its processes, for the case
// that the agent dies before them. The start time keeps a reused pid from being
// taken for ours.
type leftover struct {
	PGID        int    `json:"pgid"`
	Start       string `json:"start"`       // of the group's first process
	MachineBoot string `json:"machineBoot"` // none of them has survived another one
	Job         string `json:"job"`
	Attempt     string `json:"attempt"`
	Dir         string `json:"dir"` // that its processes began in; of another agent where the state was copied
}

const leftoverFile = "process.json"

// noteProcess writes down what runs for an attempt, before and after its start.
func noteProcess(dir string, m marker, pid int) error {
	l := leftover{PGID: pid, Job: m.job, Attempt: m.attempt, Dir: m.dir}
	l.Start, l.MachineBoot = describeProcess(pid)
	content, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("note the job's process: %w", err)
	}
	// No sync: what survives a crash of the machine is no process of ours.
	if err := os.WriteFile(filepath.Join(dir, leftoverFile), content, 0o600); err != nil {
		return fmt.Errorf("note the job's process: %w", err)
	}
	return nil
}

// leftoverWait is how long killed leftovers get to be gone.
const leftoverWait = 5 * time.Second

// makeFolder makes the folder of jobs and returns its real path, which is how the
// notes tell this agent's processes from those that a copied state speaks of.
func makeFolder(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the folder of jobs: %w", err)
	}
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", fmt.Errorf("find the folder of jobs: %w", err)
	}
	return abs, nil
}

// ClearLeftovers kills the processes that an earlier life of the agent began in a
// folder of jobs, by its real path, and removes all that lies there. It returns how
// many it killed.
func ClearLeftovers(dir string) (killed int, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("look for leftover jobs: %w", err)
	}
	for _, e := range entries {
		folder := filepath.Join(dir, e.Name())
		var l leftover
		content, readErr := os.ReadFile(filepath.Join(folder, leftoverFile))
		if readErr == nil && json.Unmarshal(content, &l) == nil && l.Job != "" && l.Dir == workDir(folder) {
			killed += killLeftover(l)
		}
		err = errors.Join(err, removeFolder(folder))
	}
	return killed, err
}
