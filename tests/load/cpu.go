// Package load measures Rockpool: scripted nodes over real sockets, whose runner
// "noop" answers at once, and probes that do the bare database work in the same
// run.
package load

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"rockpool/tests/rig"
)

// clockTick is the unit of /proc's process times on Linux: USER_HZ is 100 everywhere.
const clockTick = 10 * time.Millisecond

// treeTime sums the CPU time of a process, its children that live, and those
// that it has waited for.
func treeTime(pid int) (time.Duration, error) {
	total, err := statTime(pid, 4)
	if err != nil {
		return 0, err
	}
	children, err := rig.Children(pid)
	if err != nil {
		return 0, err
	}
	for _, child := range children {
		if t, err := treeTime(child); err == nil { // it may have ended meanwhile
			total += t
		}
	}
	return total, nil
}

// processTime is the CPU time of a process alone.
func processTime(pid int) (time.Duration, error) { return statTime(pid, 2) }

// statTime adds up the first times of /proc/PID/stat: utime, stime, cutime, cstime.
func statTime(pid, times int) (time.Duration, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(content), ") ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 15 {
		return 0, fmt.Errorf("/proc/%d/stat reads %q", pid, content)
	}
	var ticks int64
	for _, field := range fields[11 : 11+times] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}
