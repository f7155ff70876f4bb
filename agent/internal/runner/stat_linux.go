package runner

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// procStat is what /proc/PID/stat says.
type procStat struct {
	pid     int
	state   byte
	threads int
	pgid    int
	session int
	start   string // in clock ticks since the machine's boot
}

// lives is false of who has ended and is not waited for yet. A process whose first
// thread alone has ended reads as one of these.
func (s procStat) lives() bool { return s.state != 'Z' && s.state != 'X' || s.threads > 1 }

func readStat(pid int) (procStat, bool) {
	var buffer [1024]byte
	content, err := readLine("/proc/"+strconv.Itoa(pid)+"/stat", buffer[:])
	if err != nil {
		return procStat{}, false
	}
	// The name in parentheses may hold anything; what follows its last one is plain.
	fields := bytes.Fields(content[bytes.LastIndexByte(content, ')')+1:])
	if len(fields) < 20 || len(fields[0]) != 1 {
		return procStat{}, false
	}
	pgid, pgidErr := strconv.Atoi(string(fields[2]))
	session, sessionErr := strconv.Atoi(string(fields[3]))
	threads, threadsErr := strconv.Atoi(string(fields[17]))
	stat := procStat{pid: pid, state: fields[0][0], threads: threads, pgid: pgid, session: session, start: string(fields[19])}
	return stat, errors.Join(pgidErr, sessionErr, threadsErr) == nil
}

// readLine reads a file of the kernel's that is shorter than the buffer, in three
// calls.
func readLine(path string, buffer []byte) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	n, err := unix.Read(fd, buffer)
	if err != nil {
		return nil, err
	}
	return buffer[:n], nil
}

// writeLine writes to a file of the kernel's, in three calls.
func writeLine(path, value string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte(value))
	return errors.Join(err, unix.Close(fd))
}

// ticks reads a start time; what is none is 0.
func ticks(start string) uint64 {
	n, _ := strconv.ParseUint(start, 10, 64)
	return n
}

// tick is the unit of start times: USER_HZ is 100 everywhere.
const tick = 1e7 // nanoseconds

// ticksNow is what a process would have as its start time that begins now, or less.
func ticksNow() uint64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return uint64(t.Nano()) / tick
}

// environOf is the environment that a process began with, a zero byte around each
// entry; empty where it can't be read.
func environOf(pid int) []byte {
	environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return nil
	}
	return append([]byte{0}, environ...)
}

// markerDir is what a process's environment says of its attempt's folder.
func markerDir(pid int) string {
	_, after, found := bytes.Cut(environOf(pid), []byte("\x00"+markerVariable+"="))
	if !found {
		return ""
	}
	dir, _, _ := bytes.Cut(after, []byte{0})
	return string(dir)
}
