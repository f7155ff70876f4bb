package load

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of /proc's process times on Linux: USER_HZ is 100 everywhere.
const clockTick = 10 * time.Millisecond

// ProcessTime is the CPU time of a process alone.
func ProcessTime(pid int) (time.Duration, error) { return statTime(pid, 2) }

// TreeTime sums the CPU time of a process, its children that live, and those that
// it has waited for.
func TreeTime(pid int) (time.Duration, error) {
	total, err := statTime(pid, 4)
	if err != nil {
		return 0, err
	}
	children, err := Children(pid)
	if err != nil {
		return 0, err
	}
	for _, child := range children {
		if t, err := TreeTime(child); err == nil { // it may have ended meanwhile
			total += t
		}
	}
	return total, nil
}

// statTime adds up the first times of /proc/PID/stat: utime, stime, cutime, cstime.
func statTime(pid, times int) (time.Duration, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read a process's time, which Linux alone tells: %w", err)
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
			return 0, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

// Children are the process ids of a process's children that live.
func Children(pid int) ([]int, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil, err
	}
	var children []int
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		for field := range strings.FieldsSeq(string(content)) {
			if child, err := strconv.Atoi(field); err == nil {
				children = append(children, child)
			}
		}
	}
	return children, nil
}

// Resident is a process's memory in bytes, shared pages and all.
func Resident(pid int) (int64, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, fmt.Errorf("read a process's memory, which Linux alone tells: %w", err)
	}
	fields := strings.Fields(string(content))
	if len(fields) < 2 {
		return 0, fmt.Errorf("/proc/%d/statm reads %q", pid, content)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// treeMemory is the memory of a process and its children in bytes: a page that
// several of them share counts once.
func treeMemory(pid int) (int64, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, fmt.Errorf("read a process's memory, which Linux alone tells: %w", err)
	}
	_, rest, _ := strings.Cut(string(content), "\nPss:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0, fmt.Errorf("/proc/%d/smaps_rollup reads %q", pid, content)
	}
	kib, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("/proc/%d/smaps_rollup: %w", pid, err)
	}
	children, err := Children(pid)
	if err != nil {
		return 0, err
	}
	total := kib << 10
	for _, child := range children {
		if m, err := treeMemory(child); err == nil { // it may have ended meanwhile
			total += m
		}
	}
	return total, nil
}
