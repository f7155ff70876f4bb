package e2e

import (
	"rockpool/backend/backendtest"
	"rockpool/shared/wire"
	"rockpool/tests/rig"
	"testing"
)

// attempts of a job, the oldest first.
func (u *tenant) attempts(id string) []backendtest.Attempt {
	u.t.Helper()
	list, err := u.client.Attempts(u.t.Context(), id)
	if err != nil {
		u.t.Fatal(err)
	}
	return list.Items
}

// counted is how many attempts of the job count against its maximum.
func (u *tenant) counted(id string) int {
	u.t.Helper()
	return query[int](u.t, u.s, `SELECT counted FROM jobs WHERE id = $1`, id)
}

func TestCase_D9_AnOfferThatNobodyAnswersGoesElsewhere(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	deaf := u.node("deaf", rig.RawOptions{Slots: 4}) // has the most free slots, so it is asked first
	live := u.node("live", rig.RawOptions{})
	job := u.submit()
	if offer := rig.Hear[wire.Offer](t, deaf); offer.Job != job.ID || offer.Attempt != 1 {
		t.Fatalf("offered %+v", offer)
	}
	offer := rig.Hear[wire.Offer](t, live)
	if offer.Job != job.ID || offer.Attempt != 2 {
		t.Errorf("offered %s/%d, want %s/2", offer.Job, offer.Attempt, job.ID)
	}
	if counted := u.counted(job.ID); counted != 0 {
		t.Errorf("%d attempts count although none was taken", counted)
	}
	live.Send(t, wire.Accept{Job: offer.Job, Attempt: 2})
	rig.Hear[wire.Start](t, live)
	if verdict := live.Report(t, rig.Succeed(offer)); verdict != wire.VerdictStored {
		t.Errorf("verdict %s", verdict)
	}
	u.await(job.ID, "succeeded")
	if counted := u.counted(job.ID); counted != 1 {
		t.Errorf("%d attempts count, want the one that ran", counted)
	}
	list := u.attempts(job.ID)
	if len(list) != 2 || list[0].Outcome != "unanswered" || list[0].Node != deaf.Name || list[1].Outcome != "ended" || list[1].Node != live.Name {
		t.Errorf("attempts %+v", list)
	}
	// Its heartbeats kept it in the fleet meanwhile.
	if node, err := u.client.Node(t.Context(), deaf.Name); err != nil || node.Lease != "ready" || node.Reserved.Slots != 0 {
		t.Errorf("the deaf node is %+v, %v", node, err)
	}
	if void := rig.Hear[wire.Void](t, deaf); void.Job != job.ID || void.Attempt != 1 {
		t.Errorf("voided %+v", void)
	}
}

func TestCase_D9_ADeafNodeGetsWorkOnlyAfterItsAnswer(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	deaf := u.node("deaf", rig.RawOptions{Slots: 8})
	u.node("live", rig.RawOptions{Slots: 4, Answer: rig.Diligent})
	jobs := []backendtest.Job{u.submit(), u.submit(), u.submit()}
	for range jobs {
		rig.Hear[wire.Offer](t, deaf)
	}
	u.awaitPoolAlarm("node_deaf", func(a *backendtest.Alarm) bool { return a.Node == deaf.Name && a.ResolvedAt == nil && a.Count == 1 })
	if is := u.held(deaf.Name); is != "deaf/auto" {
		t.Errorf("it is held by %q", is)
	}
	for _, job := range jobs {
		u.await(job.ID, "succeeded")
		if list := u.attempts(job.ID); len(list) != 2 || list[0].Outcome != "unanswered" || u.counted(job.ID) != 1 {
			t.Errorf("attempts %+v, %d count", list, u.counted(job.ID))
		}
	}
	probe := rig.Hear[wire.Offer](t, deaf)
	if probe.Runner != "rockpool-probe" {
		t.Fatalf("a deaf node was offered %+v", probe)
	}
	deaf.Send(t, wire.Decline{Job: probe.Job, Attempt: probe.Attempt, Reason: "runner"})
	rig.Await(t, patience, func() (bool, string) { is := u.held(deaf.Name); return is == "", "held by " + is })
	u.awaitPoolAlarm("node_deaf", func(a *backendtest.Alarm) bool { return a.ResolvedAt != nil })
	again := u.submit()
	if offer := deaf.Take(t); offer.Job != again.ID {
		t.Errorf("offered %+v", offer)
	}
}

func TestCase_D10_AnOfferIntoADyingSocketIsMadeAgain(t *testing.T) {
	t.Parallel()
	u := newTenant(t, server(t))
	n := u.node("1", rig.RawOptions{})
	job := u.submit()
	offer := rig.Hear[wire.Offer](t, n)
	n.Cut()
	n.Join(t)
	again := n.Take(t)
	if again.Job != offer.Job || again.Attempt != offer.Attempt+1 {
		t.Errorf("offered %s/%d after %s/%d", again.Job, again.Attempt, offer.Job, offer.Attempt)
	}
	if counted := u.counted(job.ID); counted != 0 {
		t.Errorf("%d attempts count before one has ended", counted)
	}
	if verdict := n.Report(t, rig.Succeed(again)); verdict != wire.VerdictStored {
		t.Errorf("verdict %s", verdict)
	}
	u.await(job.ID, "succeeded")
	if counted, starts := u.counted(job.ID), n.Seen(wire.TypeStart); counted != 1 || starts != 1 {
		t.Errorf("%d attempts count, %d were started, want 1 and 1", counted, starts)
	}
	if list := u.attempts(job.ID); len(list) != 2 || list[0].Outcome != "unanswered" {
		t.Errorf("attempts %+v", list)
	}
}

// The socket breaks right after the server has written an offer: before the node's
// yes, or behind it.
func TestCase_N13_AnOfferWhoseSocketBreaksRunsOnce(t *testing.T) {
	t.Parallel()
	for name, yes := range map[string]bool{"before the yes": false, "behind the yes": true} {
		u := newTenant(t, server(t))
		n := u.node("1", rig.RawOptions{})
		job := u.submit()
		offer := rig.Hear[wire.Offer](t, n)
		if yes {
			_ = n.TrySend(wire.Accept{Job: offer.Job, Attempt: offer.Attempt}) // and the node forgets it with its socket
		}
		n.Cut()
		n.Join(t)
		again := n.Take(t)
		if again.Job != job.ID || again.Attempt <= offer.Attempt || u.counted(job.ID) != 0 {
			t.Errorf("%s: offered %s/%d after attempt %d, %d count", name, again.Job, again.Attempt, offer.Attempt, u.counted(job.ID))
		}
		if verdict := n.Report(t, rig.Succeed(again)); verdict != wire.VerdictStored {
			t.Errorf("%s: verdict %s", name, verdict)
		}
		u.await(job.ID, "succeeded")
		if counted := u.counted(job.ID); counted != 1 {
			t.Errorf("%s: %d attempts count", name, counted)
		}
	}
}
