package dispatch

import (
	"context"
	"testing"
	"time"

	"rockpool/backend/internal/core"
	"rockpool/backend/internal/core/fleet"
)

// An alarm is written with the refusal that raised it, and what people do with it
// is answered after the commit.
func TestLoop_AlarmsAreAcknowledgedAndSilenced(t *testing.T) {
	w := newWorld(t, 4)
	ctx, by := context.Background(), core.Actor{Subject: "u:1"}
	none := w.job()
	none.Spec.Runner, none.Spec.WhenExhausted = "nowhere", fleet.WhenExhaustedFail
	if _, err := w.loop.Submit(ctx, []core.JobInsert{none}); err != nil {
		t.Fatal(err)
	}
	alarms, err := w.loop.Alarms(ctx)
	if err != nil || len(alarms) != 1 || alarms[0].Kind != fleet.AlarmPoolExhausted || alarms[0].App != none.Spec.App {
		t.Fatalf("alarms %+v, %v", alarms, err)
	}
	id := alarms[0].ID
	w.db.mu.Lock()
	stored := w.db.alarms
	w.db.mu.Unlock()
	if len(stored) != 1 || stored[0].ID != id { // committed before Submit's answer
		t.Fatalf("with the refusal was stored %+v", stored)
	}
	if err := w.loop.AckAlarm(ctx, id+1, by, "ann"); !isCode(err, fleet.CodeNotFound) {
		t.Fatalf("an alarm that is none: %v", err)
	}
	w.holdCommits()
	answered := make(chan error, 1)
	go func() { answered <- w.loop.AckAlarm(ctx, id, by, "ann") }()
	if err := afterCommit(w, answered); err != nil {
		t.Fatal(err)
	}
	until := w.loop.WallAt(w.loop.Now()).Add(time.Hour)
	go func() { answered <- w.loop.SilenceAlarm(ctx, id, until, by, "bob", "known") }()
	receive(t, "the commit", w.db.began)
	w.db.hold <- struct{}{}
	if err := receive(t, "the answer", answered); err != nil {
		t.Fatal(err)
	}
	alarms, err = w.loop.Alarms(ctx)
	if err != nil || alarms[0].AckedBy != "ann" || alarms[0].SilencedBy != "bob" || !w.loop.WallAt(alarms[0].SilencedUntil).Equal(until) {
		t.Fatalf("alarms %+v, %v", alarms, err)
	}
}
