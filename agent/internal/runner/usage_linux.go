package runner

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// usage measures the group's processes. Memory is what they have to themselves or
// share among each other; what is mapped from files costs nothing.
func (g group) usage() (u usage) {
	pids := g.cgroup.members()
	if g.cgroup == nil {
		pids = everybody.of(g)
	}
	for _, pid := range pids {
		u.processes++
		u.memory += memoryOf(pid)
	}
	return u
}

// memoryOf is a process's resident memory without mapped files, in bytes.
func memoryOf(pid int) (bytes int64) {
	status, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		if name == "RssAnon" || name == "RssShmem" {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			bytes += kib << 10
		}
	}
	return bytes
}

// census is all processes of the machine, looked at once for all attempts that are
// measured at the same time.
type census struct {
	mu   sync.Mutex
	at   time.Time
	rows []censusRow
}

// censusRow is a process that may be of an attempt.
type censusRow struct {
	pid  int
	stat procStat
	dir  string // of its marker; empty: it has none
}

var everybody census

// censusAge is how old a census may be.
const censusAge = watchDisk / 2

// of lists the processes of a group.
func (c *census) of(g group) (pids []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.at) > censusAge {
		c.look()
	}
	for _, row := range c.rows {
		if g.leads(row.stat) || row.dir != "" && row.dir == g.marker.dir {
			pids = append(pids, row.pid)
		}
	}
	return pids
}

func (c *census) look() {
	c.rows, c.at = c.rows[:0], time.Now()
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if stat, ok := readStat(pid); ok && stat.lives() {
			c.rows = append(c.rows, censusRow{pid, stat, markerDir(pid)})
		}
	}
}

// markerDir is what a process's environment says of its attempt's folder.
func markerDir(pid int) string {
	environ, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if dir, ok := bytes.CutPrefix(entry, []byte(markerVariable+"=")); ok {
			return string(dir)
		}
	}
	return ""
}
