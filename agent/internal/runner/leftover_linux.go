package runner

import (
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

func describeProcess(pid int) (start, machineBoot string) {
	stat, _ := readStat(pid)
	return stat.start, bootID()
}

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
	var seen []int
	for deadline := time.Now().Add(leftoverWait); time.Now().Before(deadline); time.Sleep(pollGroup) {
		members := g.search()
		if len(members) == 0 {
			break
		}
		for _, member := range members {
			if !slices.Contains(seen, member.pid) {
				seen = append(seen, member.pid)
			}
			member.signal(kill)
		}
	}
	return len(seen)
}
