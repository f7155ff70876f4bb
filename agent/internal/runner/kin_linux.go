package runner

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// kin is what descends from this process. A process whose parent ends is given to
// the agent, its child subreaper, never to init; so whatever a job's process does to
// be forgotten (a session of its own, no environment, another name), it stays below
// one of the agent's children. These are
//
//   - who was started here: children of the thread that started them, an attempt's
//     own as long as it lasts;
//   - orphans: children of the agent's first thread, which starts nobody.
//
// The kernel lists the children of each thread. No list loses an entry but by the
// wait for a process that has ended, so that of the orphans only grows while mu is
// held.
type kin struct {
	mu      sync.Mutex
	adopts  bool // this process is given orphans, and can list its children
	session int  // of this process, which no job's process can join
	groups  []*group
	orphans int // descriptor of the list; it is open as long as this process lives
}

// household is of all attempts of this process: the kernel knows no smaller unit.
var household kin

// adopt has the kernel give this process what its jobs leave. Where it does not list
// a process's children (CONFIG_PROC_CHILDREN) nothing is adopted, and what a job
// left is looked for among all processes of the machine.
func (k *kin) adopt() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.adopts {
		return
	}
	self := os.Getpid()
	fd, err := unix.Open(childList(self, self), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	k.session, err = unix.Getsid(0)
	if err != nil || unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != nil {
		_ = unix.Close(fd)
		return
	}
	k.orphans, k.adopts = fd, true
}

// join notes a group before its first process begins.
func (k *kin) join(g *group) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.groups = append(k.groups, g)
}

// began notes who a group's first process is, and the thread whose child it is.
func (k *kin) began(g *group, pid, thread int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	g.pgid, g.thread = pid, thread
}

// leave forgets a group whose first process has ended, unless another of its
// processes lives: then it is false. To look and to forget are one step, because an
// orphan that two groups may have left belongs to the one that leaves last.
func (k *kin) leave(g *group) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	mine, listed := k.roots(g)
	if len(mine) > 0 {
		return false
	}
	g.alone = k.adopts && !slices.ContainsFunc(listed, func(pid int) bool {
		stat, ok := readStat(pid)
		return ok && stat.lives() && stat.session != k.session
	})
	k.groups = slices.DeleteFunc(k.groups, func(other *group) bool { return other == g })
	return true
}

// of lists the processes of a group that live.
func (k *kin) of(g *group) []procStat {
	k.mu.Lock()
	defer k.mu.Unlock()
	list, _ := k.roots(g)
	if first, ok := readStat(g.pgid); ok && g.pgid > 0 && first.lives() {
		list = append(list, first)
	}
	seen := map[int]string{}
	for i := 0; i < len(list); i++ { // list grows meanwhile
		seen[list[i].pid] = list[i].start
		for _, pid := range childrenOf(list[i].pid) {
			if stat, ok := readStat(pid); ok && stat.lives() && seen[pid] == "" {
				seen[pid] = stat.start
				list = append(list, stat)
			}
		}
	}
	g.seen = seen
	return list
}

// roots are the processes of a group that live below the agent itself, but for its
// first one, with all that were listed. It waits for orphans that have ended: nobody
// else does.
func (k *kin) roots(g *group) (mine []procStat, listed []int) {
	listed = k.listed(g)
	if len(listed) == 0 {
		return nil, nil
	}
	for {
		mine = mine[:0]
		for _, pid := range listed {
			if stat, ok := readStat(pid); ok && stat.lives() && k.owner(stat) == g {
				mine = append(mine, stat)
			}
		}
		again := k.listed(g) // who has ended since may have left another
		if slices.Equal(listed, again) {
			k.bury()
			return mine, listed
		}
		listed = again
	}
}

// listed are the agent's children that may be of a group, ended ones too.
func (k *kin) listed(g *group) []int {
	list := readChildren(k.orphans, nil)
	if g.thread == 0 {
		return list
	}
	own := childrenOfThread(os.Getpid(), g.thread) // what a child bears as its own sibling (CLONE_PARENT)
	return append(list, slices.DeleteFunc(own, func(pid int) bool { return pid == g.pgid })...)
}

// bury waits for orphans that have ended. A child with this process's session is
// none: it is waited for by whoever started it.
func (k *kin) bury() {
	for _, pid := range readChildren(k.orphans, nil) {
		if stat, ok := readStat(pid); ok && !stat.lives() && stat.session != k.session {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}

// owner is the group that a child of the agent is of; nil: of none, or of one of
// several. What a process can't choose decides first: its session, its control
// group, where it was seen before; then its marker. Who hides behind none of them is
// of a group that ran when it began, and is left to the last of these to end.
func (k *kin) owner(stat procStat) *group {
	if stat.session == k.session {
		return nil
	}
	for _, knows := range []func(*group) bool{
		func(g *group) bool { return g.leads(stat) || g.seen[stat.pid] == stat.start },
		func(g *group) bool { return slices.Contains(g.cgroup.members(), stat.pid) },
	} {
		if i := slices.IndexFunc(k.groups, knows); i >= 0 {
			return k.groups[i]
		}
	}
	if dir := markerDir(stat.pid); dir != "" {
		if i := slices.IndexFunc(k.groups, func(g *group) bool { return g.marker.dir == dir }); i >= 0 {
			return k.groups[i]
		}
	}
	var only *group
	for _, g := range k.groups {
		if g.since > ticks(stat.start) {
			continue
		}
		if only != nil {
			return nil
		}
		only = g
	}
	return only
}

// childrenOf lists the children of all threads of a process, ended ones too.
func childrenOf(pid int) (list []int) {
	tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return nil
	}
	for _, t := range tasks {
		if thread, err := strconv.Atoi(t.Name()); err == nil {
			list = append(list, childrenOfThread(pid, thread)...)
		}
	}
	return list
}

func childrenOfThread(pid, thread int) []int {
	fd, err := unix.Open(childList(pid, thread), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(fd) }()
	return readChildren(fd, nil)
}

// childList is where the kernel lists the children of a thread.
func childList(pid, thread int) string {
	return "/proc/" + strconv.Itoa(pid) + "/task/" + strconv.Itoa(thread) + "/children"
}

// readChildren appends a list of children to another.
func readChildren(fd int, list []int) []int {
	var buffer [4096]byte
	var text strings.Builder
	for at := int64(0); ; {
		n, err := unix.Pread(fd, buffer[:], at)
		if err != nil || n <= 0 {
			break
		}
		_, _ = text.Write(buffer[:n])
		at += int64(n)
	}
	for field := range strings.FieldsSeq(text.String()) {
		if pid, err := strconv.Atoi(field); err == nil {
			list = append(list, pid)
		}
	}
	return list
}
