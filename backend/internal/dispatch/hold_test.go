package dispatch

import (
	"context"
	"testing"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

func TestLiftHold_IsAnsweredAfterTheCommit(t *testing.T) {
	w := newWorld(t, 4)
	lift := func() <-chan error {
		answered := make(chan error, 1)
		go func() {
			answered <- w.loop.LiftHold(context.Background(), testNode, fleet.HoldDrain, fleet.OwnerSelf, core.Actor{Subject: "u:1"}, "it stays")
		}()
		return answered
	}
	if err := receive(t, "the answer", lift()); !isCode(err, fleet.CodeNotFound) {
		t.Fatalf("without a hold: error %v, want not_found", err)
	}
	w.loop.Goodbye(w.session, core.GoodbyeStop)
	w.await("the node's own hold", func(d *core.Dispatch) bool { return len(d.Fleet(0).Nodes[0].Record.Holds) == 1 })
	w.holdCommits()
	answered := lift()
	if err := afterCommit(w, answered); err != nil {
		t.Fatal(err)
	}
	w.await("no hold", func(d *core.Dispatch) bool { return len(d.Fleet(0).Nodes[0].Reasons) == 0 })
}

func TestLeaveNode_EndsItsSession(t *testing.T) {
	w := newWorld(t, 4)
	if err := w.loop.LeaveNode(context.Background(), gone(), "sold"); err != nil {
		t.Fatal(err)
	}
	if s := w.awaitSend(core.SendClose); s.Detail != core.CloseLeft+": sold" || s.Code != fleet.CodeForbidden {
		t.Fatalf("its session ends with %+v", s)
	}
	w.await("a node that left", func(d *core.Dispatch) bool { return d.Fleet(0).Nodes[0].Lease == fleet.LeaseLeft })
}
