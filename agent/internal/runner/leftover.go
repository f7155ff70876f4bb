package runner

import (
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
	noted := readNotes(dir)
	for _, e := range entries {
		folder := filepath.Join(dir, e.Name())
		if ref, ok := attemptOf(folder); ok {
			killed += killLeftover(markerOf(ref, folder), noted[workDir(folder)])
		}
		err = errors.Join(err, removeFolder(folder))
	}
	return killed, err
}
