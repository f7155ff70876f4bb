package runner

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// usage measures the group's processes. Memory is what they have to themselves or
// share among each other; what is mapped from files costs nothing.
func (g *group) usage() (u usage) {
	for _, member := range g.members() {
		u.processes++
		u.memory += memoryOf(member.pid)
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
