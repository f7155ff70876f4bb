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
	Dir         string `json:"dir"` // that its processes began in
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

// ClearLeftovers kills the processes of an earlier life of the agent and removes
// their folders. It returns how many it killed.
func ClearLeftovers(dir string) (killed int, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("look for leftover jobs: %w", err)
	}
	for _, e := range entries {
		folder := filepath.Join(dir, e.Name())
		var l leftover
		content, readErr := os.ReadFile(filepath.Join(folder, leftoverFile))
		if readErr == nil && json.Unmarshal(content, &l) == nil && l.Job != "" {
			killed += killLeftover(l)
		}
		err = errors.Join(err, os.RemoveAll(folder))
	}
	return killed, err
}
