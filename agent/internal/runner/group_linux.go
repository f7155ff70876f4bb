package runner

import (
	"bytes"
	"os"
	"os/exec"
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
// left them (a daemon makes its own session), and all that is in its control group.
type group struct {
	pgid   int // 0: its first process has not begun, or is waited for
	thread int // of the agent, that started it; 0: of another life of the agent
	marker marker
	cgroup *cgroup
	since  uint64         // when its first process began, or before: what is older is none of it; 0: not known
	start  uint64         // when its first process began; 0: not known
	seen   map[int]string // start times of its processes at the last look
	alone  bool           // once it is over: nobody lives who may be of it after all
}

// newGroup is for a first process that is about to be started; began says who it
// is. It is forgotten by over.
func newGroup(m marker, c *cgroup) *group {
	g := &group{marker: m, cgroup: c, since: ticksNow()}
	household.join(g)
	return g
}

// began is told by the thread that started the group's first process.
func (g *group) began(pid int) { household.began(g, pid, unix.Gettid()) }

// startOf is the start time of the group's first process.
func (g *group) startOf(pid int) string {
	if g.start > 0 {
		return strconv.FormatUint(g.start, 10)
	}
	stat, _ := readStat(pid)
	return stat.start
}

func (g *group) overMemory() bool { return g.cgroup.overMemory() }
func (g *group) remove()          { g.cgroup.remove() }
func (g *group) wasAlone() bool   { return g.alone }

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

// looksAtMost is how often a kill looks for who was born meanwhile, until none was.
const looksAtMost = 100

// signal reaches every member. The group gets it at once; who left the group is
// looked up.
func (g *group) signal(sig syscall.Signal) {
	if sig == kill {
		g.cgroup.kill()
	}
	if g.pgid > 0 {
		_ = unix.Kill(-g.pgid, sig)
	}
	reached := map[int]string{}
	for range looksAtMost {
		known := len(reached)
		for _, stat := range g.members() {
			if reached[stat.pid] != stat.start {
				reached[stat.pid] = stat.start
				if stat.pgid != g.pgid {
					stat.signal(sig)
				}
			}
		}
		if sig != kill || len(reached) == known {
			return
		}
	}
}

// signal reaches the process that this was read of. The descriptor keeps a reused
// pid from being hit.
func (s procStat) signal(sig syscall.Signal) {
	fd, err := unix.PidfdOpen(s.pid, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	if now, ok := readStat(s.pid); ok && now.start == s.start {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

// over reports that none of a group whose first process has ended lives, and then
// forgets it.
func (g *group) over() bool {
	switch {
	case g.cgroup.populated():
		return false
	case household.adopts:
		return household.leave(g)
	}
	return len(g.search()) == 0 && household.leave(g)
}

// members are the group's processes that live; zombies do not.
func (g *group) members() []procStat {
	if household.adopts {
		return household.of(g)
	}
	return g.search()
}

// search looks for members among all processes of the machine: for those of an
// earlier life of the agent, and where the kernel gives it no orphans.
func (g *group) search() (list []procStat) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	inside := g.cgroup.members()
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		stat, ok := readStat(pid)
		if ok && stat.lives() && ticks(stat.start) >= g.since && (g.leads(stat) || slices.Contains(inside, pid) || g.marked(pid)) {
			list = append(list, stat)
		}
	}
	return list
}

// leads reports a process of the first one's group or session.
func (g *group) leads(stat procStat) bool {
	return g.pgid > 0 && (stat.pgid == g.pgid || stat.session == g.pgid)
}

// marked reports a process with the attempt's marker in its environment.
func (g *group) marked(pid int) bool {
	environ := environOf(pid)
	for _, entry := range g.marker.env() {
		if !bytes.Contains(environ, []byte("\x00"+entry+"\x00")) {
			return false
		}
	}
	return true
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
