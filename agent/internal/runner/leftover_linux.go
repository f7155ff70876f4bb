package runner

import (
	"os"
	"strings"
	"sync"
	"time"
)

// bootID names the time since the machine's last boot; empty where it can't be read,
// and the marker alone decides.
var bootID = sync.OnceValue(func() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
})

// killLeftover kills every process that certainly belongs to the attempt: those
// with its marker, and the group when its first process is still the same one.
func killLeftover(m marker, l leftover) int {
	g := &group{marker: m}
	if stat, ok := readStat(l.PGID); ok && l.PGID > 0 && l.MachineBoot == bootID() && stat.start == l.Start && stat.pgid == l.PGID {
		g.pgid = l.PGID
	}
	seen := map[int]string{}
	for deadline := time.Now().Add(leftoverWait); time.Now().Before(deadline); time.Sleep(pollGroup) {
		members := g.search()
		if len(members) == 0 && !anyLives(seen) {
			break
		}
		for _, member := range members {
			seen[member.pid] = member.start
			member.signal(kill)
		}
	}
	return len(seen)
}

// anyLives reports that one of the processes, with their start times, still lives. Who
// is dying is not found any more by what it was.
func anyLives(list map[int]string) bool {
	for pid, start := range list {
		if stat, ok := readStat(pid); ok && stat.start == start && stat.lives() {
			return true
		}
	}
	return false
}
