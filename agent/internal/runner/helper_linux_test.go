package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"rockpool/shared/ids"
	"rockpool/shared/nodecore"
	"rockpool/shared/settings"
	"rockpool/shared/wire"
)

// The test binary is also the tool that jobs run: helper MODE args….
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "helper" {
		os.Exit(helper(os.Args[2], os.Args[3:]))
	}
	goleak.VerifyTestMain(m)
}

func helper(mode string, args []string) int {
	switch mode {
	case "env":
		fmt.Println(strings.Join(os.Environ(), "\n"))
	case "args":
		fmt.Printf("%q\n", args)
	case "sleep":
		writePID(args[0])
		wait()
	case "family":
		return family(args[0])
	case "stray":
		signal.Ignore(syscall.SIGTERM)
		writePID(args[0])
		wait()
	case "flood":
		for chunk := bytes.Repeat([]byte("x"), 64<<10); ; {
			if _, err := os.Stdout.Write(chunk); err != nil {
				return 1
			}
		}
	case "fill":
		return fill(args[0])
	case "orphan":
		return orphan(args[0])
	case "hidden":
		return hidden(args[0])
	case "hide":
		signal.Ignore(syscall.SIGTERM)
		if unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) != nil {
			return 1
		}
		writePID(args[0])
		wait()
	case "escape":
		return escape(args[0], 0, "stray")
	case "sibling":
		return escape(args[0], unix.CLONE_PARENT, "stray")
	case "behead":
		return escape(args[0], 0, headless)
	case "emigrate":
		return escape(args[0], 0, emigrant)
	case emigrant:
		emigrate()
		signal.Ignore(syscall.SIGTERM)
		writePID(args[0])
		wait()
	case "vanish":
		return vanish(args[0])
	case headless:
		signal.Ignore(syscall.SIGTERM)
		writePID(args[0])
		go wait()
		_, _, _ = unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0) // of this thread alone
	}
	return 0
}

// wait is for ever, without the runtime taking it for a deadlock.
func wait() { <-time.After(24 * time.Hour) }

// writePID says that this process is there, in a file that is whole at once.
func writePID(dir string) {
	name := filepath.Join(dir, fmt.Sprint(os.Getpid()))
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		os.Exit(3)
	}
}

// spawn starts a helper that survives TERM, in this group or in a session of its own.
func spawn(dir string, session bool) error {
	child := exec.Command(os.Args[0], "helper", "stray", dir)
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
	return child.Start()
}

// family is what a badly behaved tool looks like: it ignores TERM, and so do its
// child and the daemon that it put into a session of its own.
func family(dir string) int {
	signal.Ignore(syscall.SIGTERM)
	if err := errors.Join(spawn(dir, false), spawn(dir, true)); err != nil {
		return 1
	}
	writePID(dir)
	wait()
	return 0
}

// orphan leaves such children behind and ends well.
func orphan(dir string) int {
	if err := errors.Join(spawn(dir, false), spawn(dir, true)); err != nil {
		return 1
	}
	for {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) == 2 {
			return 0
		}
	}
}

// hidden leaves a child behind that has a group of its own, and whose environment
// nobody but root can read.
func hidden(dir string) int {
	child := exec.Command(os.Args[0], "helper", "hide", dir)
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := child.Start(); err != nil {
		return 1
	}
	for {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) == 1 {
			return 0
		}
	}
}

// headless is a process whose first thread has ended.
const headless = "headless"

func init() {
	if len(os.Args) > 2 && os.Args[2] == headless {
		runtime.LockOSThread() // the main goroutine stays on the first thread
	}
}

// escape leaves a child behind that nothing but a control group, or its descent, can
// tell from others: it has a session, an environment and a name of its own.
func escape(dir string, flags uintptr, mode string) int {
	if err := hideaway(dir, flags, mode).Start(); err != nil {
		return 1
	}
	for {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			return 0
		}
	}
}

func hideaway(dir string, flags uintptr, mode string) *exec.Cmd {
	child := exec.Command("/proc/self/exe", "helper", mode, dir)
	child.Args[0], child.Env = "[kworker/0:1]", []string{}
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: flags}
	return child
}

// emigrant is a process that has left the control group of its attempt.
const emigrant = "emigrant"

// emigrate moves this process into the group above, or where that takes none, as one
// with controllers does, into the agent's own.
func emigrate() {
	own, err := ownCgroup()
	if err != nil {
		return
	}
	for _, dir := range []string{filepath.Dir(own), filepath.Join(filepath.Dir(own), agentLeaf)} {
		if os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(fmt.Sprint(os.Getpid())), 0) == nil {
			return
		}
	}
}

// vanish is the worst of a family: beside those it has a hidden child, which has a
// hidden child too and ends.
func vanish(dir string) int {
	if hideaway(dir, 0, "escape").Start() != nil {
		return 1
	}
	return family(dir)
}

func fill(path string) int {
	if err := os.WriteFile(path, make([]byte, 8<<20), 0o600); err != nil {
		return 1
	}
	wait()
	return 0
}

// rig runs attempts of one runner.
type rig struct {
	*Set
	t     *testing.T
	dir   string
	pids  string // folder in which helpers say that they are there
	sink  *sink
	ended chan Done
	next  byte
}

// sink keeps what is handed over; the first errors are those of fails.
type sink struct {
	mu    sync.Mutex
	fails []error
	tries int
	kept  map[string]string // content by the output's name
	part  int64             // bytes that a try which fails leaves
	froms []int64           // where tries began
	onTry func()
}

func (s *sink) Offset(context.Context, nodecore.Ref, string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.part, nil
}

func (s *sink) Put(_ context.Context, _ nodecore.Ref, out wire.Output, from io.ReaderAt, offset int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries++
	s.froms = append(s.froms, offset)
	if s.onTry != nil {
		s.onTry()
	}
	if len(s.fails) > 0 {
		err := s.fails[0]
		s.fails = s.fails[1:]
		return err
	}
	content, err := io.ReadAll(io.NewSectionReader(from, 0, out.Size+1))
	if err == nil && (digestOf(content) != out.Digest || int64(len(content)) != out.Size) {
		err = fmt.Errorf("%s is not what its description says", out.Name)
	}
	s.kept[out.Name] = string(content)
	return err
}

type artifacts map[string][]byte

type notThere struct{}

func (notThere) Error() string { return "404 not found" }
func (notThere) Final() bool   { return true }

func (a artifacts) Open(_ context.Context, digest string, offset int64) (io.ReadCloser, int64, error) {
	content, ok := a[digest]
	if !ok {
		return nil, 0, notThere{}
	}
	return io.NopCloser(bytes.NewReader(content[offset:])), offset, nil
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func newRig(t *testing.T, spec Spec, source artifacts) *rig {
	t.Helper()
	return newRigAs(t, t.TempDir(), spec, source, nil)
}

func newRigAt(t *testing.T, dir string, spec Spec, source artifacts) *rig {
	t.Helper()
	return newRigAs(t, dir, spec, source, nil)
}

// newRigAs runs jobs as another user, unless that is nil.
func newRigAs(t *testing.T, dir string, spec Spec, source artifacts, account *Account) *rig {
	t.Helper()
	book, err := NewBook([]Spec{spec}, Builtins{Enabled: []string{"checksum"}}, "cpu", append(os.Environ(), "SEEN=yes", "HIDDEN=no"))
	if err != nil {
		t.Fatal(err)
	}
	book.As(account)
	r := &rig{t: t, dir: dir, pids: t.TempDir(), sink: &sink{kept: map[string]string{}}, ended: make(chan Done, 16)}
	if account != nil { // who must be able to pass through
		if err := os.Chmod(filepath.Dir(r.dir), 0o711); err != nil {
			t.Fatal(err)
		}
	}
	r.Set, err = New(Config{
		Book: book, Dir: filepath.Join(r.dir, "jobs"), Source: source, Sink: r.sink, InputLimit: 1 << 20,
		StopGrace: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler), Done: func(d Done) { r.ended <- d },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !r.Close(patience) {
			t.Error("an attempt did not end")
		}
	})
	return r
}

// nothingLeft looks for what a job left in the folder of jobs.
func (r *rig) nothingLeft() {
	r.t.Helper()
	entries, err := os.ReadDir(r.Set.dir)
	if err != nil {
		r.t.Error(err)
	}
	for _, e := range entries {
		if e.Name() != notesFile && !strings.HasPrefix(e.Name(), sparePrefix) {
			r.t.Errorf("left in the folder of jobs: %s", e.Name())
		}
	}
}

// tool is a runner that calls the helper.
func tool(mode string, args ...string) Spec {
	return Spec{Name: "tool", Argv: append([]string{os.Args[0], "helper", mode}, args...)}
}

func (r *rig) offer(payload wire.Payload) (nodecore.Ref, wire.Offer) {
	r.next++
	ref := nodecore.Ref{Job: ids.JobID{15: r.next}, Attempt: 1}
	return ref, wire.Offer{Job: ref.Job.String(), Attempt: 1, App: "cam", Runner: "tool", Payload: payload}
}

func (r *rig) start(payload wire.Payload) nodecore.Ref {
	ref, offer := r.offer(payload)
	r.Start(ref, offer)
	return ref
}

// patience is how long a condition may take before a test gives up.
const patience = 30 * time.Second

func (r *rig) wait() Done {
	r.t.Helper()
	select {
	case d := <-r.ended:
		if !d.Ran && !d.Stopped && d.Result.ExitCode != nil {
			r.t.Errorf("no program ran, and it ended with %d", *d.Result.ExitCode)
		}
		return d
	case <-time.After(patience):
		r.t.Fatalf("no attempt ended within %v", patience)
		return Done{}
	}
}

func (r *rig) run(payload wire.Payload) wire.Result {
	r.t.Helper()
	r.start(payload)
	return r.wait().Result
}

// running waits until so many helpers have said that they are there.
func running(t *testing.T, dir string, n int) []int {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == n {
			return pidsOf(t, entries)
		}
		select {
		case <-deadline.C:
			t.Fatalf("%d processes said that they are there, want %d", len(entries), n)
		case <-poll.C:
		}
	}
}

func pidsOf(t *testing.T, entries []os.DirEntry) (pids []int) {
	t.Helper()
	for _, e := range entries {
		var pid int
		if _, err := fmt.Sscan(e.Name(), &pid); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

func mustBeDead(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if stat, ok := readStat(pid); ok && stat.lives() {
			t.Errorf("process %d survived in state %c", pid, stat.state)
		}
	}
}

func minutes(n int) settings.Duration { return settings.Duration(time.Duration(n) * time.Minute) }
