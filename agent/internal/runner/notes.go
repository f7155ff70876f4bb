package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// leftover is what is noted of the first process of an attempt, for the case that the
// agent dies before it. The start time keeps a reused pid from being taken for ours.
type leftover struct {
	PGID        int    `json:"pgid"`
	Start       string `json:"start"`
	MachineBoot string `json:"machineBoot"` // none of them has survived another one
	Dir         string `json:"dir"`         // that its processes began in; of another agent where the state was copied
}

// notes are those of all attempts that run, in one file that is written over and over:
// to make a file for each would cost as much as a short process does. Nothing is
// synced: what survives a crash of the machine is no process of ours. Safe for
// concurrent use.
type notes struct {
	file   *os.File
	broken error // it could not be opened

	mu     sync.Mutex
	places int   // that the file has
	free   []int // of them
}

const (
	notesFile = "processes" // in the folder of jobs
	notePlace = 8 << 10     // bytes that a note has room for: a path and some words
)

// openNotes begins them anew in a folder of jobs. Where that can't be, none is taken:
// the error of put says so.
func openNotes(dir string) *notes {
	file, err := os.OpenFile(filepath.Join(dir, notesFile), os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	return &notes{file: file, broken: err}
}

// put writes down what runs for the attempt with that folder, and where: for drop.
// Before that the folder's name alone tells of its processes.
func (n *notes) put(folder string, pid int, start string) (place int, err error) {
	l := leftover{PGID: pid, Start: start, MachineBoot: bootID(), Dir: workDir(folder)}
	place = n.take()
	if err := n.write(place, l); err != nil {
		n.drop(place)
		return 0, fmt.Errorf("note the job's process: %w", err)
	}
	return place, nil
}

func (n *notes) take() (place int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if last := len(n.free) - 1; last >= 0 {
		place, n.free = n.free[last], n.free[:last]
		return place
	}
	n.places++
	return n.places // the first is 1
}

func (n *notes) write(place int, l leftover) error {
	if n.broken != nil {
		return n.broken
	}
	content, err := json.Marshal(l)
	if err == nil && len(content) > notePlace {
		err = errors.New("its folder's path is too long")
	}
	if err == nil {
		_, err = n.file.WriteAt(content, int64(place-1)*notePlace)
	}
	return err
}

// drop forgets what a place says.
func (n *notes) drop(place int) {
	if place == 0 {
		return
	}
	_ = n.write(place, leftover{}) // else it speaks of a process that has ended
	n.mu.Lock()
	defer n.mu.Unlock()
	n.free = append(n.free, place)
}

func (n *notes) close() {
	if n.broken == nil {
		_ = n.file.Close()
	}
}

// readNotes reads what an earlier life noted in a folder of jobs, by where the
// processes began. What can't be read is left out.
func readNotes(dir string) map[string]leftover {
	noted := map[string]leftover{}
	file, err := os.Open(filepath.Join(dir, notesFile))
	if err != nil {
		return noted
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return noted
	}
	for at := int64(0); at < info.Size(); at += notePlace {
		var l leftover // behind it may stand the rest of a longer one
		if json.NewDecoder(io.NewSectionReader(file, at, notePlace)).Decode(&l) == nil && l.Dir != "" {
			noted[l.Dir] = l
		}
	}
	return noted
}
