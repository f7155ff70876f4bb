package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"rockpool/shared/ids"
	"rockpool/shared/nodecore"
)

// leftover is what the folder of an attempt says of its first process, for the case
// that the agent dies before it. The start time keeps a reused pid from being taken
// for ours.
type leftover struct {
	PGID        int    `json:"pgid"`
	Start       string `json:"start"`
	MachineBoot string `json:"machineBoot"` // none of them has survived another one
	Dir         string `json:"dir"`         // that its processes began in; of another agent where the state was copied
}

const leftoverFile = "process.json"

// noteProcess writes down what runs for the attempt with that folder. Before that
// the folder's name alone tells of its processes.
func noteProcess(folder string, pid int) error {
	l := leftover{PGID: pid, Dir: workDir(folder)}
	l.Start, l.MachineBoot = describeProcess(pid)
	content, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("note the job's process: %w", err)
	}
	// No sync: what survives a crash of the machine is no process of ours.
	if err := os.WriteFile(filepath.Join(folder, leftoverFile), content, 0o600); err != nil {
		return fmt.Errorf("note the job's process: %w", err)
	}
	return nil
}

// folderName is what the folder of an attempt is called.
func folderName(ref nodecore.Ref) string { return fmt.Sprintf("%s-%d", ref.Job, ref.Attempt) }

// attemptOf reads it.
func attemptOf(folder string) (nodecore.Ref, bool) {
	name := filepath.Base(folder)
	last := strings.LastIndexByte(name, '-')
	if last < 0 {
		return nodecore.Ref{}, false
	}
	job, jobErr := ids.ParseJobID(name[:last])
	attempt, attemptErr := strconv.ParseInt(name[last+1:], 10, 32)
	return nodecore.Ref{Job: job, Attempt: int32(attempt)}, errors.Join(jobErr, attemptErr) == nil
}

// markerOf is what the processes of an attempt have in their environment.
func markerOf(ref nodecore.Ref, folder string) marker {
	return marker{job: ref.Job.String(), attempt: strconv.Itoa(int(ref.Attempt)), dir: workDir(folder)}
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
		if ref, ok := attemptOf(folder); ok {
			killed += killLeftover(markerOf(ref, folder), readLeftover(folder))
		}
		err = errors.Join(err, removeFolder(folder))
	}
	return killed, err
}

// readLeftover reads a note of this agent's; an empty one where there is none.
func readLeftover(folder string) (l leftover) {
	content, err := os.ReadFile(filepath.Join(folder, leftoverFile))
	if err != nil || json.Unmarshal(content, &l) != nil || l.Dir != workDir(folder) {
		return leftover{}
	}
	return l
}
