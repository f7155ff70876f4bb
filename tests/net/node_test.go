package net

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"rockpool/tests/rig"
)

// Leases that are short, so that one is lost within a test, and long enough for a
// machine that is busy with others.
var shortTimes = []string{
	"ROCKPOOL_LEASE_HEARTBEAT=1s", "ROCKPOOL_LEASE_SUSPECT=6s", "ROCKPOOL_LEASE_LOST=18s",
	"ROCKPOOL_LEASE_REDIAL_WINDOW=500ms", "ROCKPOOL_LEASE_OFFER_TIMEOUT=2s",
}

func shortLeases(t *testing.T) *rig.Server {
	t.Helper()
	need(t)
	t.Parallel()
	return rig.SharedServer(t, shortTimes...)
}

// Both ends get the other's RST, and every new dial does too.
func TestConnection_IsResetBothWays(t *testing.T) {
	h := newHouse(t, shortLeases(t), 2)
	h.begin()
	h.site.reset(0)
	h.agents[0].AwaitLease(t, h.s, "suspect")
	h.site.heal()
	h.awaitReady()
	h.finish(0, 0)
}

func TestLink_GoesDownAndUp(t *testing.T) {
	h := newHouse(t, shortLeases(t), 2)
	h.begin()
	h.site.unplug(0)
	h.agents[0].AwaitLease(t, h.s, "suspect")
	h.site.plug(0)
	h.awaitReady()
	h.finish(0, 0)
}

// An agent stands still until its lease is over and its job runs elsewhere. Then it
// goes on: the result of its attempt comes too late and changes nothing.
func TestAgent_IsStoppedPastItsLease(t *testing.T) {
	h := newHouse(t, shortLeases(t), 2)
	jobs := h.begin()
	sleeper, job := h.agents[0], jobs[0]
	if job = h.await(job.ID, "running"); job.Node != sleeper.Name {
		job = h.await(jobs[1].ID, "running")
	}
	sleeper.Signal(syscall.SIGSTOP)
	t.Cleanup(func() { sleeper.Signal(syscall.SIGCONT) })
	h.shop.AwaitStart(job.ID, 2)
	h.shop.Release()
	ended := h.await(job.ID, "succeeded")
	sleeper.Signal(syscall.SIGCONT)
	h.awaitReady()
	h.awaitSpoolEmpty(sleeper)
	if now := h.await(job.ID, "succeeded"); ended.Attempt != 2 || now.Attempt != 2 || now.Node != ended.Node || now.Node == sleeper.Name {
		t.Errorf("job %s ended in attempt %d on %s, and then in %d on %s", job.ID, ended.Attempt, ended.Node, now.Attempt, now.Node)
	}
	h.finish(1, 1) // node_lost
}

// awaitSpoolEmpty waits until every result of the agent has its verdict.
func (h *house) awaitSpoolEmpty(a *rig.Agent) {
	h.t.Helper()
	rig.Await(h.t, patience, func() (bool, string) {
		list := h.spooled(a)
		return len(list) == 0, fmt.Sprintf("%s still has %v", a.Name, list)
	})
}

// spooled are the files of results on the agent's disk; a spool without any has none
// from the next heartbeat on.
func (h *house) spooled(a *rig.Agent) []string {
	h.t.Helper()
	list, err := filepath.Glob(filepath.Join(a.Dir, "spool", "[0-9]*"))
	if err != nil {
		h.t.Fatal(err)
	}
	return list
}

// The agent is killed while its job runs, and starts again at once: it takes over its
// own session, ends what it left behind, and the job gets another attempt.
func TestCase_N17_TheAgentIsKilledDuringAJob(t *testing.T) {
	h := newHouse(t, shortLeases(t), 2)
	jobs := h.begin()
	victim := h.agents[0]
	victim.Kill(t)
	victim.Start(t)
	for _, job := range jobs {
		if job = h.await(job.ID, "running"); job.Node == victim.Name && job.Attempt == 1 {
			h.shop.AwaitStart(job.ID, 2)
		}
	}
	h.awaitReady()
	h.finish(1, 0)
}

// An agent is killed with a result that it could not hand in, and hands it in after
// its start.
func TestAgent_RestartsWithASpooledResult(t *testing.T) {
	h := newHouse(t, shortLeases(t), 1)
	job := h.begin()[0]
	h.site.part(0)
	h.shop.Release()
	rig.Await(t, patience, func() (bool, string) { return len(h.spooled(h.agents[0])) == 1, "no result is on the disk" })
	h.agents[0].Kill(t)
	h.agents[0].Start(t)
	h.site.heal()
	if now := h.await(job.ID, "succeeded"); now.Attempt != 1 {
		t.Errorf("job %s took %d attempts", job.ID, now.Attempt)
	}
	h.awaitSpoolEmpty(h.agents[0])
	h.finish(0, 0)
}
