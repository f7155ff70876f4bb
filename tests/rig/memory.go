package rig

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Resident is a process's memory in bytes, where /proc tells.
func Resident(pid int) (int64, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(content))
	if len(fields) < 2 {
		return 0, fmt.Errorf("/proc/%d/statm reads %q", pid, content)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
