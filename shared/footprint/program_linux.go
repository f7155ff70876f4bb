package footprint

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// unmapProgram gives back code, constants and tables. Where the kernel does not
// say what is mapped, they stay.
func unmapProgram() {
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	mappings, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer func() { _ = mappings.Close() }()
	for _, s := range clean(mappings, path) {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, s.from, s.to-s.from, syscall.MADV_DONTNEED)
	}
}

// span is a range of addresses.
type span struct{ from, to uintptr }

// clean finds the file's mappings that nobody can write to and nobody has written
// to: a loader or a debugger may have, and its pages would be lost.
func clean(smaps io.Reader, path string) (found []span) {
	var at span
	readOnly := false
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		line := lines.Text()
		var mode string
		if key, value, _ := strings.Cut(line, ":"); key == "Anonymous" {
			if readOnly && strings.TrimSpace(value) == "0 kB" {
				found = append(found, at)
			}
		} else if strings.Contains(key, "-") { // the head of a mapping: addresses, mode, …, path
			_, err := fmt.Sscanf(line, "%x-%x %s", &at.from, &at.to, &mode)
			readOnly = err == nil && !strings.Contains(mode, "w") && strings.HasSuffix(line, " "+path)
		}
	}
	return found
}
