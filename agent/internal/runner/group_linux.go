package runner

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	terminate = unix.SIGTERM
	kill      = unix.SIGKILL
)

// group is all processes of an attempt: its process group and session, those that
// left them (a daemon makes its own session) but carry the attempt's marker, and all
// that is in its control group.
type group struct {
	pgid   int // 0: known by its marker alone
	marker marker
	cgroup *cgroup
	since  uint64 // when its first process began: what is older is none of it; 0: not known
}

func newGroup(pid int, m marker, c *cgroup) group {
	stat, _ := readStat(pid)
	return group{pid, m, c, ticks(stat.start)}
}

func (g group) overMemory() bool { return g.cgroup.overMemory() }
func (g group) remove()          { g.cgroup.remove() }

// awaitExit waits until the process has ended and leaves it a zombie: so its pid
// keeps naming this group while the rest of it is being killed.
func awaitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

// signal reaches every member. The group gets it at once; who left the group is
// looked up.
func (g group) signal(sig syscall.Signal) {
	if sig == kill {
		g.cgroup.kill()
	}
	if g.pgid > 0 {
		_ = unix.Kill(-g.pgid, sig)
	}
	for _, pid := range g.members() {
		g.signalStray(pid, sig)
	}
}

// signalStray signals a member outside the group. The descriptor keeps a reused
// pid from being hit.
func (g group) signalStray(pid int, sig syscall.Signal) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	if stat, ok := readStat(pid); ok && stat.pgid != g.pgid && (g.leads(stat) || slices.Contains(g.cgroup.members(), pid) || g.marked(pid)) {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

func (g group) alive() bool { return g.cgroup.populated() || len(g.members()) > 0 }

// members are the group's processes that live; zombies do not.
func (g group) members() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	inside := g.cgroup.members()
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		stat, ok := readStat(pid)
		if ok && stat.lives() && ticks(stat.start) >= g.since && (g.leads(stat) || slices.Contains(inside, pid) || g.marked(pid)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// leads reports a process of the first one's group or session.
func (g group) leads(stat procStat) bool {
	return g.pgid > 0 && (stat.pgid == g.pgid || stat.session == g.pgid)
}

// marked reports a process with the attempt's marker in its environment.
func (g group) marked(pid int) bool {
	environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	if err != nil {
		return false
	}
	environ = append([]byte{0}, environ...)
	for _, entry := range g.marker.env() {
		if !bytes.Contains(environ, []byte("\x00"+entry+"\x00")) {
			return false
		}
	}
	return true
}

// ticks reads a start time; what is none is 0.
func ticks(start string) uint64 {
	n, _ := strconv.ParseUint(start, 10, 64)
	return n
}

// procStat is what /proc/PID/stat says.
type procStat struct {
	state   byte
	pgid    int
	session int
	start   string // in clock ticks since the machine's boot
}

func (s procStat) lives() bool { return s.state != 'Z' && s.state != 'X' }

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
	pgid, err := strconv.Atoi(string(fields[2]))
	session, sessionErr := strconv.Atoi(string(fields[3]))
	return procStat{state: fields[0][0], pgid: pgid, session: session, start: string(fields[19])}, err == nil && sessionErr == nil
}

// readLine reads a file of the kernel's that is shorter than the buffer. All processes
// of the machine are looked at after each job: three calls a file are enough.
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

func endOf(cmd *exec.Cmd) (code int, signal string) {
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return 128 + int(status.Signal()), unix.SignalName(status.Signal())
	}
	return cmd.ProcessState.ExitCode(), ""
}

func maxMemory(cmd *exec.Cmd) int64 {
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss << 10
	}
	return 0
}
