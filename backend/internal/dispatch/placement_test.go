package dispatch

import (
	"context"
	"errors"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
	"rockpool/shared/ids"
)

func (w *world) ask(key string, slots int64) core.PlacementAsk {
	w.jobs++
	return core.PlacementAsk{Spec: &fleet.PlacementSpec{
		ID: ids.JobID{15: byte(w.jobs)}, App: testApp, Owner: 1, Role: "worker", Key: key,
		Demands: fleet.Vector{Slots: slots}, Count: 1, TTLMs: fleet.DefaultTTLMs,
	}}
}

type placedOrNot struct {
	placed core.Placed
	err    error
}

func (w *world) place(ask core.PlacementAsk) <-chan placedOrNot {
	answered := make(chan placedOrNot, 1)
	go func() {
		placed, err := w.loop.Place(context.Background(), ask)
		answered <- placedOrNot{placed, err}
	}()
	return answered
}

// stored is the row as the database has it.
func (w *world) stored(id ids.JobID) (core.PlacementRow, bool) {
	w.db.mu.Lock()
	defer w.db.mu.Unlock()
	p, there := w.db.placements[id]
	return p.Row, there
}

func TestPlace_APairOfOneKeyGetsOneAfterTheCommit(t *testing.T) {
	w := newWorld(t, 4)
	w.holdCommits()
	first, second := w.ask("live/1", 1), w.ask("live/1", 1)
	one := w.place(first)
	receive(t, "the commit", w.db.began)
	two := w.place(second)
	select {
	case a := <-one:
		t.Fatalf("answered before the commit: %+v", a)
	case a := <-two:
		t.Fatalf("the second was answered before the commit: %+v", a)
	case <-time.After(50 * time.Millisecond): // nothing is to come; longer only finds more
	}
	w.db.hold <- struct{}{}
	a, b := receive(t, "the first answer", one), receive(t, "the second answer", two)
	if a.err != nil || b.err != nil || a.placed.Existing || !b.placed.Existing || b.placed.View.Spec.ID != first.Spec.ID {
		t.Fatalf("%+v and %+v", a, b)
	}
	if row, there := w.stored(first.Spec.ID); !there || row.Nodes[0].Node != testNode {
		t.Fatalf("stored %+v", row)
	}
	if third := receive(t, "the third", w.place(w.ask("live/1", 1))); !third.placed.Existing {
		t.Fatalf("%+v", third)
	}
}

func TestPlace_SaysWhyNot(t *testing.T) {
	w := newWorld(t, 1)
	if a := receive(t, "an answer", w.place(w.ask("", 2))); a.err != nil || a.placed.Exhausted == nil || a.placed.Exhausted.Pools[0].Rejected[fleet.NoSlots] != 1 {
		t.Fatalf("too large: %+v", a)
	}
	w.db.mu.Lock()
	if len(w.db.alarms) != 1 || w.db.alarms[0].Kind != fleet.AlarmPoolExhausted {
		t.Errorf("alarms %+v", w.db.alarms)
	}
	w.db.mu.Unlock()
	if err := w.loop.PutApp(context.Background(), fleet.App{ID: testApp, Owner: 1, Share: fleet.Share{MaxPlacements: 1}}); err != nil {
		t.Fatal(err)
	}
	if a := receive(t, "an answer", w.place(w.ask("", 0))); a.err != nil || a.placed.View.Spec == nil {
		t.Fatalf("the first: %+v", a)
	}
	if a := receive(t, "an answer", w.place(w.ask("", 0))); !isCode(a.err, fleet.CodeRateLimited) {
		t.Fatalf("the second of one: %+v", a)
	}
}

func TestPlace_RefusedByTheDatabase(t *testing.T) {
	w := newWorld(t, 4)
	refuse := func(ask core.PlacementAsk, why core.RefusedWhy) placedOrNot {
		w.db.mu.Lock()
		w.db.refuse[ask.Spec.ID] = why
		w.db.mu.Unlock()
		return receive(t, "an answer", w.place(ask))
	}
	if a := refuse(w.ask("live/1", 1), core.RefusedAssignment); a.err != nil || a.placed.Exhausted == nil || a.placed.Exhausted.Pools[0].Rejected[fleet.Excluded] != 1 {
		t.Fatalf("its only node: %+v", a)
	}
	if a := refuse(w.ask("live/1", 1), core.RefusedIdempotency); a.err != nil || a.placed.Refused == nil || *a.placed.Refused != core.RefusedIdempotency {
		t.Fatalf("a key that exists: %+v", a)
	}
	w.inLoop(func(d *core.Dispatch) {
		if got := d.Totals(); got.Placements != 0 || got.Reserved != 0 {
			t.Errorf("left behind: %+v", got)
		}
	})
}

// Whoever shares a placement with an ask that is a replay gets one of its own.
func TestPlace_TheOthersReplayIsNotMine(t *testing.T) {
	w := newWorld(t, 4)
	w.holdCommits()
	replay, mine := w.ask("live/1", 1), w.ask("live/1", 1)
	w.db.refuse[replay.Spec.ID] = core.RefusedIdempotency
	one := w.place(replay)
	receive(t, "the commit", w.db.began)
	two := w.place(mine)
	w.await("the second waits", func(*core.Dispatch) bool { return len(w.loop.pending.after) == 1 })
	w.db.hold <- struct{}{}
	if a := receive(t, "the replay", one); a.placed.Refused == nil {
		t.Fatalf("%+v", a)
	}
	receive(t, "another commit", w.db.began)
	w.db.hold <- struct{}{}
	if a := receive(t, "mine", two); a.err != nil || a.placed.View.Spec == nil || a.placed.View.Spec.ID != mine.Spec.ID {
		t.Fatalf("%+v", a)
	}
}

func TestPlacement_RenewedReleasedAndThenNotFound(t *testing.T) {
	w := newWorld(t, 4)
	ctx := context.Background()
	id := receive(t, "an answer", w.place(w.ask("live/1", 1))).placed.View.Spec.ID
	renewed, err := w.loop.RenewPlacement(ctx, id, 60_000)
	if row, _ := w.stored(id); err != nil || row.ExpiresAt != renewed.Row.ExpiresAt {
		t.Fatalf("renewed %+v, stored %+v, %v", renewed.Row, row, err)
	}
	if all, err := w.loop.Placements(ctx); err != nil || len(all) != 1 || all[0].Spec.ID != id {
		t.Fatalf("%+v, %v", all, err)
	}
	if c, err := w.loop.TryPlace(ctx, w.ask("", 1).Spec); err != nil || c.Decision.Node != testNode {
		t.Fatalf("candidates %+v, %v", c, err)
	}
	if v, err := w.loop.ReleasePlacement(ctx, id); err != nil || v.Row.State != fleet.PlacementReleased {
		t.Fatalf("released %+v, %v", v.Row, err)
	}
	if row, _ := w.stored(id); row.State != fleet.PlacementReleased {
		t.Fatalf("stored %+v", row)
	}
	if _, err := w.loop.RenewPlacement(ctx, id, 0); !isCode(err, fleet.CodeNotFound) {
		t.Errorf("renewing an ended one: %v", err)
	}
	if _, err := w.loop.ReleasePlacement(ctx, id); !isCode(err, fleet.CodeNotFound) {
		t.Errorf("releasing an ended one: %v", err)
	}
	if _, lasts, err := w.loop.Placement(ctx, id); lasts || err != nil {
		t.Errorf("it lasts, %v", err)
	}
}

func TestPlace_OutlivesAnUnknownCommit(t *testing.T) {
	w := newWorld(t, 4)
	kept := receive(t, "an answer", w.place(w.ask("live/1", 1))).placed.View.Spec.ID
	w.db.mu.Lock()
	w.db.fail = []error{errors.New("the connection broke")}
	w.db.mu.Unlock()
	if a := receive(t, "an answer", w.place(w.ask("live/2", 1))); !isCode(a.err, fleet.CodeUnavailable) {
		t.Fatalf("%+v", a)
	}
	w.awaitDeciding()
	all, err := w.loop.Placements(context.Background())
	if err != nil || len(all) != 1 || all[0].Spec.ID != kept {
		t.Fatalf("after the reload: %+v, %v", all, err)
	}
}
