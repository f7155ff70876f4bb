package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/shared/wire"
	"rockpool/tests/rig"
)

// workshop is a rig's with a runner that does not want to end.
type workshop struct{ *rig.Workshop }

func newWorkshop(t *testing.T) *workshop {
	t.Helper()
	return &workshop{rig.NewWorkshop(t)}
}

// runners: wait runs until it is released; stubborn does not heed TERM and has
// a child that does not either.
func (w *workshop) runners() string {
	return w.Runners() + fmt.Sprintf(`
[[runner]]
name = "stubborn"
argv = ["/bin/sh", "%s", "%s"]
`, w.Script("stubborn", `
trap 'echo TERM >> $1/signals' TERM
( trap '' TERM; while [ -e $1/hold ]; do sleep 0.05; done ) &
echo $$ $! >> $1/pids
while [ -e $1/hold ]; do sleep 0.05; done
`), w.Path(""))
}

// agent starts a real agent of the tenant with the workshop's runners.
func (u *tenant) agent(name string, slots int, w *workshop) *rig.Agent {
	u.t.Helper()
	return rig.NewAgent(u.t, u.s, rig.AgentOptions{
		Name: u.name + "-" + name, License: u.license.LicenseCode, Slots: slots, More: w.runners(),
	})
}

// reserved is what a node's slots hold, in memory and in SQL.
func (u *tenant) reserved(node string) (memory, sql int64) {
	u.t.Helper()
	now, err := u.client.Node(u.t.Context(), node)
	if err != nil {
		u.t.Fatal(err)
	}
	return now.Reserved.Slots, query[int64](u.t, u.s, `SELECT reserved_slots FROM nodes WHERE id = $1`, node)
}

func TestCase_C4_AKilledAgentsWorkRunsElsewhere(t *testing.T) {
	t.Parallel()
	u, w := newTenant(t, server(t)), newWorkshop(t)
	doomed := u.agent("a-doomed", 2, w)
	job := u.submit(runner("wait"))
	w.AwaitStart(job.ID, 1)
	heir := u.agent("b-heir", 1, w)
	if memory, sql := u.reserved(doomed.Name); memory != 1 || sql != 1 {
		t.Errorf("%d slots are reserved in memory and %d in SQL, want 1", memory, sql)
	}
	doomed.Kill(t)
	w.AwaitStart(job.ID, 2) // within the lease, and what a busy machine adds
	if memory, sql := u.reserved(doomed.Name); memory != 0 || sql != 0 {
		t.Errorf("%d slots of the lost node stay reserved in memory and %d in SQL", memory, sql)
	}
	if node := doomed.AwaitLease(t, u.s, "lost"); node.Running != 0 {
		t.Errorf("the lost node is %+v", node)
	}
	w.Release()
	if done := u.await(job.ID, "succeeded"); done.Node != heir.Name || done.Attempt != 2 {
		t.Errorf("ended %s", inWords(done))
	}
	if list := u.attempts(job.ID); len(list) != 2 || list[0].Outcome != "orphaned" || text(list[0].Reason) != "node_lost" {
		t.Errorf("attempts %+v", list)
	}
	if starts := w.Lines("starts"); len(starts) != 2 {
		t.Errorf("starts %v", starts)
	}
}

func TestCase_E1_AHundredCancelsAreOne(t *testing.T) {
	t.Parallel()
	u, w := newTenant(t, server(t)), newWorkshop(t)
	a := u.agent("1", 1, w)
	job := u.submit(runner("stubborn"))
	rig.Await(t, patience, func() (bool, string) { return len(w.Lines("pids")) == 2, "it has not started" })
	const long = 11 * time.Second // longer than that of a cancel that names none
	grace := backendtest.Duration(long)
	began := time.Now()
	var cancels sync.WaitGroup
	for range 100 {
		cancels.Go(func() {
			if _, err := u.client.CancelJob(t.Context(), job.ID, &grace); err != nil {
				t.Error(err)
			}
		})
	}
	cancels.Wait()
	done := u.await(job.ID, "canceled")
	if took := time.Since(began); took < long {
		t.Errorf("canceled after %v with a grace of %v", took, long)
	}
	if signals := w.Lines("signals"); len(signals) != 1 {
		t.Errorf("its program got %v, want TERM once", signals)
	}
	for _, pid := range w.Lines("pids") {
		if lives(t, pid) {
			t.Errorf("process %s lives on", pid)
		}
	}
	rig.Await(t, patience, func() (bool, string) {
		memory, sql := u.reserved(a.Name)
		return memory == 0 && sql == 0, fmt.Sprintf("%d slots reserved in memory, %d in SQL", memory, sql)
	})
	if list := u.attempts(job.ID); len(list) != 1 || list[0].Outcome != "ended" {
		t.Errorf("attempts %+v", list)
	}
	again, err := u.client.CancelJob(t.Context(), job.ID, nil)
	if err != nil || again.State != "canceled" || !again.EndedAt.Equal(done.EndedAt.Time) {
		t.Errorf("canceled once more: %+v, %v", again, err)
	}
	// The node works on.
	w.Release()
	u.await(u.submit(runner("wait")).ID, "succeeded")
}

// lives reports a process that is there and no zombie.
func lives(t testing.TB, pid string) bool {
	t.Helper()
	if number, err := strconv.Atoi(pid); err != nil || syscall.Kill(number, 0) != nil {
		return false
	}
	status, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	_, rest, _ := strings.Cut(string(status), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func TestCase_N9_RestartsMakeNoNewNode(t *testing.T) {
	t.Parallel()
	u, w := newTenant(t, server(t)), newWorkshop(t)
	a := u.agent("real", 1, w)
	n := u.node("raw", rig.RawOptions{})
	raw := make(chan error, 1)
	go func() { raw <- reconnect(t, n, 70) }()
	epoch := a.AwaitLease(t, u.s, "ready").Epoch
	for i := range 30 {
		if i%2 == 0 {
			a.Kill(t)
		} else {
			a.Stop(t)
		}
		a.Start(t)
		now := awaitEpoch(t, u.s, a, epoch)
		epoch = now.Epoch
	}
	if err := <-raw; err != nil {
		t.Error(err)
	}
	if rows := query[int](t, u.s, `SELECT count(*) FROM nodes WHERE license_id = $1`, u.license.ID); rows != 2 {
		t.Errorf("%d node rows, want 2", rows)
	}
	license, err := u.client.License(t.Context(), u.license.ID)
	if err != nil || license.Used != 2 {
		t.Errorf("the license has %d seats taken, want 2: %v", license.Used, err)
	}
	for _, node := range []string{a.Name, n.Name} {
		if left := audited(t, u.s, "node_registered", "node:"+node); left != 1 {
			t.Errorf("%s was registered %d times", node, left)
		}
	}
}

// reconnect opens session after session of a new process of the node, each with
// its license code as if no welcome had come.
func reconnect(t testing.TB, n *rig.RawNode, times int) error {
	for i := range times {
		n.Cut()
		n.BootID = fmt.Sprintf("boot-%d", i)
		n.Forget()
		if err := n.Connect(t.Context()); err != nil {
			return err
		}
	}
	return nil
}

// awaitEpoch waits until the agent has a newer session.
func awaitEpoch(t testing.TB, s *rig.Server, a *rig.Agent, epoch int64) backendtest.Node {
	t.Helper()
	var node backendtest.Node
	rig.Await(t, patience, func() (bool, string) {
		var err error
		node, err = s.Admin.Node(t.Context(), a.Name)
		return err == nil && node.Epoch > epoch && node.Lease == "ready", fmt.Sprintf("%s at epoch %d, want above %d; %v", node.Lease, node.Epoch, epoch, err)
	})
	return node
}

func TestCase_N17_ARestartTakesOverItsOwnSession(t *testing.T) {
	t.Parallel()
	u, w := newTenant(t, server(t)), newWorkshop(t)
	a := u.agent("real", 1, w)
	before := a.AwaitLease(t, u.s, "ready")
	a.Kill(t)
	a.Start(t)
	after := awaitEpoch(t, u.s, a, before.Epoch)
	if after.Epoch != before.Epoch+1 {
		t.Errorf("epoch %d after %d", after.Epoch, before.Epoch)
	}

	// The old socket still stands, as behind a NAT that lost it.
	n := u.node("raw", rig.RawOptions{})
	old, epoch := n.Session(), n.Epoch
	n.BootID = "another-process"
	n.Join(t)
	if n.Epoch != epoch+1 {
		t.Errorf("epoch %d after %d", n.Epoch, epoch)
	}
	if code := old.Ended(t); code != wire.CloseSuperseded {
		t.Errorf("the old socket was closed %s", code)
	}
	// Its late end leaves the new session alone.
	if node, err := u.client.Node(t.Context(), n.Name); err != nil || node.Lease != "ready" || node.Epoch != n.Epoch {
		t.Errorf("after it: %+v, %v", node, err)
	}
	job := u.submit()
	n.Report(t, rig.Succeed(n.Take(t)))
	u.await(job.ID, "succeeded")
}

func TestCase_N18_AStoppingAgentEndsWhatItRuns(t *testing.T) {
	t.Parallel()
	u, w := newTenant(t, server(t)), newWorkshop(t)
	a := u.agent("1", 2, w)
	job := u.submit(runner("wait"))
	w.AwaitStart(job.ID, 1)
	a.Signal(syscall.SIGTERM)
	rig.Await(t, patience, func() (bool, string) {
		pool, err := u.client.Pool(t.Context(), u.pool())
		return err == nil && pool.FreeSlots == 0, fmt.Sprintf("%+v, %v", pool, err)
	})
	next := u.submit(runner("wait"))
	u.mustBe(next, "queued", "pool_exhausted")
	if now := u.job(job.ID); now.State != "running" {
		t.Errorf("the running job is %s", inWords(now))
	}
	w.Release()
	a.Wait(t, patience)
	if code := a.ExitCode(); code != 0 {
		t.Errorf("the agent ended with %d", code)
	}
	if done := u.job(job.ID); done.State != "succeeded" || done.Attempt != 1 {
		t.Errorf("after its agent has ended the job is %s", inWords(done))
	}
	u.mustBe(u.job(next.ID), "queued", "pool_exhausted")
	if starts := w.Lines("starts"); len(starts) != 1 {
		t.Errorf("starts %v", starts)
	}
}
