package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rockpool/agent/internal/runner"
	"rockpool/shared/settings"
	"rockpool/shared/wire"
)

// shell is a runner of a script.
func shell(name, script string) runner.Spec {
	return runner.Spec{Name: name, Argv: []string{"/bin/sh", "-c", script}, Env: []string{"PATH"}}
}

// stalls watches how long this whole process stands still: a busy machine does that,
// and neither a job nor the agent. The longest so far is twice counted, for the two
// ends of a connection.
func stalls(t *testing.T) (allowed func() time.Duration) {
	const every = 50 * time.Millisecond
	var longest atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() {
		for last := time.Now(); ctx.Err() == nil; last = time.Now() {
			<-time.After(every)
			longest.Store(max(longest.Load(), int64(time.Since(last)-every)))
		}
	})
	t.Cleanup(func() { stop(); work.Wait() })
	return func() time.Duration { return 2 * time.Duration(longest.Load()) }
}

// A job computes on all cores for three leases. No lease is lost for it: heartbeats
// come before jobs, from the first moment of these.
func TestCase_D15_AJobOnAllCoresCostsNoLease(t *testing.T) {
	t.Parallel()
	const lease = 2 * time.Second
	dir := t.TempDir()
	c := newControl(t, nil)
	cfg := testConfig(t, c.server.URL)
	cfg.Runners = append(cfg.Runners, shell("spin", fmt.Sprintf(
		`i=0; while [ $i -lt %d ]; do (while :; do :; done) & i=$((i+1)); done; echo > %s/pid-$$; wait`, 2*runtime.NumCPU(), dir)))
	begin(t, cfg)
	s := c.next()
	s.send(wire.Welcome{
		Proto: 1, NodeID: "edge-1", Epoch: 1, Chain: chainOf(1), Limits: wire.DefaultLimits(), Pool: "pool-1",
		Times: wire.Times{Heartbeat: 200, Suspect: lease.Milliseconds(), Lost: 60_000, RedialWindow: 10},
	})
	s.run(offerOf(1, "spin", wire.Payload{}))
	pid, allowed := started(t, dir), stalls(t)
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if nice := strings.Fields(string(stat)[strings.LastIndexByte(string(stat), ')')+1:]); err != nil || nice[16] != "10" {
		t.Errorf("the job runs at priority %s, %v", nice[16], err)
	}
	last, longest := time.Now(), time.Duration(0)
	for over := last.Add(3 * lease); time.Now().Before(over); {
		s.beat("the job", func(b wire.Heartbeat) bool { return len(b.Running) == 1 && b.Running[0].Phase == wire.PhaseRunning })
		longest, last = max(longest, time.Since(last)), time.Now()
	}
	if longest > lease+allowed() {
		t.Errorf("no heartbeat for %v, %v of it the machine's", longest, allowed())
	}
	select {
	case <-s.conn.Closed():
		t.Error("the session has ended")
	default:
	}
	s.send(wire.Cancel{Job: jobID(1), Attempt: 1})
	s.ackResult(expect[wire.Result](s), wire.VerdictCanceled)
}

// A job prints without end. The agent neither grows nor stands still for it, and
// the result says how much there was.
func TestAttack_A59_AFloodOfOutput(t *testing.T) {
	c := newControl(t, nil)
	cfg := testConfig(t, c.server.URL)
	cfg.StateDir = filepath.Join(t.TempDir(), "state")
	flood := shell("yes", "exec yes")
	flood.LogLimit, flood.DiskLimit = 1<<20, 1<<20
	cfg.Runners = append(cfg.Runners, flood)
	begin(t, cfg)
	s := c.welcome()
	s.run(offerOf(1, "yes", wire.Payload{}))
	log := filepath.Join(cfg.StateDir, "jobs", jobID(1)+"-1", "log")
	await(t, "the log's limit", func() bool {
		info, err := os.Stat(log)
		return err == nil && info.Size() == 1<<20
	})
	before, allowed, longest, last := heap(), stalls(t), time.Duration(0), time.Now()
	for range 20 {
		s.beat("the flood", func(b wire.Heartbeat) bool { return len(b.Running) == 1 })
		longest, last = max(longest, time.Since(last)), time.Now()
	}
	grown := heap() - before
	s.send(wire.Cancel{Job: jobID(1), Attempt: 1})
	r := expect[wire.Result](s)
	s.ackResult(r, wire.VerdictCanceled)
	t.Logf("%d MiB came, the longest wait for a heartbeat was %v, the heap grew by %d bytes", r.LogBytes>>20, longest, grown)
	if r.LogBytes <= 1<<20 || len(r.Head)+len(r.Tail) > wire.MaxResult || !strings.HasPrefix(string(r.Head), "y\ny\n") || len(r.Tail) == 0 {
		t.Errorf("log of %d bytes: head %d, tail %d", r.LogBytes, len(r.Head), len(r.Tail))
	}
	if grown > 8<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if longest > 2*time.Second+allowed() { // of 100 ms; a lease is 4 s
		t.Errorf("no heartbeat for %v, %v of it the machine's", longest, allowed())
	}
}

// heap is what lives of it, of the whole test's process.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A job that forks without end is ended for it, and no heartbeat waits meanwhile.
func TestAttack_A58_AForkBombCostsNoHeartbeat(t *testing.T) {
	c := newControl(t, nil)
	cfg := testConfig(t, c.server.URL)
	bomb := shell("bomb", `i=0; while [ $i -lt 300 ]; do sleep 600 & i=$((i+1)); done; wait`)
	bomb.ProcessLimit = 50
	cfg.Runners = append(cfg.Runners, bomb)
	begin(t, cfg)
	s := c.welcome()
	s.run(offerOf(1, "bomb", wire.Payload{}))
	last, longest, allowed := time.Now(), time.Duration(0), stalls(t)
	for running := true; running; {
		b := s.beat("anything", func(wire.Heartbeat) bool { return true })
		longest, last = max(longest, time.Since(last)), time.Now()
		running = len(b.Running) > 0 || b.Spooled == 0
	}
	r := expect[wire.Result](s)
	if status, err := AskStatus(t.Context(), cfg); err == nil && !slices.Contains(status.Isolation, "processes") && (r.Status != wire.ResultFailed || r.Reason != "limit_passed") {
		t.Errorf("result %+v", r)
	}
	s.ackResult(r, wire.VerdictStored)
	if longest > 2*time.Second+allowed() { // of 100 ms; a lease is 4 s
		t.Errorf("no heartbeat for %v, %v of it the machine's", longest, allowed())
	}
}

// A tool takes TERM for nothing, and so do its child, the daemon that it put into a
// session of its own and one whose environment it has cleared. Each cancel has one effect, leaves nobody and frees
// the one slot. A hundred rounds are for scripts/soak.
func TestCase_E1_UnrulyJobsAreCanceledOneAfterTheOther(t *testing.T) {
	rounds := byte(30)
	if os.Getenv("ROCKPOOL_TEST_SOAK") != "" {
		rounds = 100
	}
	dir := t.TempDir()
	c := newControl(t, nil)
	cfg := testConfig(t, c.server.URL)
	cfg.Slots, cfg.StopGrace = 1, settings.Duration(20*time.Millisecond)
	stay := `trap "" TERM; echo > ` + dir + `/pid-$$; while :; do sleep 0.1; done`
	cfg.Runners = append(cfg.Runners, shell("unruly", fmt.Sprintf(`sh -c '%[1]s' & (setsid sh -c '%[1]s' &) ; (env -i setsid sh -c '%[1]s' &) ; %[1]s`, stay)))
	begin(t, cfg)
	s := c.welcome()
	for n := range rounds {
		s.run(offerOf(n+1, "unruly", wire.Payload{}))
		await(t, "the four of them", func() bool { return len(pidsIn(dir)) == 4 })
		cancel := wire.Cancel{Job: jobID(n + 1), Attempt: 1, GraceMs: 20}
		s.send(cancel, cancel, cancel)
		r := expect[wire.Result](s) // the next message: the accept of the next round, were there two
		if r.Job != jobID(n+1) || r.Status != wire.ResultCanceled {
			t.Fatalf("round %d ended with %+v", n, r)
		}
		for _, pid := range pidsIn(dir) {
			if lives(pid) {
				t.Errorf("round %d: process %d survived", n, pid)
			}
			if err := os.Remove(filepath.Join(dir, "pid-"+strconv.Itoa(pid))); err != nil {
				t.Fatal(err)
			}
		}
		s.ackResult(r, wire.VerdictCanceled)
	}
	s.beat("a free slot", func(b wire.Heartbeat) bool { return len(b.Running) == 0 && b.Spooled == 0 })
}

// The heartbeats of a node that stops go on until its last job has ended.
func TestStop_HeartbeatsGoOnToTheEnd(t *testing.T) {
	c := newControl(t, nil)
	cfg := testConfig(t, c.server.URL)
	cfg.StopTimeout = settings.Duration(2 * time.Second)
	n := begin(t, cfg)
	s, dir := c.welcome(), t.TempDir()
	s.run(offerOf(1, "tool", toolPayload("stubborn", dir)))
	started(t, dir)
	n.cancel()
	beats := 0
	for stopping := true; stopping; beats++ {
		b := s.beat("anything", func(b wire.Heartbeat) bool { return !b.Accepting })
		stopping = b.Running[0].Phase == wire.PhaseRunning
	}
	if beats < 5 { // of 20, on a machine that has time
		t.Errorf("%d heartbeats came in the 2 s that the job was left", beats)
	}
	r := expect[wire.Result](s)
	if r.Reason != "node_shutting_down" {
		t.Errorf("result %+v", r)
	}
	s.ackResult(r, wire.VerdictStored)
	n.wait()
}
