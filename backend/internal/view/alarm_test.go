package view

import (
	"testing"
	"time"

	"rockpool/backend/internal/core/fleet"
	"rockpool/backend/internal/view/viewtest"
	"rockpool/shared/wire"
)

func TestView_AlarmsComeCountAndGo(t *testing.T) {
	bubble(t, func(t *testing.T, stage *viewtest.Stage, v *View) {
		d := newDesk(t)
		sub, _ := d.subscribe(v, everybody, wire.TopicAlarms, wire.Filter{})
		defer sub.End()
		began := fleet.Time(time.Hour.Milliseconds())
		a := fleet.Alarm{
			ID: 1 << 40, Fingerprint: fleet.Fingerprint{Kind: fleet.AlarmPoolExhausted, Role: "edge", Pool: "pool-7", App: "cam-7"},
			Count: 1, RaisedAt: began, LastAt: began, WaitingNow: 37, Detail: "0 of 14 nodes can take it",
		}
		stage.Raise(a)
		pass(time.Second)
		row, _ := d.alarm("1099511627776")
		if row.Kind != "pool_exhausted" || row.Severity != "critical" || row.Pool != "pool-7" || row.App != "cam-7" || row.Waiting != 37 || row.Age > 1000 {
			t.Errorf("the row is %+v", row)
		}
		quiet := len(d.seen())
		pass(10 * time.Second)
		if n := len(d.seen()) - quiet; n != 0 {
			t.Errorf("%d deltas of an alarm to which nothing happens", n)
		}
		for range 100 { // counted on for a second
			a.Count++
			stage.Raise(a)
			pass(10 * time.Millisecond)
		}
		if n := len(d.seen()) - quiet; n < 3 || n > 5 {
			t.Errorf("%d deltas of 100 counts in a second", n)
		}
		a.AckedBy, a.AckedAt, a.SilencedBy, a.SilencedUntil = "admin", stage.Now(), "admin", stage.Now()+60_000
		stage.Raise(a)
		pass(time.Second)
		if row, _ = d.alarm(row.ID); row.AckedBy != "admin" || row.SilencedFor < 59_000 || row.SilencedFor > 60_000 || row.Count != 101 {
			t.Errorf("the row is %+v", row)
		}
		stage.Resolve(a.ID)
		pass(time.Second)
		if _, there := d.alarm(row.ID); there {
			t.Error("resolved, and still there")
		}
	})
}
