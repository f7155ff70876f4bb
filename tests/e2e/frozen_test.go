package e2e

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"rockpool/backend/backendtest"
	"rockpool/shared/wire"
	"rockpool/tests/rig"
)

// awaitFrozen waits until the server says so of the fleet, and of itself whether it is
// ready: then it knows until when.
func awaitFrozen(t *testing.T, s *rig.Server, by string, ready bool) backendtest.Health {
	t.Helper()
	anonymous, last := s.Client(t, ""), backendtest.Health{}
	rig.Await(t, patience, func() (bool, string) {
		health, err := anonymous.Ready(context.Background())
		if err != nil {
			return false, err.Error()
		}
		last = health
		frozen := health.Frozen != nil && health.Frozen.By == by && (health.Frozen.Until != nil) == ready
		return (health.Status == "ok") == ready && frozen, fmt.Sprintf("%+v, frozen %+v", health, health.Frozen)
	})
	return last
}

// The database stands still, then the server, then the server is killed: longer than
// a lease lasts no node is lost, nothing runs again, and everybody is told since when.
func TestCase_N32_AFrozenFleetLosesNobody(t *testing.T) {
	t.Parallel()
	s := rig.NewServer(t, settings...)
	u, p := newTenant(t, s), newPerson(t, s, "operator")
	p.signIn()
	c := p.open(wire.Subscribe{Topic: wire.TopicFleet}, wire.Subscribe{Topic: wire.TopicNodes})
	works, gone := u.node("works", rig.RawOptions{Slots: 2}), u.node("gone", rig.RawOptions{})
	job := u.submit()
	offer := works.Take(t)

	pids := s.Postgres(t)
	stopped := time.Now()
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	}
	gone.Cut() // and can't come back: who it is stands in the database
	c.until("the console is told", func() bool { return c.fleet.FrozenBy == "database" && c.fleet.FrozenFor == 0 && c.fleet.Frozen > 0 })
	health := awaitFrozen(t, s, "database", false)
	if since := health.Frozen.Since.Time; since.Before(stopped.Add(-time.Second)) || since.After(time.Now()) {
		t.Errorf("frozen %+v, stopped at %v", health.Frozen, stopped)
	}
	c.until("it is suspect", func() bool { return c.nodes[gone.Name].Lease == "suspect" })
	<-time.After(lostAfter + 2*time.Second)
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	awaitFrozen(t, s, "database", true)
	gone.Join(t)
	c.until("it is back", func() bool {
		if lease := c.nodes[gone.Name].Lease; lease != "suspect" && lease != "ready" {
			t.Fatalf("the node that could not come back was %s", lease)
		}
		return c.nodes[gone.Name].Lease == "ready"
	})

	s.Signal(syscall.SIGSTOP)
	<-time.After(lostAfter + 2*time.Second)
	s.Signal(syscall.SIGCONT)
	awaitFrozen(t, s, "standstill", true)
	c.until("the console is told of that", func() bool { return c.fleet.FrozenBy == "standstill" && c.fleet.FrozenFor > 0 })

	s.Kill(t)
	s.Start(t)
	awaitFrozen(t, s, "restart", true)
	works.Join(t)
	if verdict := works.Report(t, rig.Succeed(offer)); verdict != wire.VerdictStored {
		t.Errorf("verdict %s", verdict)
	}
	if ended := u.await(job.ID, "succeeded"); ended.Attempt != 1 || works.Seen(wire.TypeStart) < 1 {
		t.Errorf("it ran again: %s", inWords(ended))
	}
	if raised := query[int](t, s, `SELECT count(*) FROM alarms WHERE kind IN ('node_lost', 'mass_loss')`); raised != 0 {
		t.Errorf("%d alarms of lost nodes", raised)
	}
}
