package runner

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cgroups is the control group below which each attempt gets one of its own. Nil:
// this machine, or the agent's rights, allow none.
type cgroups struct {
	dir               string
	prefix            string // of the groups of this folder of jobs
	memory, processes bool   // the kernel keeps these limits
}

// openCgroups looks whether control groups (version 2) can be made below the
// agent's own, and ends what an earlier life left in them.
func openCgroups(jobs string, log *slog.Logger) *cgroups {
	own, err := ownCgroup()
	if err != nil {
		log.Info("jobs get no control groups", "why", err)
		return nil
	}
	name := sha256.Sum256([]byte(jobs))
	c := &cgroups{dir: own, prefix: "rockpool-" + hex.EncodeToString(name[:4]) + "-"}
	c.clear(log)
	if err := c.try(); err != nil {
		log.Info("jobs get no control groups", "why", err)
		return nil
	}
	c.enable(log)
	return c
}

// try makes a group and starts a program in it that there is not: where that alone
// is what fails, programs can be started in groups.
func (c *cgroups) try() error {
	g, err := c.make("probe", limits{})
	if err != nil {
		return err
	}
	defer g.remove()
	if _, err := os.Stat(filepath.Join(g.dir, "cgroup.kill")); err != nil {
		return err // of an old kernel, or a mount that can only be read
	}
	attr := &os.ProcAttr{Sys: &syscall.SysProcAttr{}}
	g.take(attr.Sys)
	program := filepath.Join(g.dir, "no-program")
	if _, err := os.StartProcess(program, []string{program}, attr); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("start a process in one: %w", err)
	}
	return nil
}

// ownCgroup is the folder of the agent's own group. Of an agent that has moved to a
// leaf of it, it is the group above.
func ownCgroup() (string, error) {
	mount, root, err := cgroupMount()
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(content)) {
		path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		if root != "/" {
			path = strings.TrimPrefix(path, root)
		}
		if strings.Contains(path, "..") {
			return "", errors.New("the agent's own group is not visible")
		}
		return strings.TrimSuffix(filepath.Join(mount, path), "/"+agentLeaf), nil
	}
	return "", errors.New("this machine has no control groups of version 2")
}

// cgroupMount is where the groups are mounted, and which of them is its root.
func cgroupMount() (mount, root string, err error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", "", err
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		if fields := strings.Fields(before); strings.HasPrefix(after, "cgroup2 ") && len(fields) > 4 {
			return fields[4], fields[3], nil
		}
	}
	return "", "", errors.New("this machine has no control groups of version 2")
}

// agentLeaf is where the agent moves: a group that limits its children must hold no
// process itself.
const agentLeaf = "rockpool-agent"

// enable has the kernel keep the limits, where the group was delegated to the agent.
func (c *cgroups) enable(log *slog.Logger) {
	for _, what := range []struct {
		controller string
		on         *bool
	}{{"memory", &c.memory}, {"pids", &c.processes}} {
		err := c.control(what.controller)
		if errors.Is(err, unix.EBUSY) && c.moveAgent() {
			err = c.control(what.controller)
		}
		if *what.on = err == nil; err != nil {
			log.Info("the kernel does not keep this limit of jobs: the agent looks after it", "controller", what.controller, "why", err)
		}
	}
}

func (c *cgroups) control(controller string) error {
	there, err := os.ReadFile(filepath.Join(c.dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	if !slices.Contains(strings.Fields(string(there)), controller) {
		return errors.New("it is not there, or not delegated")
	}
	return os.WriteFile(filepath.Join(c.dir, "cgroup.subtree_control"), []byte("+"+controller), 0)
}

// moveAgent makes room for limits, unless others are in the group too: they are
// not the agent's to move.
func (c *cgroups) moveAgent() bool {
	procs, err := os.ReadFile(filepath.Join(c.dir, "cgroup.procs"))
	if err != nil || strings.TrimSpace(string(procs)) != strconv.Itoa(os.Getpid()) {
		return false
	}
	leaf := filepath.Join(c.dir, agentLeaf)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return false
	}
	return os.WriteFile(filepath.Join(leaf, "cgroup.procs"), []byte("0"), 0) == nil
}

// clear ends what an earlier life of the agent left running, also what has cleared
// its environment and left its process group.
func (c *cgroups) clear(log *slog.Logger) {
	left, _ := filepath.Glob(filepath.Join(c.dir, c.prefix+"*"))
	for _, dir := range left {
		g := &cgroup{dir: dir}
		if g.populated() {
			log.Warn("killed what an earlier life of this agent left in a job's control group", "group", dir)
		}
		g.kill()
		g.remove()
	}
}

// make makes the group of an attempt. On no groups it gives none.
func (c *cgroups) make(name string, l limits) (*cgroup, error) {
	if c == nil {
		return nil, nil
	}
	g := &cgroup{dir: filepath.Join(c.dir, c.prefix+name), memory: c.memory && l.memory > 0, processes: c.processes && l.processes > 0}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the job's control group: %w", err)
	}
	err := g.limit(l)
	if err == nil {
		g.folder, err = unix.Open(g.dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		g.remove()
		return nil, fmt.Errorf("limit the job's control group: %w", err)
	}
	return g, nil
}

// cgroup is the control group of one attempt; nil: it has none.
type cgroup struct {
	dir               string
	folder            int  // descriptor of dir, for who is started in it; 0: none
	memory, processes bool // the kernel keeps the limit
}

func (g *cgroup) limit(l limits) error {
	if g.processes {
		if err := g.set("pids.max", strconv.FormatInt(l.processes, 10)); err != nil {
			return err
		}
	}
	if !g.memory {
		return nil
	}
	_ = g.set("memory.swap.max", "0")  // not there without swap
	_ = g.set("memory.oom.group", "1") // the whole job ends, not a part of it
	return g.set("memory.max", strconv.FormatInt(l.memory, 10))
}

func (g *cgroup) set(file, value string) error {
	return writeLine(filepath.Join(g.dir, file), value)
}

// take has a child started in the group.
func (g *cgroup) take(attr *syscall.SysProcAttr) {
	if g != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, g.folder
	}
}

func (g *cgroup) limitsMemory() bool { return g != nil && g.memory }

// kill ends every process of the group and of those below it, at once.
func (g *cgroup) kill() {
	if g != nil {
		_ = g.set("cgroup.kill", "1")
	}
}

// populated reports whether a process of the group lives.
func (g *cgroup) populated() bool {
	return g != nil && g.event("cgroup.events", "populated") > 0
}

// members are the processes of the group itself.
func (g *cgroup) members() (pids []int) {
	if g == nil {
		return nil
	}
	procs, _ := os.ReadFile(filepath.Join(g.dir, "cgroup.procs"))
	for _, field := range bytes.Fields(procs) {
		if pid, err := strconv.Atoi(string(field)); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// overMemory reports that the kernel has ended the group for its memory.
func (g *cgroup) overMemory() bool {
	return g.limitsMemory() && g.event("memory.events", "oom_kill") > 0
}

// event reads a number of one of the group's files.
func (g *cgroup) event(file, name string) (n int64) {
	var buffer [1024]byte
	content, _ := readLine(filepath.Join(g.dir, file), buffer[:]) // a few lines
	for line := range strings.Lines(string(content)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, _ = strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
	}
	return n
}

// Removing a group whose processes have just died may take a moment.
const (
	removeTries = 50
	removePause = 10 * time.Millisecond
)

func (g *cgroup) remove() {
	if g == nil {
		return
	}
	if g.folder > 0 {
		_ = unix.Close(g.folder)
		g.folder = 0
	}
	if unix.Rmdir(g.dir) == nil {
		return
	}
	below, _ := filepath.Glob(filepath.Join(g.dir, "*", "cgroup.procs")) // that the job itself has made
	for _, procs := range below {
		(&cgroup{dir: filepath.Dir(procs)}).remove()
	}
	for range removeTries {
		if err := os.Remove(g.dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
		time.Sleep(removePause)
	}
}
