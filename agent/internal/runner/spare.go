package runner

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"rockpool/agent/internal/durable"
)

// folders makes the folders of attempts. One that its job has left as it was made is
// used again under another name: to make and remove three folders costs as much as a
// short process does. Safe for concurrent use.
type folders struct {
	dir     string   // where they lie
	account *Account // whose what a job works with is; nil: the agent's own

	mu    sync.Mutex
	spare []folder
	over  bool // none is kept
}

// folder is that of an attempt, with what it works with.
type folder struct {
	path string
	made [3]asMade // of itself, work and tmp
}

const (
	spareFolders = 32 // are kept at most
	sparePrefix  = "spare-"
)

// take gives a folder with that path, in which work and tmp are and nothing else.
func (f *folders) take(path string) (folder, error) {
	if spare, ok := f.pop(); ok {
		err := syscall.Rename(spare.path, path)
		if err == nil {
			spare.path = path
			return spare, nil
		}
		_ = removeFolder(spare.path) // what hinders both, making one tells
	}
	return f.make(path)
}

func (f *folders) pop() (spare folder, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := len(f.spare) - 1
	if last < 0 {
		return folder{}, false
	}
	spare, f.spare = f.spare[last], f.spare[:last]
	return spare, true
}

func (f *folders) make(path string) (made folder, err error) {
	made.path = path
	for _, dir := range made.all() {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return made, fmt.Errorf("make the job's folder: %w", err)
		}
	}
	if err := f.hand(made); err != nil {
		return made, fmt.Errorf("hand the job's folder to job_user: %w", err)
	}
	made.made, _ = made.look()
	return made, nil
}

// hand gives what the job works with to the user that it runs as; the log stays the
// agent's.
func (f *folders) hand(made folder) error {
	if f.account == nil {
		return nil
	}
	if err := os.Chmod(made.path, 0o711); err != nil {
		return err
	}
	for _, dir := range []string{workDir(made.path), filepath.Join(made.path, tmpFolder)} {
		if err := os.Lchown(dir, f.account.UID, f.account.GID); err != nil {
			return err
		}
	}
	return nil
}

func (f folder) all() [3]string {
	return [3]string{f.path, workDir(f.path), filepath.Join(f.path, tmpFolder)}
}

// look gives how the folders are; false: not as they were made, or nobody knows.
func (f folder) look() (now [3]asMade, ok bool) {
	inside := [3][]string{{tmpFolder, workFolder}, {}, {}}
	for i, dir := range f.all() {
		if now[i], ok = lookAt(dir, inside[i]); !ok {
			return now, false
		}
	}
	return now, true
}

// untouched reports that a job, none of whose processes lives, has left its folder
// as it was made: there is nothing to measure and to look for, and nothing of it can
// reach another job. It removes the log.
func (f folder) untouched() bool {
	_ = syscall.Unlink(filepath.Join(f.path, logFile)) // what can't be removed is seen
	now, ok := f.look()
	return ok && now == f.made
}

// give takes an untouched folder back; false: it is not kept. A full disk gets back
// what all of them hold: it is room enough for a result.
func (f *folders) give(back folder) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, free, err := durable.Space(f.dir); err == nil && free < fullBelow {
		f.drop()
		return false
	}
	name := filepath.Join(f.dir, sparePrefix+rand.Text()) // nobody who runs here knows it
	if f.over || len(f.spare) == spareFolders || syscall.Rename(back.path, name) != nil {
		return false
	}
	back.path = name
	f.spare = append(f.spare, back)
	return true
}

// close removes those that are kept.
func (f *folders) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	f.drop()
}

func (f *folders) drop() {
	for _, spare := range f.spare {
		_ = removeFolder(spare.path) // else the next start does
	}
	f.spare = nil
}
