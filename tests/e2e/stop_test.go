package e2e

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/tests/rig"
)

// stopping is an agent under a job that will end a second after it may, and one
// that never ends and does not heed TERM. Both get one attempt.
type stopping struct {
	*tenant
	w           *workshop
	agent       *rig.Agent
	brief, long backendtest.Job
}

func once(r *backendtest.JobRequest) { r.MaxAttempts = new(int32(1)) }

func newStopping(t *testing.T, s *rig.Server, timeout string) *stopping {
	t.Helper()
	u, w := newTenant(t, s), newWorkshop(t)
	x := &stopping{tenant: u, w: w}
	w.Script("doze", "")
	x.agent = rig.NewAgent(t, s, rig.AgentOptions{
		Name: u.name, License: u.license.LicenseCode, Slots: 2,
		More: fmt.Sprintf("stop_timeout = %q\nstop_grace = \"500ms\"\n", timeout) + w.runners() + fmt.Sprintf(`
[[runner]]
name = "nap"
argv = ["/bin/sh", "-c", "echo $ROCKPOOL_JOB/$ROCKPOOL_ATTEMPT >> %[1]s/starts; while [ -e %[1]s/doze ]; do sleep 0.05; done; sleep 1"]
`, w.Path("")),
	})
	x.brief, x.long = u.submit(runner("nap"), once), u.submit(runner("stubborn"), once)
	w.AwaitStart(x.brief.ID, 1)
	rig.Await(t, patience, func() (bool, string) {
		return len(w.Lines("pids")) == 2, fmt.Sprint("the stubborn one and its child: ", w.Lines("pids"))
	})
	return x
}

// wake lets the brief job end.
func (x *stopping) wake() {
	x.t.Helper()
	if err := os.Remove(x.w.Path("doze")); err != nil {
		x.t.Fatal(err)
	}
}

// awaitStopping waits until the node has said that it takes no new work; it is
// there still.
func (x *stopping) awaitStopping() {
	x.t.Helper()
	rig.Await(x.t, patience, func() (bool, string) {
		node, err := x.client.Node(x.t.Context(), x.agent.Name)
		return err == nil && !node.Accepting && node.AcceptReason == "stopping" && node.Lease == "ready", fmt.Sprintf("%+v, %v", node, err)
	})
}

// ended waits for the agent's end, which leaves nothing behind.
func (x *stopping) ended() {
	x.t.Helper()
	x.agent.Wait(x.t, patience)
	if code := x.agent.ExitCode(); code != 0 {
		x.t.Errorf("the agent ended with %d", code)
	}
	for _, pid := range x.w.Lines("pids") {
		if lives(x.t, pid) {
			x.t.Errorf("process %s survived its agent", pid)
		}
	}
}

// shutDown is how a job is told that the agent stopped before its end: it would be
// tried again, had it another attempt.
func (x *stopping) shutDown(job backendtest.Job) {
	x.t.Helper()
	now := x.await(job.ID, "dead")
	x.mustBe(now, "dead", "attempts_used_up")
	if now.Detail != "the last attempt ended with node_shutting_down: the agent stopped before the job's end" {
		x.t.Errorf("the job is %s", inWords(now))
	}
}

func TestStop_WhatEndsInTimeSucceedsAndTheRestIsTold(t *testing.T) {
	t.Parallel()
	const limit = 10 * time.Second
	x := newStopping(t, server(t), limit.String())
	began := time.Now()
	x.agent.Signal(syscall.SIGTERM)
	x.awaitStopping()
	x.wake()
	if done := x.await(x.brief.ID, "succeeded"); done.Attempt != 1 {
		t.Errorf("the brief job is %s", inWords(done))
	}
	x.ended()
	if took := time.Since(began); took < limit {
		t.Errorf("the agent ended after %v, its jobs have %v", took, limit)
	}
	x.shutDown(x.long)
}

func TestStop_ASecondSignalAndQuitEndJobsNow(t *testing.T) {
	for name, signals := range map[string][]syscall.Signal{"second TERM": {syscall.SIGTERM, syscall.SIGTERM}, "QUIT": {syscall.SIGQUIT}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newStopping(t, server(t), "1h")
			for i, signal := range signals {
				if i > 0 { // two that are there at once would be one
					x.awaitStopping()
				}
				x.agent.Signal(signal)
			}
			x.ended()
			x.shutDown(x.long)
			x.shutDown(x.brief)
		})
	}
}

// The server is away while the agent stops: what came of the jobs is on the node's
// disk, and is handed in when the agent starts again.
func TestStop_WithoutAServerKeepsTheResults(t *testing.T) {
	t.Parallel()
	s := rig.NewServer(t, enduring...)
	x := newStopping(t, s, "4s")
	s.Kill(t)
	x.agent.Signal(syscall.SIGTERM)
	x.wake()
	x.ended()
	s.Start(t)
	x.agent.Start(t)
	if done := x.await(x.brief.ID, "succeeded"); done.Attempt != 1 {
		t.Errorf("the brief job is %s", inWords(done))
	}
	x.shutDown(x.long)
	if starts := x.w.Lines("starts"); len(starts) != 1 {
		t.Errorf("starts %v", starts)
	}
}
