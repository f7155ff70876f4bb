package runner

import (
	"os"
	"slices"
	"strings"
	"time"
)

func describeProcess(pid int) (start, machineBoot string) {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // unreadable: the marker alone decides
	stat, _ := readStat(pid)
	return stat.start, strings.TrimSpace(string(boot))
}

// killLeftover kills every process that certainly belongs to the attempt: those
// with its marker, and the group when its first process is still the same one.
func killLeftover(l leftover) int {
	if _, boot := describeProcess(os.Getpid()); boot != l.MachineBoot {
		return 0
	}
	g := group{marker: marker{l.Job, l.Attempt, l.Dir}, since: ticks(l.Start)}
	if stat, ok := readStat(l.PGID); ok && l.PGID > 0 && stat.start == l.Start && stat.pgid == l.PGID {
		g.pgid = l.PGID
	}
	var seen []int
	for deadline := time.Now().Add(leftoverWait); time.Now().Before(deadline); time.Sleep(pollGroup) {
		members := g.members()
		if len(members) == 0 {
			break
		}
		for _, pid := range members {
			if !slices.Contains(seen, pid) {
				seen = append(seen, pid)
			}
		}
		g.signal(kill)
	}
	return len(seen)
}
